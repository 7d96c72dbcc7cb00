//! Messages in memory.

use crate::error::check_len;
use crate::{DetectorError, MessageSource};
use omr_protocol::clue::KeptHashes;
use rayon::prelude::*;
use std::ops::Range;

/// Messages of a board in memory, in the form in which a detector reads them. They may come from
/// [`omr_store`'s](https://docs.rs/omr-store) `Board::read_into` or from any other database.
///
/// ```
/// use omr_detector::{MessageSource, Messages};
///
/// // Messages 40 and 41 of a board, with clues of 3 bytes and payloads of 2.
/// let mut messages = Messages::new(40..42, vec![1, 1, 1, 2, 2, 2], vec![7, 7, 8, 8])?;
/// assert_eq!(messages.clue_bytes(), 3);
/// assert_eq!(messages.payloads(41..42).unwrap(), [8, 8]);
/// assert!(messages.payloads(41..43).is_err());
/// # Ok::<(), omr_detector::DetectorError>(())
/// ```
///
/// `B` is the type that holds the bytes of clues and payloads.
#[derive(Clone, Debug)]
pub struct Messages<B = Vec<u8>> {
    range: Range<u64>,
    clues: B,
    payloads: B,
    hashes: Option<KeptHashes>,
}

/// Bytes that can be copied in parts.
pub trait Held: Send {
    /// Returns the number of bytes.
    fn bytes(&self) -> usize;

    /// Returns a copy of some of the bytes.
    ///
    /// Panics: past the end.
    fn part(&self, range: Range<usize>) -> Vec<u8>;
}

/// Copies bytes on all threads, because most of the time is spent on fresh memory from the system.
fn copied(bytes: &[u8]) -> Vec<u8> {
    const PIECE: usize = 1 << 20;
    let mut copy = vec![0; bytes.len()];
    let pieces = copy.par_chunks_mut(PIECE).zip(bytes.par_chunks(PIECE));
    pieces.for_each(|(to, from)| to.copy_from_slice(from));
    copy
}

impl Held for Vec<u8> {
    fn bytes(&self) -> usize {
        self.len()
    }

    fn part(&self, range: Range<usize>) -> Vec<u8> {
        copied(&self[range])
    }
}

/// An error: these messages are not in memory.
#[derive(Debug, thiserror::Error)]
#[error("expected messages within {}..{}, found {}..{}", .expected.start, .expected.end, .found.start, .found.end)]
struct Outside {
    expected: Range<u64>,
    found: Range<u64>,
}

type SourceError = Box<dyn std::error::Error + Send + Sync>;

impl<B: Held> Messages<B> {
    /// Makes the messages of `range` from their clues, one after another, and their payloads.
    ///
    /// Errors: `SourceLength` if the bytes do not divide evenly among the messages.
    pub fn new(range: Range<u64>, clues: B, payloads: B) -> Result<Self, DetectorError> {
        let count = range.end.saturating_sub(range.start) as usize;
        for (what, found) in [("clues", clues.bytes()), ("payloads", payloads.bytes())] {
            let expected = found.checked_next_multiple_of(count).unwrap_or(0);
            check_len(what, expected, found)?;
        }
        Ok(Self {
            range,
            clues,
            payloads,
            hashes: None,
        })
    }

    /// Returns the messages with stored hashes of all of them.
    ///
    /// Errors: `SourceLength` if there are more or fewer hashes than messages.
    pub fn with_hashes(self, hashes: KeptHashes) -> Result<Self, DetectorError> {
        let count = self.range.end.saturating_sub(self.range.start) as usize;
        check_len("hashes", count * 32, hashes.hashes.len() * 32)?;
        Ok(Self {
            hashes: Some(hashes),
            ..self
        })
    }

    /// Returns the range of the messages on the board.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    fn part(&self, all: &B, found: Range<u64>) -> Result<Vec<u8>, SourceError> {
        let count = self.range.end.saturating_sub(self.range.start) as usize;
        let places = self.places(found)?;
        let each = all.bytes().checked_div(count).unwrap_or(0);
        Ok(all.part(places.start * each..places.end * each))
    }

    /// Returns the places of a range of messages among these.
    fn places(&self, found: Range<u64>) -> Result<Range<usize>, SourceError> {
        let Range { start, end } = self.range;
        if found.start < start || found.end > end || found.start > found.end {
            let expected = self.range();
            return Err(Box::new(Outside { expected, found }));
        }
        let at = |index: u64| (index - start) as usize;
        Ok(at(found.start)..at(found.end))
    }
}

impl<B: Held> MessageSource for Messages<B> {
    fn clue_bytes(&self) -> usize {
        let count = self.range.end.saturating_sub(self.range.start) as usize;
        self.clues.bytes().checked_div(count).unwrap_or(0)
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.part(&self.clues, range)
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.part(&self.payloads, range)
    }

    fn hashes(&mut self, range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        let places = self.places(range)?;
        let part = |all: &KeptHashes| KeptHashes::new(all.of, all.hashes[places].to_vec());
        Ok(self.hashes.as_ref().map(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::clue::HashesOf;

    #[test]
    fn large_parts_are_whole_copies() {
        let bytes: Vec<u8> = (0..5 << 20).map(|i: u32| (i / 3) as u8).collect();
        for range in [0..0, 5..6, 0..bytes.len(), 77..(3 << 20) + 1] {
            assert!(bytes.part(range.clone()) == bytes[range]);
        }
    }

    #[test]
    fn bytes_that_do_not_divide_are_refused() {
        for (clues, payloads, what) in [(5, 4, "clues"), (4, 3, "payloads")] {
            let made = Messages::new(7..9, vec![0; clues], vec![0; payloads]);
            let found = match made {
                Err(DetectorError::SourceLength { what, .. }) => what,
                _ => "nothing",
            };
            assert_eq!(found, what);
        }
        let two = Messages::new(7..9, vec![1, 2], vec![]).unwrap();
        let of = HashesOf {
            tag: [1; 4],
            board_id: [2; 16],
        };
        let kept = |count: u8| KeptHashes::new(of, (0..count).map(|i| [i; 32]).collect());
        assert!(two.clone().with_hashes(kept(3)).is_err());
        let mut two = two.with_hashes(kept(2)).unwrap();
        let second = KeptHashes::new(of, vec![[1; 32]]);
        assert_eq!(two.hashes(8..9).unwrap(), Some(second));
        assert!(two.hashes(8..10).is_err());
        assert!(Messages::new(7..7, vec![1], vec![]).is_err());
        let mut none = Messages::new(7..7, vec![], vec![]).unwrap();
        assert_eq!(none.clues(7..7).unwrap(), []);
        let mut two = Messages::new(7..9, vec![1, 2], vec![]).unwrap();
        assert_eq!(two.clues(7..9).unwrap(), [1, 2]);
        for outside in [6..8, 8..10, Range { start: 9, end: 8 }] {
            let error = two.clues(outside).unwrap_err().to_string();
            assert!(
                error.starts_with("expected messages within 7..9, found "),
                "{error}"
            );
        }
    }
}
