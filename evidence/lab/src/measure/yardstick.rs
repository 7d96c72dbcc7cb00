//! The unit of stated costs.

#[cfg_attr(not(feature = "yardstick"), path = "yardstick/left_out.rs")]
mod unit;

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
    unit::microseconds()
}
