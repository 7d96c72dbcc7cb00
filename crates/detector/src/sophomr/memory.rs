//! The memory that digests work in, stage by stage.

use super::{BabySteps, affine, range};
use omr_protocol::sophomr::Params;
use omr_ring::Reservation;

/// What stays in memory while digests work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeps {
    /// Encoded diagonals, in a cache.
    pub(super) diagonals: bool,
    /// Baby steps, beside the range check.
    pub(super) baby_steps: bool,
}

/// The buffers that digests of one detector work in, one digest after another. Every stage states its own; codes,
/// sums and payloads, which come last, take the places of the baby steps.
pub(super) struct MemoryPlan {
    /// Words of each.
    lengths: Vec<usize>,
}

impl MemoryPlan {
    /// The plan for as many threads as work side by side.
    pub(super) fn new(params: &Params, keeps: Keeps, threads: usize) -> Self {
        let mut lengths = BabySteps::buffers(params);
        if keeps.baby_steps {
            lengths.extend(vec![lengths[0]; range::POLYNOMIALS]);
        }
        lengths.extend(affine::buffers(params, threads, keeps.diagonals));
        Self { lengths }
    }

    /// Takes the memory from the system, for as long as the reservation lives.
    pub(super) fn reserve(&self) -> Reservation {
        omr_ring::reserve(&self.lengths)
    }
}
