//! Kept ranges: ranges whose digests or scans did not decode, or whose messages were found and not fetched in time, with
//! the messages of them that were received since.

mod person;

use crate::history::before;
use crate::job::Job;
use crate::requests::fresh;
use crate::schedule;
use crate::storage::{Edit, Look};
use crate::table::{FOUND, JOBS, KEPT, Number, SPARES};
use crate::{expired, waiting};
use omr_protocol::Stride;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// A range whose digest or scan did not decode, or whose messages were found and not fetched in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// First message.
    pub start: u64,
    /// The index after the last message.
    pub end: u64,
    /// The bound of the request.
    pub bound: u32,
    /// The number of the recipient's messages in a group, where the digest overflowed. `None` if the digest was
    /// damaged, or the server refused to make it.
    pub overflowed: Option<u64>,
    /// Whether `overflowed` is the exact number for this range.
    #[serde(default)]
    pub exact: bool,
    /// The decoder's reason, or the server's.
    pub reason: String,
    /// Whether it was requested again and the answer has not come yet.
    pub asked_again: bool,
    /// The number of the recipient's messages in it that other digests contained since.
    #[serde(default)]
    pub read: u64,
    /// The number of further fetches whose spare requests will cover its messages.
    #[serde(default)]
    pub fetches_left: u64,
    /// The number of these fetches after which all its messages are expected, unless many other messages for the
    /// recipient arrive meanwhile.
    #[serde(default)]
    pub fetches_expected: u64,
    /// Whether all its messages have expired from the board.
    #[serde(default)]
    pub expired: bool,
    /// The number of the recipient's messages in it that a scan found and that no fetch covers any more. 0 if the range
    /// is kept for another reason.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfetched: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Kept {
    /// Returns a range that is kept for this reason.
    fn new(range: Range<u64>, bound: u32, reason: String) -> Self {
        Self {
            start: range.start,
            end: range.end,
            bound,
            overflowed: None,
            exact: false,
            reason,
            asked_again: false,
            read: 0,
            fetches_left: 0,
            fetches_expected: 0,
            expired: false,
            unfetched: 0,
        }
    }

    /// Returns the range of messages.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start..self.end
    }

    /// Returns whether it contains more messages for the recipient than the bound, and the rest comes without a
    /// person's act.
    #[must_use]
    pub fn comes_by_itself(&self) -> bool {
        self.overflowed.is_some() && self.fetches_left > 0
    }
}

/// A kept range with the state of its recovery.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Keeping {
    #[serde(flatten)]
    kept: Kept,
    /// The number of the fetch that requested it.
    #[serde(default)]
    turn: Option<u64>,
    /// Start, end and step of the messages that later digests covered.
    #[serde(default)]
    covered: Vec<[u64; 3]>,
}

/// A part of a digest that did not decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The messages of this part.
    pub(crate) of: Stride,
    /// The number of the recipient's messages, if it exceeded the bound.
    pub(crate) overflowed: Option<u64>,
    /// Whether that is the number for all these messages.
    pub(crate) exact: bool,
    /// The decoder's reason.
    pub(crate) reason: String,
}

impl Failure {
    /// Returns a failure that does not show how many messages are the recipient's.
    pub(crate) fn damaged(of: Stride, reason: String) -> Self {
        Self {
            of,
            overflowed: None,
            exact: false,
            reason,
        }
    }
}

/// The content of a spare digest, stored as long as a range that it covers may be kept later.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Read {
    of: [u64; 3],
    turn: u64,
    found: Vec<u64>,
}

fn stride([start, end, step]: [u64; 3]) -> Stride {
    Stride::new(start..end, step)
}

fn numbers(of: &Stride) -> [u64; 3] {
    [of.start, of.end, of.step()]
}

impl Keeping {
    /// Returns whether messages before `length` are missing that a board has which begins at `first`.
    pub(crate) fn misses(&self, length: u64, first: u64) -> bool {
        self.kept.start < length && first < self.kept.end
    }

    /// Returns whether all its messages were received.
    fn is_read(&self) -> bool {
        let counted = self.kept.exact
            && self
                .kept
                .overflowed
                .is_some_and(|all| self.kept.read >= all);
        counted || self.is_covered()
    }

    /// Returns whether the digests that decoded covered every message.
    fn is_covered(&self) -> bool {
        let (start, end) = (self.kept.start, self.kept.end);
        let parts = self.covered.iter().map(|of| stride(*of));
        let within = parts.map(|of| {
            let range = start.max(of.start)..end.min(of.end);
            Stride::of_class(range, of.step(), of.start)
        });
        let within: Vec<Stride> = within.collect();
        let length = end.saturating_sub(start);
        if within.iter().map(Stride::count).sum::<u64>() < length {
            return false;
        }
        let mut seen = vec![false; usize::try_from(length).unwrap_or(0)];
        for of in within {
            for counted in of.range() {
                seen[(of.index(counted) - start) as usize] = true;
            }
        }
        seen.into_iter().all(|seen| seen)
    }
}

/// Keeps a range whose digest did not decode. Returns it, unless spare digests or an earlier entry have all its
/// messages.
pub(crate) fn keep<T: Edit>(
    tx: &mut T,
    at: u64,
    job: &Job,
    failure: Failure,
) -> Result<Option<Kept>, T::Error> {
    if job.spare {
        return Ok(None);
    }
    let range = failure.of.start..failure.of.end;
    let kept = Kept {
        overflowed: failure.overflowed,
        exact: failure.exact,
        ..Kept::new(range, job.bound, failure.reason)
    };
    if let Some(again) = job.again {
        return answered_again(tx, again, kept);
    }
    let mut keeping = Keeping {
        kept,
        turn: job.turn,
        covered: Vec::new(),
    };
    // If two parts of one digest are kept, the second gets a number of its own.
    let place = if KEPT.has(tx, &at)? { fresh(tx)? } else { at };
    // Adds spare digests that came before the range was kept.
    for (_, Read { of, found, .. }) in SPARES.all(tx)? {
        add_read(tx, place, &mut keeping, &stride(of), &found)?;
    }
    settle(tx, place, &keeping)?;
    Ok((!keeping.is_read()).then_some(keeping.kept))
}

/// Keeps the range of messages that a scan found and that no fetch covers any more, on a board that begins at `first`.
/// They are in the order of the board. Returns the range.
pub(crate) fn unfetched<T: Edit>(
    tx: &mut T,
    indices: &[u64],
    first: u64,
) -> Result<Option<Kept>, T::Error> {
    let (Some(start), Some(last)) = (indices.first(), indices.last()) else {
        return Ok(None);
    };
    let count = indices.len() as u64;
    let reason = if *start < first {
        expired::reason(first)
    } else {
        format!("more messages than fetches: {count} were found and not fetched")
    };
    let kept = Kept {
        unfetched: count,
        ..Kept::new(*start..last + 1, 0, reason)
    };
    let place = fresh(tx)?;
    let keeping = Keeping {
        kept,
        turn: None,
        covered: Vec::new(),
    };
    KEPT.put(tx, &place, &keeping)?;
    Ok(Some(keeping.kept))
}

/// Handles a digest that was requested again and did not decode either.
fn answered_again<T: Edit>(tx: &mut T, number: u64, now: Kept) -> Result<Option<Kept>, T::Error> {
    // The range was read meanwhile: nothing is missing.
    let Some(mut keeping) = KEPT.get(tx, &number)? else {
        return Ok(None);
    };
    let Kept {
        start, end, read, ..
    } = keeping.kept;
    // The request covered all of the range that is still on the board.
    let begins = start.max(Number::First.get(tx)?);
    if now.range() == (begins..end) {
        keeping.kept = Kept {
            start,
            read,
            unfetched: keeping.kept.unfetched,
            exact: now.exact && begins == start,
            ..now.clone()
        };
    }
    settle(tx, number, &keeping)?;
    Ok(Some(now))
}

/// Writes a kept range, or removes it where all its messages were received. Those that a scan found count as received
/// when an answer contained them.
fn settle<T: Edit>(tx: &mut T, place: u64, keeping: &Keeping) -> Result<(), T::Error> {
    if keeping.is_read() && waiting::within(tx, &keeping.kept.range())?.is_empty() {
        return forget(tx, place);
    }
    let mut keeping = keeping.clone();
    keeping.kept.asked_again = is_awaited(tx, place)?;
    KEPT.put(tx, &place, &keeping)
}

fn forget<T: Edit>(tx: &mut T, place: u64) -> Result<(), T::Error> {
    KEPT.remove(tx, &place)?;
    FOUND.clear(tx, (place, 0)..=(place, u64::MAX))
}

/// Returns whether a request for a kept range is open.
fn is_awaited<T: Look>(tx: &T, place: u64) -> Result<bool, T::Error> {
    let jobs = JOBS.all(tx)?;
    Ok(jobs.iter().any(|(_, job)| job.again == Some(place)))
}

/// Adds the messages that a digest covered and contained to a kept range.
fn add_read<T: Edit>(
    tx: &mut T,
    place: u64,
    keeping: &mut Keeping,
    of: &Stride,
    found: &[u64],
) -> Result<(), T::Error> {
    let range = keeping.kept.range();
    if of.end <= range.start || range.end <= of.start {
        return Ok(());
    }
    add_found(tx, place, keeping, found)?;
    keeping.covered.push(numbers(of));
    Ok(())
}

/// Adds received messages to a kept range.
fn add_found<T: Edit>(
    tx: &mut T,
    place: u64,
    keeping: &mut Keeping,
    found: &[u64],
) -> Result<(), T::Error> {
    let range = keeping.kept.range();
    for index in found.iter().filter(|index| range.contains(*index)) {
        let at = (place, *index);
        if !FOUND.has(tx, &at)? {
            FOUND.put(tx, &at, &())?;
            keeping.kept.read += 1;
        }
    }
    Ok(())
}

/// Records the messages that a digest or a scan covered, and the places of the recipient's messages that were received.
pub(crate) fn note_read<T: Edit>(
    tx: &mut T,
    at: u64,
    job: &Job,
    of: &Stride,
    found: &[u64],
) -> Result<(), T::Error> {
    for (place, mut keeping) in KEPT.all(tx)? {
        add_read(tx, place, &mut keeping, of, found)?;
        settle(tx, place, &keeping)?;
    }
    let (true, Some(turn)) = (job.spare, job.turn) else {
        return Ok(());
    };
    let oldest = turn.saturating_sub(schedule::fetches(schedule::MAX_LEVELS));
    let spares = SPARES.all(tx)?;
    for (number, _) in spares.iter().take_while(|(_, read)| read.turn < oldest) {
        SPARES.remove(tx, number)?;
    }
    let (of, found) = (numbers(of), found.to_vec());
    SPARES.put(tx, &at, &Read { of, turn, found })
}

/// Records messages that the answer to a query contained.
pub(crate) fn note_arrived<T: Edit>(tx: &mut T, arrived: &[u64]) -> Result<(), T::Error> {
    for (place, mut keeping) in KEPT.all(tx)? {
        add_found(tx, place, &mut keeping, arrived)?;
        settle(tx, place, &keeping)?;
    }
    Ok(())
}

/// Removes the kept ranges whose messages were all received.
pub(crate) fn settle_all<T: Edit>(tx: &mut T) -> Result<(), T::Error> {
    note_arrived(tx, &[])
}

/// Returns the indices of the messages of a kept range that were received since it is kept.
pub(crate) fn received<T: Look>(tx: &T, place: u64) -> Result<BTreeSet<u64>, T::Error> {
    let found = FOUND.range(tx, (place, 0)..=(place, u64::MAX))?;
    Ok(found.into_iter().map(|((_, index), ())| index).collect())
}

/// Removes the notes about messages from `common` on, where the board now has another history.
pub(crate) fn go_back<T: Edit>(tx: &mut T, common: u64) -> Result<(), T::Error> {
    for (number, mut read) in SPARES.all(tx)? {
        match before(&stride(read.of), common) {
            Some(of) => {
                read.of = numbers(&of);
                read.found.retain(|index| *index < common);
                SPARES.put(tx, &number, &read)?;
            }
            None => SPARES.remove(tx, &number)?,
        }
    }
    for (place, mut keeping) in KEPT.all(tx)? {
        if keeping.kept.start >= common {
            forget(tx, place)?;
            continue;
        }
        if keeping.kept.end > common {
            keeping.kept.end = common;
            // This number partly counted messages that the board no longer has.
            keeping.kept.exact = false;
            FOUND.clear(tx, (place, common)..=(place, u64::MAX))?;
            keeping.kept.read = received(tx, place)?.len() as u64;
        }
        settle(tx, place, &keeping)?;
    }
    Ok(())
}

/// Marks a kept range as no longer requested.
pub(crate) fn given_up<T: Edit>(tx: &mut T, place: u64) -> Result<(), T::Error> {
    let known = KEPT.get(tx, &place)?;
    known.map_or(Ok(()), |keeping| settle(tx, place, &keeping))
}

/// Keeps the range of a request that the server refused for good.
pub(crate) fn refused<T: Edit>(
    tx: &mut T,
    at: u64,
    job: &Job,
    reason: &str,
) -> Result<(), T::Error> {
    // A range that was requested again stays as it was kept.
    if let Some(place) = job.again {
        return given_up(tx, place);
    }
    keep(
        tx,
        at,
        job,
        Failure::damaged(job.stride(), reason.to_owned()),
    )
    .map(drop)
}
