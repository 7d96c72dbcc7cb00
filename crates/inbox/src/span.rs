//! The span: the messages of all long scans, as one range. Fetches cover its part near the end of the board, so that
//! what one fetch has no room for comes with the next ones.
//!
//! The span follows from the board's lengths, from earlier ranges and from the number of fetches.

use crate::job::{Job, Kind};
use crate::requests::{add, remove};
use crate::rounds::Sizes;
use crate::storage::{Edit, Look};
use crate::table::{JOBS, Number, QUERIES};
use omr_protocol::Stride;
use std::ops::Range;

/// Returns the span; it is empty where it does not begin before its end.
pub(crate) fn span<T: Look>(tx: &T) -> Result<Range<u64>, T::Error> {
    Ok(Number::SpanStart.get(tx)?..Number::SpanEnd.get(tx)?)
}

fn set<T: Edit>(tx: &mut T, span: &Range<u64>) -> Result<(), T::Error> {
    Number::SpanStart.set(tx, span.start)?;
    Number::SpanEnd.set(tx, span.end)
}

/// Extends the span by the messages of a long scan.
pub(crate) fn extend<T: Edit>(tx: &mut T, scan: &Range<u64>) -> Result<(), T::Error> {
    let old = span(tx)?;
    if old.is_empty() {
        return set(tx, scan);
    }
    let hull = old.start.min(scan.start)..old.end.max(scan.end);
    set(tx, &hull)
}

/// Returns whether a scan of a range contains no payloads.
pub(crate) fn is_long(range: &Range<u64>, short: u64) -> bool {
    range.end.saturating_sub(range.start) > short
}

/// Records the requests of this sync's fetches, on a board of `messages` messages of which `scans` are scanned for the
/// first time. They take the place of earlier ones that were interrupted before their queries were made.
pub(crate) fn plan<T: Edit>(
    tx: &mut T,
    messages: u64,
    scans: &[Job],
    sizes: &Sizes,
) -> Result<(), T::Error> {
    Number::Short.set(tx, sizes.short)?;
    Number::Room.set(tx, sizes.room)?;
    Number::Most.set(tx, sizes.most)?;
    let mut from = messages.saturating_sub(sizes.window);
    for (number, job) in JOBS.all(tx)? {
        let is_planned = job.kind == Kind::Fetch && job.again.is_none() && !job.fetched;
        if is_planned && !QUERIES.has(tx, &number)? {
            from = from.min(job.start);
            remove(tx, number, &job)?;
        }
    }
    for scan in scans {
        let range = scan.start..scan.end;
        if is_long(&range, sizes.short) {
            from = from.min(range.start);
            extend(tx, &range)?;
        }
    }
    let old = span(tx)?;
    let covered = from.max(old.start).max(Number::First.get(tx)?)..old.end;
    set(tx, &covered)?;
    for piece in Stride::new(covered, 1).pieces(sizes.most) {
        add(tx, &Job::of_kind(Kind::Fetch, piece))?;
    }
    Ok(())
}

/// Cuts the span at a fork: the messages from `common` on are scanned again.
pub(crate) fn go_back<T: Edit>(tx: &mut T, common: u64) -> Result<(), T::Error> {
    let old = span(tx)?;
    if old.end > common {
        set(tx, &(old.start..common))?;
    }
    Ok(())
}
