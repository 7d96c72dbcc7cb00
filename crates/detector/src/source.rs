//! Where detectors of every scheme read messages.

use omr_protocol::SEED_BYTES;
use std::ops::Range;

/// Why a source failed.
pub(crate) type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Where the detector reads messages.
pub trait MessageSource {
    /// Bytes of a clue on this board.
    fn clue_bytes(&self) -> usize;

    /// The clues of `range`, one after another.
    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError>;

    /// The payloads of `range`, one after another.
    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError>;

    /// Whether its numbers are not those of the board, so that the work on its messages must not be
    /// shared with digests of the board: see [`crate::Strided`].
    fn is_private(&self) -> bool {
        false
    }
}

/// The seed of a digest: where messages lie in it is drawn when they are fixed already.
///
/// Panics: when the operating system has no randomness.
#[must_use]
pub fn placement_seed() -> [u8; SEED_BYTES] {
    let mut seed = [0; SEED_BYTES];
    getrandom::fill(&mut seed).expect("the operating system gives randomness");
    seed
}
