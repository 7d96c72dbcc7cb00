//! Runs every target over its seeds and some thousand changes of them, in seconds. libFuzzer runs millions.
#![forbid(unsafe_code)]

use omr_fuzz::{TARGETS, Target};
use std::time::{Duration, Instant};

/// The number of inputs of a target; [`TIME`] limits its time.
const INPUTS: usize = 2000;
const TIME: Duration = Duration::from_secs(3);

/// The generator SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}

/// Returns the input with bits flipped, bytes changed, truncated, repeated or inserted. The first byte, which selects
/// the parser, is seldom changed.
fn change(draw: &mut Draw, seed: &[u8]) -> Vec<u8> {
    let mut out = seed.to_vec();
    for _ in 0..=draw.below(4) {
        if out.len() < 2 {
            out.extend((0..1 + draw.below(60)).map(|i| i as u8));
        }
        let at = 1 + draw.below(out.len() - 1);
        match draw.below(7) {
            0 => out[at] ^= 1 << draw.below(8),
            1 => out[at] = [0, 1, 0x7f, 0x80, 0xff][draw.below(5)],
            2 => out.truncate(at),
            3 => {
                let end = out.len().min(at + 1 + draw.below(40));
                let piece = out[at..end].to_vec();
                let to = 1 + draw.below(out.len());
                out.splice(to..to, piece);
            }
            4 => drop(out.splice(at..at, [draw.below(256) as u8])),
            5 => {
                let end = out.len().min(at + 8);
                out[at..end].fill([0, 0xff][draw.below(2)]);
            }
            _ => out[0] = draw.below(256) as u8,
        }
    }
    out
}

fn try_out(target: &Target) {
    let seeds = (target.seeds)();
    assert!(!seeds.is_empty(), "{}", target.name);
    seeds.iter().for_each(|seed| target.run(seed));
    target.run(&[]);
    let (mut draw, begin) = (Draw(1), Instant::now());
    for i in 0..INPUTS {
        target.run(&change(&mut draw, &seeds[i % seeds.len()]));
        if begin.elapsed() > TIME {
            println!("{}: {i} inputs", target.name);
            return;
        }
    }
}

/// Targets run one after another, because each measures the memory of the process.
#[test]
fn targets_hold_for_seeds_and_changes_of_them() {
    let mut broken = Vec::new();
    for target in &TARGETS {
        if std::panic::catch_unwind(|| try_out(target)).is_err() {
            broken.push(target.name);
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}
