//! Messages that scans found and that no answer has contained yet.

use crate::Inbox;
use crate::job::{Job, Kind};
use crate::kept::{self, Kept};
use crate::span::span;
use crate::storage::{Edit, Look, Storage};
use crate::table::{JOBS, Number, WAITING};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;

/// Messages that were found and whose payloads later fetches bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The number of messages.
    pub messages: u64,
    /// The number of further syncs that fetch them, unless others are found before them.
    pub syncs: u64,
}

impl<S: Storage> Inbox<S> {
    /// Returns how many messages were found and wait for later fetches.
    ///
    /// Errors: those of the storage.
    pub fn waiting(&self) -> Result<Waiting, S::Error> {
        self.store.read(|tx| {
            let messages = all(tx)?.len() as u64;
            let room = Number::Room.get(tx)?.max(1);
            let syncs = messages.div_ceil(room);
            Ok(Waiting { messages, syncs })
        })
    }
}

/// Returns the indices of all waiting messages.
fn all<T: Look>(tx: &T) -> Result<BTreeSet<u64>, T::Error> {
    let records = WAITING.all(tx)?.into_iter();
    Ok(records.flat_map(|(_, indices)| indices).collect())
}

/// Returns the indices of the waiting messages of a range, in the order of the board.
pub(crate) fn within<T: Look>(tx: &T, range: &Range<u64>) -> Result<Vec<u64>, T::Error> {
    let mut indices: Vec<u64> = all(tx)?.into_iter().collect();
    indices.retain(|index| range.contains(index));
    Ok(indices)
}

/// Records the messages that a scan found, in one write whatever their number: those that the board still has, without
/// those that were received since its range was kept. Has no effect if they were recorded before.
pub(crate) fn begin<T: Edit>(
    tx: &mut T,
    number: u64,
    scan: &Job,
    mut indices: Vec<u64>,
) -> Result<(), T::Error> {
    if WAITING.has(tx, &number)? {
        return Ok(());
    }
    indices.retain(|index| scan.fork.is_none_or(|fork| *index < fork));
    if let Some(place) = scan.again {
        let received = kept::received(tx, place)?;
        indices.retain(|index| !received.contains(index));
    }
    WAITING.put(tx, &number, &indices)
}

/// Removes messages that do not wait any more, and records that have no messages and will have none.
pub(crate) fn retain<T: Edit>(tx: &mut T, waits: impl Fn(u64) -> bool) -> Result<(), T::Error> {
    for (scan, mut indices) in WAITING.all(tx)? {
        let before = indices.len();
        indices.retain(|index| waits(*index));
        if indices.is_empty() && !JOBS.has(tx, &scan)? {
            WAITING.remove(tx, &scan)?;
        } else if indices.len() < before {
            WAITING.put(tx, &scan, &indices)?;
        }
    }
    Ok(())
}

/// Returns the messages that no fetch covers any more.
pub(crate) fn left<T: Look>(tx: &T) -> Result<Vec<u64>, T::Error> {
    let mut left = all(tx)?;
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let fetches = JOBS.all(tx)?.into_iter();
    let fetches = fetches.filter(|(_, job)| job.kind == Kind::Fetch);
    let mut covered: Vec<Range<u64>> = fetches.map(|(_, job)| job.start..job.end).collect();
    covered.push(span(tx)?);
    left.retain(|index| !covered.iter().any(|range| range.contains(index)));
    Ok(left.into_iter().collect())
}

/// Keeps the ranges of the messages that no fetch covers any more, because they expired or lie too far behind the
/// board's end. Returns the ranges.
pub(crate) fn leave<T: Edit>(tx: &mut T) -> Result<Vec<Kept>, T::Error> {
    let left = left(tx)?;
    let (first, most) = (Number::First.get(tx)?, Number::Most.get(tx)?.max(1));
    retain(tx, |index| left.binary_search(&index).is_err())?;
    let mut ranges = Vec::new();
    // No range is longer than a scan can be.
    let together =
        |last: &u64, next: &u64| last / most == next / most && (*last < first) == (*next < first);
    for indices in left.chunk_by(together) {
        ranges.extend(kept::unfetched(tx, indices, first)?);
    }
    kept::settle_all(tx)?;
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InboxError, Memory};
    use omr_protocol::Stride;

    #[test]
    fn messages_of_a_scan_wait_once() {
        let inbox = Inbox::open(Memory::<InboxError>::new()).unwrap();
        let job = Job::of_kind(Kind::Scan, Stride::new(0..9, 1));
        let waits = |is_there: bool| {
            let indices = inbox.store().write(|tx| {
                if is_there {
                    JOBS.put(tx, &7, &job)?;
                } else {
                    JOBS.remove(tx, &7)?;
                }
                begin(tx, 7, &job, vec![3, 5])?;
                let before = within(tx, &(0..9))?;
                retain(tx, |_| false)?;
                Ok(before)
            });
            indices.unwrap()
        };
        assert_eq!(waits(true), [3, 5]);
        // The scan was not taken in yet: its messages have come already.
        assert!(waits(true).is_empty());
        assert!(waits(false).is_empty());
        let left = inbox.store().read(|tx| WAITING.count(tx));
        assert_eq!(left.unwrap(), 0);
    }
}
