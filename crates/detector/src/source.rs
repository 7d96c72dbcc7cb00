//! The source from which detectors of every scheme read messages.

use crate::DetectorError;
use crate::error::check_len;
use omr_protocol::SEED_BYTES;
use omr_protocol::clue::{HashesOf, KeptHashes};
use std::ops::Range;

/// An error of a source.
pub(crate) type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// A source of a board's messages.
pub trait MessageSource {
    /// Returns the length in bytes of a clue on this board.
    fn clue_bytes(&self) -> usize;

    /// Returns the clues of `range`, one after another.
    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError>;

    /// Returns the payloads of `range`, one after another.
    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError>;

    /// Returns the hashes of bound clues and their payloads that the board computed when the messages of `range` were
    /// posted, one for each message, if it has stored all of them. With stored hashes, payloads need not be hashed, and
    /// a digest of indices reads no payloads. A wrong hash makes a wrong digest, so hashes must come from the board as
    /// clues do, not from those who post.
    fn hashes(&mut self, _range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        Ok(None)
    }
}

/// Returns the hashes of a range, if the source has them for this parameter set and board.
///
/// Errors: those of the source; `SourceLength`.
pub(crate) fn kept_hashes(
    source: &mut dyn MessageSource,
    of: HashesOf,
    range: Range<u64>,
) -> Result<Option<Vec<[u8; 32]>>, DetectorError> {
    let messages = (range.end - range.start) as usize;
    let kept = source.hashes(range).map_err(DetectorError::Source)?;
    match kept {
        Some(kept_hashes) if kept_hashes.of == of => {
            check_len("hashes", messages * 32, kept_hashes.hashes.len() * 32)?;
            Ok(Some(kept_hashes.hashes))
        }
        _ => Ok(None),
    }
}

/// Returns a random seed of a digest, which determines the messages' places. It must be drawn after the messages were
/// posted.
///
/// Panics: if the operating system has no randomness.
#[must_use]
pub fn placement_seed() -> [u8; SEED_BYTES] {
    let mut seed = [0; SEED_BYTES];
    getrandom::fill(&mut seed).expect("the operating system gives randomness");
    seed
}
