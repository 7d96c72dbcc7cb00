//! From clue to pertinency bit at full size: three coordinates, two layers, trace.

use crate::common::*;
use omr_tfhe::*;
use rand_core::Rng;

/// Modulus of clues.
const Q: u64 = 786_433;
/// Standard deviation of a clue's noise: weights of 96 and 149 and one more error of 0.4637.
const NOISE: f64 = 7.27;

/// The LWE ciphertexts of a clue whose coordinates have these phases modulo [`Q`].
fn clue(w: &mut World, phases: [i64; COORDINATES]) -> Vec<Lwe> {
    let turn = 2 * w.ring.n() as u64;
    let phases = phases.map(|x| x.rem_euclid(Q as i64) as u64);
    phases
        .map(|x| w.lwe(Q, x).switch_blocks(Q, turn, BLOCK))
        .into()
}

/// The messages' plaintexts after the trace, and how far the noise is from it in units of `q / P`.
fn detect(
    w: &World,
    keys: &Keys,
    clues: &[Vec<Lwe>],
    [first, second]: [Arithmetic; 2],
) -> Vec<(i64, f64)> {
    let middle = first_layer(w, keys, clues, first);
    let decode = |ct: RingCipher| {
        let traced = phase(&w.ring, &keys.trace.apply(&w.ring, ct), &w.z);
        let value = |x: i64| x as f64 / w.ring.q() as f64 * P as f64;
        let first = value(traced[0]);
        let off = traced[1..].iter().map(|&x| value(x).abs());
        (
            first.round() as i64,
            off.fold((first - first.round()).abs(), f64::max),
        )
    };
    second_layer(w, keys, &middle, second)
        .into_iter()
        .map(decode)
        .collect()
}

#[test]
fn pertinent_messages_and_no_others() {
    let mut w = World::new(31);
    let keys = Keys::new(&mut w);
    let (far, half) = (Q as i64 / 7, Q as i64 / 2);
    let mut clues = Vec::new();
    let mut expected = Vec::new();
    for i in 0..60 {
        let [a, b, c] = [(); 3].map(|()| w.gaussian(NOISE).round() as i64);
        let (phases, bit) = match i % 6 {
            0 | 1 => ([a, b, c], 1),
            2 => ([a, b, far + c], 0),
            3 => ([a, far + b, half + c], 0),
            // Half a turn away: hits count negative.
            4 => ([half + a, half + b, half + c], 0),
            _ => ([far; 3].map(|x| x + w.rng.next_u64() as i64 % 500_000), 0),
        };
        clues.push(clue(&mut w, phases));
        expected.push(bit);
    }
    use Arithmetic::{Exact, Floats};
    // A digest of so many messages multiplies noise by sqrt(messages / 12) 97 at most: still below 1/2.
    for (layers, messages) in [
        ([Exact, Exact], 65_536.0),
        ([Floats, Exact], 65_536.0),
        ([Floats, Floats], 1_024.0f64),
    ] {
        let found = detect(&w, &keys, &clues, layers);
        let bits: Vec<i64> = found.iter().map(|&(bit, _)| bit).collect();
        assert_eq!(bits, expected);
        let offs = found.iter().map(|&(_, off)| off);
        let worst = offs.fold(0.0, f64::max);
        println!("noise 2^{:.2} of a plaintext unit at most", worst.log2());
        assert!(worst < 2f64.powi(-14) * (65_536.0 / messages).sqrt());
    }
}
