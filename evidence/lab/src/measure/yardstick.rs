//! The unit of stated costs.

/// The yardstick before a piece of work, if it is requested and built in.
pub(crate) struct Yardstick(Option<f64>);

impl Yardstick {
    /// Measures the yardstick once.
    pub(crate) fn start(wanted: bool) -> Self {
        Self(wanted.then(yardstick_us).flatten())
    }

    /// Measures the yardstick once more and returns the mean, in microseconds.
    pub(crate) fn mean(self) -> Option<f64> {
        self.0
            .zip(self.0.and_then(|_| yardstick_us()))
            .map(|(a, b)| (a + b) / 2.0)
    }
}

/// Returns the microseconds of one forward 65,536-point NTT modulo a 50-bit prime by the public crate `tfhe-ntt`,
/// single-threaded, measured now: the median of 5 rounds of 200. All stated costs use this unit. `None` in a build
/// without the feature `yardstick`.
pub fn yardstick_us() -> Option<f64> {
    #[cfg(feature = "yardstick")]
    return Some(measure());
    #[cfg(not(feature = "yardstick"))]
    None
}

#[cfg(feature = "yardstick")]
fn measure() -> f64 {
    use std::hint::black_box;
    use std::time::Instant;
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
    rounds[2]
}
