//! Measures how long the unit of costs takes on this machine.

use super::Cost;
use crate::Params;
use omr_ring::{Basis, Coeff, Poly};
use std::time::Instant;

/// The number of runs. The fastest one counts, since others may wait for the processor.
const RUNS: usize = 16;

/// Times of all work over the times of transforms alone: 3.3 to 3.9 in three queries, docs/performance.md.
const WORK: f64 = 3.6;

impl Cost {
    /// Returns the seconds of one thread, if a transform takes `transform_seconds`.
    pub fn seconds(&self, transform_seconds: f64) -> f64 {
        self.transforms as f64 * transform_seconds * WORK
    }
}

impl Params {
    /// Seconds of one transform of the large ring's length on one thread, measured now: what
    /// [`crate::plan::Cost::transforms`] are multiplied by.
    pub fn transform_seconds(&self) -> f64 {
        let mut poly: Poly<Coeff> = Poly::zero(&self.ring, &Basis::new([0]));
        let mut fastest = f64::INFINITY;
        for _ in 0..RUNS {
            let start = Instant::now();
            poly = self.ring.inverse(self.ring.forward(poly));
            fastest = fastest.min(start.elapsed().as_secs_f64() / 2.0);
        }
        fastest
    }
}
