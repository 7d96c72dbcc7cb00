//! The memory that digests work in, stage by stage.

use super::{BabySteps, affine, opening, range};
use crate::memory::Shape;
use omr_opening::Opening;
use omr_protocol::ClueKind;
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
/// sums and payloads, which come last, take the places of those before them.
pub(super) struct MemoryPlan {
    /// Words of each.
    lengths: Vec<usize>,
}

impl MemoryPlan {
    /// The plan for as many threads as work side by side.
    pub(super) fn new(params: &Params, keeps: Keeps, threads: usize) -> Self {
        if let Some(opening) = &params.opening {
            return Self::of_opening(params, opening, keeps, threads);
        }
        let steps = BabySteps::buffers(params);
        // As long as those of baby steps: what comes last finds a place in them where baby steps stay.
        let range = range::buffers(params, steps[0]);
        let mut lengths = match keeps.baby_steps {
            true => [steps, range].concat(),
            false => one_after_another([steps, range]),
        };
        lengths.extend(affine::buffers(params, threads, keeps.diagonals));
        lengths.extend(one_after_another(affine::buffers_of_steps(params)));
        Self { lengths }
    }

    fn of_opening(params: &Params, opening: &Opening, keeps: Keeps, threads: usize) -> Self {
        let turned = opening::buffers(params, opening);
        let range = range::buffers(params, turned[0]);
        let [values, transform] = opening::buffers_of_steps(params, opening, threads);
        let lengths = match keeps.baby_steps {
            true => [turned, one_after_another([values, transform, range])].concat(),
            false => one_after_another([[turned, values].concat(), transform, range]),
        };
        Self { lengths }
    }

    /// Bytes of all buffers.
    fn bytes(&self) -> u64 {
        let words: usize = self.lengths.iter().sum();
        (size_of::<u64>() * words) as u64
    }

    /// Takes the memory from the system, for as long as the reservation lives.
    pub(super) fn reserve(&self) -> Reservation {
        omr_ring::reserve(&self.lengths)
    }
}

/// Bytes of codes and fingerprints for a message of each batch, as measured.
const CODES: usize = 2200;

/// Bytes that a run takes beside its keys: the buffers of its stages, for each further recipient the half of them that are
/// bodies, as masks are shared, the clues of a batch, the codes of all batches, and a tenth for what is small.
pub(crate) fn run_memory(params: &Params, clues: ClueKind, shape: Shape) -> u64 {
    let keeps = Keeps {
        diagonals: shape.caches,
        baby_steps: shape.batches > 1,
    };
    let buffers = MemoryPlan::new(params, keeps, shape.threads).bytes();
    // Sets that open no clues serve one recipient after another.
    let further = match params.opening {
        Some(_) => shape.recipients.saturating_sub(1) as u64,
        None => 0,
    };
    let messages = params.slots();
    let clues = (messages * clues.bytes(&params.clue)) as u64;
    let codes = (messages * CODES) as u64 * shape.batches;
    (buffers + further * buffers / 2 + clues + codes) * 11 / 10
}

/// Buffers that serve stages of which each begins when the one before it has ended, each with buffers of so many words.
fn one_after_another<const N: usize>(stages: [Vec<usize>; N]) -> Vec<usize> {
    let mut lengths = Vec::new();
    for mut stage in stages {
        stage.sort_unstable_by(|a, b| b.cmp(a));
        lengths.resize(lengths.len().max(stage.len()), 0);
        for (most, words) in lengths.iter_mut().zip(stage) {
            *most = words.max(*most);
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::one_after_another;

    #[test]
    fn a_stage_takes_the_places_of_the_one_before() {
        let lengths = one_after_another([vec![3, 5], vec![4, 1, 4], vec![6]]);
        assert_eq!(lengths, [6, 4, 1]);
    }
}
