//! Compares how often rounded phases leave a window: the predicted distribution against experiment.

use crate::common::{BLOCK, World};
use omr_tfhe::Lwe;
use omr_tfhe::noise::PhaseError;

const Q: u64 = 786_433;
const TURN: u64 = 4096;

/// How often rounded ciphertexts of 0 lie farther than 0, 1, 2, .. from it.
fn farther(w: &mut World, rounded: impl Fn(&World, Lwe) -> Lwe) -> [u32; 16] {
    let mut off = [0; 16];
    for _ in 0..TRIALS {
        let exact = w.lwe(Q, 0);
        let phase = rounded(w, exact).phase(&w.secret, TURN);
        let distance = phase.min(TURN - phase) as usize;
        off[..distance.min(16)]
            .iter_mut()
            .for_each(|count| *count += 1);
    }
    off
}

const TRIALS: usize = 20_000;

#[track_caller]
fn check(found: [u32; 16], predicted: &PhaseError, halves: [u32; 4]) {
    for half in halves {
        let expected = TRIALS as f64 * predicted.miss_log2(half, 0.0).exp2();
        let found = f64::from(found[half as usize]);
        let sds = (found - expected) / expected.sqrt();
        println!("farther than {half}: {expected:.1} expected, {found} found");
        assert!(
            sds.abs() < 4.5,
            "{half}: {expected} expected, {found} found"
        );
    }
}

#[test]
fn rounded_phases_follow_the_distribution() {
    let mut w = World::new(41);
    let found = farther(&mut w, |_, ct| ct.switch(Q, TURN));
    let predicted = PhaseError::uniform(w.secret.weight());
    check(found, &predicted, [2, 4, 6, 8]);
}

#[test]
fn rounding_by_blocks_is_closer_and_follows_its_distribution() {
    let mut w = World::new(42);
    let found = farther(&mut w, |_, ct| ct.switch_blocks(Q, TURN, BLOCK));
    let blocks = 1024 / BLOCK;
    let predicted = PhaseError::blockwise(blocks, BLOCK, w.secret.weight());
    check(found, &predicted, [1, 2, 4, 6]);
    let plain = PhaseError::uniform(w.secret.weight());
    println!(
        "standard deviations {:.3} and {:.3}",
        predicted.variance().sqrt(),
        plain.variance().sqrt()
    );
    assert!(predicted.variance() < 0.7 * plain.variance());
}

#[test]
fn misses_at_full_size() {
    // Noise of a clue: 246 errors of standard deviation 0.4637.
    let sd = 246f64.sqrt() * 0.4637 * TURN as f64 / Q as f64;
    let errors = PhaseError::blockwise(1024 / BLOCK, BLOCK, 149);
    let of_clue = |half| errors.miss_log2(half, sd) + 3f64.log2();
    let rates = [15, 16, 17, 18].map(of_clue);
    println!("misses with r = 15, 16, 17, 18: {rates:.2?}");
    assert!(of_clue(18) < -30.0 && of_clue(14) > -30.0);
}
