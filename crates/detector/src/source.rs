//! Where detectors of every scheme read messages.

use crate::DetectorError;
use crate::error::check_len;
use omr_protocol::SEED_BYTES;
use omr_protocol::clue::{HashesOf, KeptHashes};
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

    /// The hashes of bound clues and their payloads that the board took when the messages of `range` were posted, one a
    /// message, if it kept those of all. With them nothing is hashed anew, and a digest of indices reads no payloads.
    /// A wrong hash makes a wrong digest: it must come from where clues do, not from who posts.
    fn hashes(&mut self, _range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        Ok(None)
    }
}

/// The hashes of a range, where a source has those of this set and this board.
///
/// Errors: the source's; `SourceLength`.
pub(crate) fn kept_hashes(
    source: &mut dyn MessageSource,
    of: HashesOf,
    range: Range<u64>,
) -> Result<Option<Vec<[u8; 32]>>, DetectorError> {
    let messages = (range.end - range.start) as usize;
    let kept = source.hashes(range).map_err(DetectorError::Source)?;
    let Some(kept) = kept.filter(|kept| kept.of == of) else {
        return Ok(None);
    };
    check_len("hashes", messages * 32, kept.hashes.len() * 32)?;
    Ok(Some(kept.hashes))
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
