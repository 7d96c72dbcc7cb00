//! A person's actions on kept ranges.

use super::{Keeping, Kept, forget, settle};
use crate::requests::{self, add_again, ask_again};
use crate::storage::Storage;
use crate::table::{DIGESTS, JOBS, KEPT, Number};
use crate::{Inbox, InboxError, schedule};
use omr_protocol::Mismatch;
use omr_protocol::Stride;
use std::ops::Range;

impl<S: Storage> Inbox<S> {
    /// Returns the ranges whose digests did not decode and whose messages were not all received since.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn kept(&self) -> Result<Vec<Kept>, S::Error> {
        self.store.read(|tx| {
            let levels = u8::try_from(Number::Levels.get(tx)?).unwrap_or(0);
            let (turn, fetches) = (Number::Turn.get(tx)?, schedule::fetches(levels));
            let first = Number::First.get(tx)?;
            let mut ranges = Vec::new();
            for (_, keeping) in KEPT.all(tx)? {
                let expired = keeping.kept.end <= first;
                let made = keeping.turn.filter(|_| !expired);
                let left = |after: u64| {
                    made.map_or(0, |made| made.saturating_add(after).saturating_sub(turn))
                };
                let messages = keeping.kept.overflowed.unwrap_or(0);
                let expected = left(schedule::expected(levels, messages, keeping.kept.bound));
                let fetches_left = left(fetches);
                ranges.push(Kept {
                    fetches_left,
                    // Messages that did not come when they were expected come with a later level.
                    fetches_expected: if expected > 0 { expected } else { fetches_left },
                    expired,
                    ..keeping.kept
                });
            }
            ranges.sort_by_key(|kept| kept.start);
            Ok(ranges)
        })
    }

    /// **A person's act.** Has the next fetch request every overflowed range again, with a larger bound. This reveals
    /// to the detector that the old bound was too small: if the detector sent the messages itself, or cooperates with
    /// the sender, it learns something about the recipient's secret. Returns the number of ranges.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn raise_bound(&self, bound: u32) -> Result<usize, S::Error> {
        self.again(|kept| (kept.overflowed.is_some() && bound > kept.bound).then_some(bound))
    }

    /// **A person's act.** Has the next fetch request every damaged range again, unchanged. This reveals to the
    /// detector that a digest did not decode. Returns the number of ranges.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn retry_damaged(&self) -> Result<usize, S::Error> {
        self.again(|kept| kept.overflowed.is_none().then_some(kept.bound))
    }

    fn again(&self, bound: impl Fn(&Kept) -> Option<u32>) -> Result<usize, S::Error> {
        self.store.write(|tx| {
            let first = Number::First.get(tx)?;
            let mut asked = 0;
            for (place, mut keeping) in KEPT.all(tx)? {
                let is_there = keeping.kept.end > first;
                let Some(bound) = bound(&keeping.kept).filter(|_| is_there) else {
                    continue;
                };
                asked += usize::from(ask_again(tx, place, &mut keeping.kept, bound)?);
                settle(tx, place, &keeping)?;
            }
            Ok(asked)
        })
    }

    /// **A person's act.** Has the next fetch request a range again, at most `most` messages per request, whatever is
    /// known of it. The detector learns that somebody wants these messages once more, with this bound and this
    /// division. Returns the number of requests.
    ///
    /// Errors: those of the storage; `Record`; `Range` unless the range was requested before.
    pub fn again_range(&self, range: Range<u64>, bound: u32, most: u64) -> Result<usize, S::Error> {
        self.store.write(|tx| {
            let cursor = Number::Cursor.get(tx)?;
            if range.start >= range.end || range.end > cursor {
                let never = InboxError::Range(Mismatch::new(cursor, range.clone()));
                return Err(never.into());
            }
            let ranges = KEPT.all(tx)?;
            let mut asked = 0;
            let limit = Number::Most.known(tx)?.unwrap_or(u64::MAX);
            for of in Stride::new(range, 1).pieces(most.min(limit)) {
                let holds = |(_, known): &&(u64, Keeping)| {
                    known.kept.start <= of.start && of.end <= known.kept.end
                };
                let again = ranges.iter().find(holds).map(|(place, _)| *place);
                add_again(tx, of, bound, again)?;
                asked += 1;
            }
            for (place, keeping) in &ranges {
                settle(tx, *place, keeping)?;
            }
            Ok(asked)
        })
    }

    /// **A person's act.** Forgets kept ranges, and requests that the server has not answered, within a range: its
    /// messages are not requested any more. Returns the number of both.
    ///
    /// Errors: those of the storage; `Record`; `NotKept` where there is neither.
    pub fn drop_range(&self, range: Range<u64>) -> Result<(usize, usize), S::Error> {
        let within = |start, end| range.start <= start && end <= range.end;
        self.store.write(|tx| {
            let mut dropped = (0, 0);
            for (place, keeping) in KEPT.all(tx)? {
                if within(keeping.kept.start, keeping.kept.end) {
                    forget(tx, place)?;
                    dropped.0 += 1;
                }
            }
            for (number, job) in JOBS.all(tx)? {
                if !job.spare && within(job.start, job.end) {
                    requests::remove(tx, number, &job)?;
                    DIGESTS.remove(tx, &number)?;
                    dropped.1 += 1;
                }
            }
            match dropped {
                (0, 0) => Err(InboxError::NotKept(range.clone()).into()),
                dropped => Ok(dropped),
            }
        })
    }
}
