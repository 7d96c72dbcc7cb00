//! Messages that the board no longer keeps: missed ranges are recorded, and requests begin after them.
//!
//! Requests depend on the board's first message alone, which is public.

use crate::job::Job;
use crate::kept;
use crate::requests::{add, fresh, remove};
use crate::storage::{Edit, Look};
use crate::table::{JOBS, Number};
use omr_protocol::Stride;
use std::ops::Range;

/// Records that the board begins at `first`: moves the cursor and open requests there, and keeps the ranges that were
/// not fetched in time. Returns these ranges.
pub(crate) fn begin_at<T: Edit>(
    tx: &mut T,
    first: u64,
    bound: u32,
) -> Result<Vec<Range<u64>>, T::Error> {
    let cursor = Number::Cursor.get(tx)?;
    for number in [Number::First, Number::Cursor, Number::Length] {
        let at = number.get(tx)?;
        number.set(tx, at.max(first))?;
    }
    let mut missed = Vec::new();
    for (at, job) in begun_before(tx, first)? {
        remove(tx, at, &job)?;
        let rest = Stride::of_class(first..job.end.max(first), job.step.max(1), job.start);
        if rest.count() > 0 {
            add(tx, &job.rest(rest))?;
        }
        let end = job.end.min(first);
        match job.again {
            Some(place) => kept::given_up(tx, place)?,
            None if !job.is_spare() => missed.push(job.start..end),
            None => {}
        }
    }
    if cursor < first {
        missed.push(cursor..first);
    }
    for range in &missed {
        let reason = reason(first);
        let job = Job::new(Stride::new(range.clone(), 1), bound);
        let at = fresh(tx)?;
        kept::refused(tx, at, &job, &reason)?;
    }
    Ok(missed)
}

/// Returns the reason why a range before `first` is kept: its messages cannot come any more.
pub(crate) fn reason(first: u64) -> String {
    format!("expired before it was fetched: the board begins at {first}")
}

/// Returns requests without an answer that cover messages before `first`.
fn begun_before<T: Look>(tx: &T, first: u64) -> Result<Vec<(u64, Job)>, T::Error> {
    let mut jobs = JOBS.all(tx)?;
    jobs.retain(|(_, job)| !job.fetched && job.start < first);
    Ok(jobs)
}
