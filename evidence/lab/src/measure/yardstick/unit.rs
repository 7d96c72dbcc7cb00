//! The unit, measured by the public crate `tfhe-ntt`.

use std::hint::black_box;
use std::time::Instant;

/// Returns the microseconds of the unit, measured now.
pub(super) fn microseconds() -> Option<f64> {
    const N: usize = 1 << 16;
    const Q: u64 = 1_125_899_903_827_969;
    let plan = tfhe_ntt::prime64::Plan::try_new(N, Q).expect("a suitable prime");
    let mut data: Vec<u64> = (0..N as u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % Q)
        .collect();
    let mut rounds: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..200 {
                plan.fwd(black_box(&mut data));
            }
            start.elapsed().as_secs_f64() * 1e6 / 200.0
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    Some(rounds[2])
}
