//! How often rounded phases leave a window: the distribution against experiment.
mod common;

use common::World;
use omr_tfhe::noise::window_miss_log2;

const Q: u64 = 786_433;
const TURN: u64 = 4096;

#[test]
fn rounded_phases_follow_the_distribution() {
    let mut w = World::new(41);
    const TRIALS: usize = 20_000;
    let mut off = [0u32; 16];
    for _ in 0..TRIALS {
        let phase = w.lwe(Q, 0).switch(Q, TURN).phase(&w.secret, TURN);
        let distance = phase.min(TURN - phase) as usize;
        // Farther than 0, 1, 2, ..
        off[..distance.min(16)]
            .iter_mut()
            .for_each(|count| *count += 1);
    }
    for half in [2, 4, 6, 8] {
        let expected = TRIALS as f64 * window_miss_log2(w.secret.weight(), half, 0.0).exp2();
        let found = f64::from(off[half as usize]);
        let sds = (found - expected) / expected.sqrt();
        println!("farther than {half}: {expected:.1} expected, {found} found");
        assert!(
            sds.abs() < 4.5,
            "{half}: {expected} expected, {found} found"
        );
    }
}

#[test]
fn misses_at_full_size() {
    // Noise of a clue: 225 errors of standard deviation 0.4637.
    let sd = 225f64.sqrt() * 0.4637 * TURN as f64 / Q as f64;
    let of_clue = |half| window_miss_log2(112, half, sd) + 3f64.log2();
    println!(
        "misses with r = 18, 19, 20: 2^{:.2}, 2^{:.2}, 2^{:.2}",
        of_clue(18),
        of_clue(19),
        of_clue(20)
    );
    assert!(of_clue(19) < -30.0 && of_clue(18) > -30.0);
    let false_positive = 3.0 * (39.0 / TURN as f64).log2();
    assert!((-20.2..-20.0).contains(&false_positive));
}
