//! Expiry of the oldest segments, which are removed whole. The indices of other messages do not change.

use std::ops::Range;
use std::sync::TryLockError;
use std::time::Duration;

use super::{Store, sealed};
use crate::chain;
use crate::error::StoreError;
use crate::format::{SEGMENTS, index_key};
use crate::hashes::drop_before;
use crate::meta::{Outcome, lock};
use crate::once::{Listed, Once, keys_of, keys_read, list_all};
use crate::segment::Segment;

/// The rule for the messages that expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// Messages that have been on the board for this time expire. Only time during which the store was open counts.
    OlderThan(Duration),
    /// All messages but this number of the latest ones expire.
    Keep(u64),
}

/// The messages that were removed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expired {
    /// The indices of the messages.
    pub range: Range<u64>,
    /// The bytes of their segments.
    pub bytes: u64,
}

impl Store {
    /// Removes the oldest messages, in whole segments: never a segment with a message that `what` keeps, and never a
    /// message of the tail. Reads and appends continue meanwhile.
    ///
    /// Each segment is removed in one transaction, which also changes the board's first message, and then its object is
    /// deleted. A crash leaves at most an object, which the next sweep removes. One-time keys of removed messages stay
    /// used.
    ///
    /// Errors: [`StoreError::Row`] where a row of a segment is damaged, and those of the database and of the objects.
    /// After an error, the segments before the failed one are removed.
    pub fn expire(&self, what: Expiry) -> Result<Expired, StoreError> {
        let inner = self.inner();
        let _one_at_a_time = lock(&inner.sealing);
        let (state, segments) = inner
            .meta
            .view(|view| Ok((view.state()?, sealed::list(view)?.whole()?)))?;
        let mut expired = Expired {
            range: state.first..state.first,
            bytes: 0,
        };
        let going = expiring(&segments, what, state.len, inner.meta.clock());
        for segment in &segments[..going] {
            self.forget_segment(segment)?;
            expired.range.end = segment.end();
            expired.bytes = expired.bytes.saturating_add(segment.bytes);
        }
        Ok(expired)
    }

    fn forget_segment(&self, segment: &Segment) -> Result<(), StoreError> {
        let inner = self.inner();
        let layout = inner.meta.layout;
        let keys = self.keys_in_segment(segment)?;
        let base = chain::hash_before_expiry(self, segment.end())?;
        let remove = || {
            inner.meta.transact(|writing, state| {
                Once::open(writing, &layout, state)?.spend(&keys)?;
                writing.remove(SEGMENTS, &index_key(segment.first))?;
                drop_before(writing, &layout, segment.end())?;
                chain::drop_before(writing, state, segment.end(), base)?;
                state.first = segment.end();
                Ok(Outcome::Commit(()))
            })
        };
        match remove() {
            Err(StoreError::KeyCount(_)) => {
                list_all(self, &mut |_, _| {})?;
                remove()
            }
            other => other,
        }?;
        {
            let mut totals = lock(&inner.totals);
            totals.segments -= 1;
            totals.segment_bytes -= segment.bytes;
        }
        let _gate = match inner.gate.try_write() {
            Ok(gate) => gate,
            Err(TryLockError::Poisoned(gate)) => gate.into_inner(),
            // A backup may want the object. A later sweep removes it.
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        inner.place.delete(&segment.name())
    }

    /// Returns the one-time keys of a segment's messages; those of a damaged segment from the list.
    fn keys_in_segment(&self, segment: &Segment) -> Result<Vec<Listed>, StoreError> {
        match keys_read(self, segment.first..segment.end()) {
            Err(StoreError::Damaged { .. }) => {
                let all: Vec<u64> = (segment.first..segment.end()).collect();
                self.inner().meta.view(|view| keys_of(view, &all))
            }
            other => other,
        }
    }
}

/// Returns the number of segments that expire, on a board of `len` messages at the time `now`.
fn expiring(segments: &[Segment], what: Expiry, len: u64, now: u64) -> usize {
    match what {
        Expiry::Keep(kept) => {
            let last = len.saturating_sub(kept);
            segments.partition_point(|segment| segment.end() <= last)
        }
        Expiry::OlderThan(age) => {
            let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            let Some(limit) = now.checked_sub(millis) else {
                return 0;
            };
            let young = |segment: &Segment| segment.sealed_at.is_some_and(|at| at > limit);
            let old = segments.iter().position(young).unwrap_or(segments.len());
            // A segment without a time is at least as old as the next segment that has one.
            segments[..old]
                .iter()
                .rposition(|segment| segment.sealed_at.is_some())
                .map_or(0, |at| at + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(times: &[Option<u64>]) -> Vec<Segment> {
        let one = |(at, sealed_at): (usize, &Option<u64>)| Segment {
            first: at as u64 * 8,
            count: 8,
            bytes: 1,
            hash: [0; 32],
            sealed_at: *sealed_at,
        };
        times.iter().enumerate().map(one).collect()
    }

    #[test]
    fn nothing_goes_that_may_be_younger() {
        let of = segments(&[None, None, Some(100), None, Some(300), None]);
        let older =
            |age: u64, now| expiring(&of, Expiry::OlderThan(Duration::from_millis(age)), 50, now);
        assert_eq!(older(0, 99), 0);
        assert_eq!(older(0, 100), 3);
        assert_eq!(older(200, 299), 0);
        assert_eq!(older(200, 499), 3);
        assert_eq!(older(200, 500), 5);
        assert_eq!(older(u64::MAX, u64::MAX), 0);
        let keep = |kept| expiring(&of, Expiry::Keep(kept), 50, 0);
        assert_eq!([50, 43, 42, 2, 0].map(keep), [0, 0, 1, 6, 6]);
        assert_eq!(keep(u64::MAX), 0);
    }
}
