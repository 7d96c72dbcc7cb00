//! Messages in memory.

use crate::error::check_len;
use crate::{DetectorError, MessageSource};
use std::ops::Range;

/// Messages of a board in memory, as a detector reads them: those of [`omr_store`'s](https://docs.rs/omr-store)
/// `Board::read_into`, or of any other database.
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
#[derive(Clone, Debug)]
pub struct Messages {
    range: Range<u64>,
    clues: Vec<u8>,
    payloads: Vec<u8>,
}

/// Messages that are not here.
#[derive(Debug, thiserror::Error)]
#[error("expected messages within {}..{}, found {}..{}", .expected.start, .expected.end, .found.start, .found.end)]
struct Outside {
    expected: Range<u64>,
    found: Range<u64>,
}

type SourceError = Box<dyn std::error::Error + Send + Sync>;

impl Messages {
    /// The messages of `range`: their clues one after another, and their payloads.
    ///
    /// Errors: `SourceLength` where these do not divide evenly among them.
    pub fn new(
        range: Range<u64>,
        clues: Vec<u8>,
        payloads: Vec<u8>,
    ) -> Result<Self, DetectorError> {
        let count = range.end.saturating_sub(range.start) as usize;
        for (what, found) in [("clues", clues.len()), ("payloads", payloads.len())] {
            let expected = found.checked_next_multiple_of(count).unwrap_or(0);
            check_len(what, expected, found)?;
        }
        Ok(Self {
            range,
            clues,
            payloads,
        })
    }

    /// Their indices on the board.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    fn part(&self, all: &[u8], found: Range<u64>) -> Result<Vec<u8>, SourceError> {
        let Range { start, end } = self.range;
        if found.start < start || found.end > end || found.start > found.end {
            let expected = self.range();
            return Err(Box::new(Outside { expected, found }));
        }
        let each = all.len().checked_div((end - start) as usize).unwrap_or(0);
        let at = |index: u64| (index - start) as usize * each;
        Ok(all[at(found.start)..at(found.end)].to_vec())
    }
}

impl MessageSource for Messages {
    fn clue_bytes(&self) -> usize {
        let count = self.range.end.saturating_sub(self.range.start) as usize;
        self.clues.len().checked_div(count).unwrap_or(0)
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.part(&self.clues, range)
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.part(&self.payloads, range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_divide_is_refused() {
        for (clues, payloads, what) in [(5, 4, "clues"), (4, 3, "payloads")] {
            let made = Messages::new(7..9, vec![0; clues], vec![0; payloads]);
            let found = match made {
                Err(DetectorError::SourceLength { what, .. }) => what,
                _ => "nothing",
            };
            assert_eq!(found, what);
        }
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
