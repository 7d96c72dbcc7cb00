//! Prediction of the memory of scans.

use crate::memory::Shape;
use omr_protocol::ClueKind;
use omr_protocol::rounds::RoundsParams;

/// The bytes of buffers of threads and of everything small.
const SMALL: u64 = 16 << 20;

/// Returns the bytes that a scan takes beside its keys: the clues of a section as they were read and as residues, and for
/// each recipient their packed form and the sections of the scan.
pub(crate) fn run_memory(params: &RoundsParams, clues: ClueKind, shape: Shape) -> u64 {
    let scan = &params.scan;
    let messages = scan.section() as u64;
    let of_clues = messages * clues.bytes(&params.clue) as u64;
    // Packed clues have as many masks as a clue has secrets, and a body, of words each, for two coordinates.
    let ranks = scan.opening().spec().packing_rank as u64 + 1;
    let packed = messages * ranks * 2 * 8;
    let recipients = shape.recipients as u64;
    SMALL + 2 * of_clues + recipients * 3 * packed
}
