//! Packs and opens a batch of 65,536 random clues at full size, and prints processor seconds, transforms of all lengths and
//! noise of each stage.
//!
//! `cargo run --release -p omr-opening --features measure --example full_size -- [points] [rank]`

use chacha20::ChaCha20Rng;
use omr_bgv::*;
use omr_kernels::transforms;
use omr_opening::*;
use omr_ring::*;
use omr_rlwe::noise::NoiseModel;
use omr_rlwe::*;
use rand_core::{Rng, SeedableRng};

const P: u64 = 786_433;
const N: usize = 1 << 16;
const SEED: [u8; 32] = [7; 32];
/// Modulus of all levels below the first, by the parameters of a range check of 23 values on either side.
const LOWER_BITS: f64 = 1_081.1;
const DIGITS: usize = 2;

/// Processor seconds of the process.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let ticks = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

struct Clock(f64, u64);

impl Clock {
    fn start() -> Self {
        Self(processor(), transforms())
    }

    fn lap(&mut self, what: &str) {
        let (seconds, count) = (processor() - self.0, transforms() - self.1);
        println!("{what:30} {seconds:8.3} s {count:10} transforms");
        *self = Self::start();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<usize>());
    let points = args.next().transpose()?.unwrap_or(128);
    let rank = args.next().transpose()?.unwrap_or(3);
    let shape = ClueShape {
        n: 1024,
        q: 1 << 21,
        coordinates: 2,
    };
    let spec = OpeningSpec {
        n: 512,
        packing_rank: 4,
        packing_bits: 50,
        packing_sigma: 0.62,
        rank,
        weight: 84 / rank,
        narrow_bits: if rank == 3 { 28.7 } else { 29.6 },
        gadget: Gadget {
            bits: 2,
            digits: if rank == 3 { 13 } else { 14 },
        },
        points,
        baby: 8,
    };
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let mut clock = Clock::start();
    let model = NoiseModel {
        n: N,
        p: P,
        weight: 4096.0,
    };
    let plain = Plain::new(P, N, Kernels::detect())?;
    let opening = Opening::new(shape, spec.clone(), &plain)?;
    let turn = model.key_switch(DIGITS, 0.0, 3.0);
    let predicted = slot_noise(&spec, &model, turn)?;
    let bits = LOWER_BITS + predicted[1] + 3.0 - model.floor();
    let limbs = (bits / 49.9).ceil() as usize;
    let top = primes_near(bits / limbs as f64, N, limbs, &[P])?;
    let digit = bits / limbs as f64 * limbs.div_ceil(DIGITS) as f64;
    let specials = ((digit + 3.0) / 49.9).ceil() as usize;
    let special = primes_near((digit + 3.0) / specials as f64, N, specials, &top)?;
    let ring = Ring::new(N, &[&top[..], &special].concat())?;
    let chain = Chain::new(vec![Basis::new(0..limbs)]);
    let gadget = KeyShape::new(chain.basis(0), DIGITS, &Basis::new(limbs..limbs + specials));
    println!(
        "log2 Q {bits:.1} in {limbs} limbs, log2 PQ {:.1}, {} turns of the secret",
        bits + digit + 3.0,
        opening.turns()
    );
    let ev = Evaluator {
        ring: &ring,
        plain: &plain,
        chain: &chain,
        stop: None,
    };
    let large = Secret::fixed_weight(&mut rng, N, 4096, 12.0);
    let s = large.poly(&ring, &gadget.extended());
    let galois = |steps: usize, index: u64, rng: &mut ChaCha20Rng| {
        GaloisKey::generate(
            &ring,
            &gadget,
            &s,
            Automorphism::rotation(N, steps),
            P,
            MaskSeed::new(&SEED, index),
            rng,
        )
    };
    let [baby, giant] = opening.transform_steps();
    let (step, baby, giant) = (
        galois(1, 10, &mut rng),
        galois(baby, 11, &mut rng),
        galois(giant, 12, &mut rng),
    );
    let (from, sparse) = (
        packing_secret(&opening, &mut rng),
        sparse_secret(&opening, &mut rng),
    );
    let clue = fixed_weight(&mut rng, shape.n, 220);
    let packing = PackingKey::generate(
        &opening,
        &clue,
        &[],
        &from,
        MaskSeed::new(&SEED, 1),
        &mut rng,
    );
    let narrow = NarrowKey::generate(&opening, &from, &sparse, MaskSeed::new(&SEED, 2), &mut rng);
    let slots = secret_slots(&opening, &sparse);
    let own = large.poly(&ring, chain.basis(0));
    let secret = encrypt_symmetric(
        &ring,
        &plain,
        &chain,
        0,
        &own,
        &slots,
        MaskSeed::new(&SEED, 13),
        &mut rng,
    );
    clock.lap("rings and keys");
    let mut random = |count: usize| -> Vec<u32> {
        (0..count)
            .map(|_| rng.next_u32() & ((1 << 21) - 1))
            .collect()
    };
    let (a, b) = (random(N * shape.n), [random(N), random(N)]);
    clock.lap("random clues");
    for _ in 0..2 {
        let mut narrowed = vec![Vec::new(); 2];
        let packed: Vec<Vec<ModuleCipher>> = (0..opening.blocks())
            .map(|block| {
                let places = block * spec.n..(block + 1) * spec.n;
                let clues = BlockOfClues {
                    a: a[places.start * shape.n..places.end * shape.n].to_vec(),
                    b: b.iter().map(|b| b[places.clone()].to_vec()).collect(),
                    extra: Vec::new(),
                };
                pack(&opening, &[&packing], &[clues]).remove(0)
            })
            .collect();
        clock.lap("pack");
        for (c, narrowed) in narrowed.iter_mut().enumerate() {
            narrowed.extend(
                packed
                    .iter()
                    .map(|pair| omr_opening::narrow(&opening, &[&narrow], &pair[c])),
            );
        }
        clock.lap("narrow");
        let pair = secret.clone().into_pair();
        let secrets = SharedRlwe {
            mask: pair.c1,
            bodies: vec![pair.c0],
        };
        let turned = Turned::new(&ev, &opening, secrets, &[&step]).unwrap();
        clock.lap("turns of the secret");
        let keys = OpeningKeys {
            baby: vec![&baby],
            giant: vec![&giant],
        };
        let values = PhaseValues::new(&ev, &opening, &turned, &keys, &narrowed).unwrap();
        drop(turned);
        clock.lap("values of phases");
        let opened = open(&ev, &opening, &keys, values, 0)?.remove(0);
        clock.lap("coefficients of phases");
        check(
            &opening,
            &ring,
            &plain,
            &large,
            &sparse,
            &narrowed,
            &opened,
            predicted[1],
        );
        clock.lap("check");
    }
    Ok(())
}

#[allow(clippy::too_many_arguments)]
fn check(
    opening: &Opening,
    ring: &Ring,
    plain: &Plain,
    large: &Secret,
    sparse: &ModuleSecret,
    narrowed: &[Vec<Narrowed>],
    opened: &[Ciphertext],
    predicted: f64,
) {
    let decryptor = Decryptor {
        ring,
        plain,
        secret: large,
    };
    for (blocks, ct) in narrowed.iter().zip(opened) {
        let phases: Vec<Vec<i64>> = blocks.iter().map(|ct| sparse.phase(P, &ct.0, 0)).collect();
        let slots = decryptor.decrypt(ct);
        let wrong = (0..N).filter(|&slot| {
            let place = opening.place(slot);
            plain.p().to_centered(slots[slot].into()) != phases[place.block][place.coefficient]
        });
        let noise = rms_embedding(&decryptor.noise(ct)).log2();
        println!(
            "{} of {N} slots wrong; noise {noise:.2} bits, predicted {predicted:.2}",
            wrong.count()
        );
    }
}
