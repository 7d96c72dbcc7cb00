//! What the unit of costs takes on this machine.

use crate::Params;
use omr_ring::{Basis, Coeff, Poly};
use std::time::Instant;

/// Runs, of which the fastest counts: others wait for the processor.
const RUNS: usize = 16;

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
