//! The log: messages in order, read from segments and from the tail.

use std::ops::{ControlFlow, Range};

use crate::error::StoreError;
use crate::meta::Meta;
use crate::segment::{self, Segment};
use crate::tail::{Piece, tail_piece};

/// A visitor of messages, called with index, clue and payload. A lost message has an empty clue and an empty payload;
/// the clue of any other message is not empty. The visitor breaks to end the reading.
pub type Visit<'a> = dyn FnMut(u64, &[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A sequence of messages in a meta file and perhaps in segments.
pub(crate) trait Log {
    /// The meta file.
    fn meta(&self) -> &Meta;

    /// Returns records of `segment` for a reader of the messages `at..end`.
    fn in_segment(&self, segment: &Segment, at: u64, end: u64) -> Result<Piece, StoreError>;

    /// Calls `visit` for every message of `range` in order, until it breaks. The checksum of every record is tested; a
    /// message in the tail whose record is damaged counts as lost.
    ///
    /// Errors: [`StoreError::OutOfRange`], [`StoreError::Expired`], [`StoreError::Damaged`], and those of the database.
    fn read_range(&self, range: Range<u64>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.check_range(&range)?;
        let layout = &self.meta().layout;
        let mut at = range.start;
        while at < range.end {
            let piece = self.piece(at, range.end)?;
            let skip = (at - piece.first) as usize * layout.record_bytes();
            let records = piece.records.get(skip..).unwrap_or_default();
            for record in records.chunks_exact(layout.record_bytes()) {
                if at == range.end {
                    break;
                }
                let (clue, payload) = layout
                    .open_record(at, record)
                    .map_err(|evidence| piece.damaged(at, evidence))?;
                if visit(at, clue, payload).is_break() {
                    return Ok(());
                }
                at += 1;
            }
        }
        Ok(())
    }

    /// Tests that all messages of a range are on the board.
    ///
    /// Errors: [`StoreError::OutOfRange`], [`StoreError::Expired`].
    fn check_range(&self, range: &Range<u64>) -> Result<(), StoreError> {
        let (first, len) = (self.meta().first(), self.meta().len());
        if range.start < range.end && range.start < first {
            return Err(expired(range.clone(), first));
        }
        if range.start > range.end || range.end > len {
            return Err(StoreError::OutOfRange {
                start: range.start,
                end: range.end,
                expected: len,
            });
        }
        Ok(())
    }

    /// Returns records that begin at or before message `at` and contain it.
    fn piece(&self, at: u64, end: u64) -> Result<Piece, StoreError> {
        let layout = self.meta().layout;
        let found = self.meta().view(|view| {
            let state = view.state()?;
            if at < state.first {
                return Err(expired(at..end, state.first));
            }
            if at < state.sealed {
                return Ok(Err(segment::holding(view, at)?));
            }
            tail_piece(view, &layout, at, end).map(Ok)
        })?;
        found.or_else(|segment| self.in_segment(&segment, at, end))
    }
}

/// Returns the error of a range that begins before `first`, the first message that has not expired.
pub(crate) fn expired(range: Range<u64>, first: u64) -> StoreError {
    StoreError::Expired {
        start: range.start,
        end: range.end.min(first),
        first,
    }
}
