//! The memory for making digests, by stage.

use super::{opening, range};
use crate::memory::Shape;
use omr_protocol::ClueKind;
use omr_protocol::sophomr::Params;
use omr_ring::Reservation;

/// The buffers in which a detector makes one digest after another. Every stage states its own. Codes, sums and
/// payloads, which come last, use the buffers of earlier stages.
pub(super) struct MemoryPlan {
    /// Length of each buffer in words.
    lengths: Vec<usize>,
}

impl MemoryPlan {
    /// Makes the plan for digests of one batch, or of several, which keep rotated secrets during range checks, on
    /// `threads` threads.
    pub(super) fn new(params: &Params, several_batches: bool, threads: usize) -> Self {
        let opening = &params.opening;
        let turned = opening::buffers(params, opening);
        let range = range::buffers(params, turned[0]);
        let [values, transform] = opening::buffers_of_steps(params, opening, threads);
        let lengths = if several_batches {
            [turned, one_after_another([values, transform, range])].concat()
        } else {
            one_after_another([[turned, values].concat(), transform, range])
        };
        Self { lengths }
    }

    /// Returns the bytes of all buffers.
    fn bytes(&self) -> u64 {
        let words: usize = self.lengths.iter().sum();
        (size_of::<u64>() * words) as u64
    }

    /// Reserves the memory until the reservation is dropped.
    pub(super) fn reserve(&self) -> Reservation {
        omr_ring::reserve(&self.lengths)
    }
}

/// Bytes of codes and fingerprints for a message of each batch, as measured.
const CODES: usize = 1180;
/// Bytes of a run that do not depend on the ring, such as the allocator's partly used pages: 1.3 MB was measured with a
/// tiny ring.
const FIXED: u64 = 2 << 20;

/// Returns the bytes that a run takes beside its keys: the buffers of its stages; for each further recipient half of
/// them, which are bodies, because masks are shared; the clues of a batch; the codes of all batches; a tenth for
/// everything small; and what does not depend on the ring.
pub(crate) fn run_memory(params: &Params, clues: ClueKind, shape: Shape) -> u64 {
    let buffers = MemoryPlan::new(params, shape.batches > 1, shape.threads).bytes();
    let further = shape.recipients.saturating_sub(1) as u64;
    let messages = params.slots();
    let clue_bytes = (messages * clues.bytes(&params.clue)) as u64;
    let codes = (messages * CODES) as u64 * shape.batches;
    (buffers + further * buffers / 2 + clue_bytes + codes) * 11 / 10 + FIXED
}

/// Returns the lengths of buffers in words that serve several stages, where each stage begins after the previous one
/// has ended. Every stage has a list of lengths.
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
    fn a_stage_uses_the_buffers_of_the_one_before() {
        let lengths = one_after_another([vec![3, 5], vec![4, 1, 4], vec![6]]);
        assert_eq!(lengths, [6, 4, 1]);
    }
}
