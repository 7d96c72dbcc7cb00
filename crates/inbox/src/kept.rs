//! Kept ranges: those whose digests gave no messages, and what of them came since.

mod person;

use crate::history::before;
use crate::job::Job;
use crate::requests::fresh;
use crate::schedule;
use crate::storage::{Edit, Look};
use crate::table::{FOUND, JOBS, KEPT, Number, SPARES};
use omr_protocol::Stride;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A range whose digest gave no messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// First message.
    pub start: u64,
    /// The index after the last message.
    pub end: u64,
    /// The bound that was asked for.
    pub bound: u32,
    /// How many messages for her a group holds, where that is known: the digest overflowed. Else it was
    /// damaged, or the server refused to make it.
    pub overflowed: Option<u64>,
    /// Whether that is the count of this range, neither more nor less.
    #[serde(default)]
    pub exact: bool,
    /// The decoder's words, or the server's.
    pub reason: String,
    /// Whether it is asked for again and the answer is awaited.
    pub asked_again: bool,
    /// Messages for her in it that other digests held since.
    #[serde(default)]
    pub read: u64,
    /// Fetches whose spare requests will look at its messages once more.
    #[serde(default)]
    pub fetches_left: u64,
    /// Those of them with which the rest comes unless many other messages for her come meanwhile.
    #[serde(default)]
    pub fetches_expected: u64,
    /// Whether the board keeps none of its messages any more.
    #[serde(default)]
    pub expired: bool,
}

impl Kept {
    /// The range of messages.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start..self.end
    }

    /// Whether more messages for her than the bound are in it, and the rest comes without a person's doing.
    #[must_use]
    pub fn comes_by_itself(&self) -> bool {
        self.overflowed.is_some() && self.fetches_left > 0
    }
}

/// A kept range with what is known of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Keeping {
    #[serde(flatten)]
    kept: Kept,
    /// The fetch that asked for it.
    #[serde(default)]
    turn: Option<u64>,
    /// Start, end and step of what digests that came later covered.
    #[serde(default)]
    covered: Vec<[u64; 3]>,
}

/// A part of a digest that did not decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The messages.
    pub(crate) of: Stride,
    /// How many are hers, if that is the reason.
    pub(crate) overflowed: Option<u64>,
    /// Whether that is the count of all these messages.
    pub(crate) exact: bool,
    /// The decoder's words.
    pub(crate) reason: String,
}

impl Failure {
    /// One that says nothing of how many are hers.
    pub(crate) fn damaged(of: Stride, reason: String) -> Self {
        Self {
            of,
            overflowed: None,
            exact: false,
            reason,
        }
    }
}

/// What a spare digest held, as long as a range that it covers may be kept later.
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
    /// Whether nothing in it is left to be read.
    fn is_read(&self) -> bool {
        let counted = self.kept.exact
            && self
                .kept
                .overflowed
                .is_some_and(|all| self.kept.read >= all);
        counted || self.is_covered()
    }

    /// Whether digests that decoded covered every message.
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

/// Keeps a range whose digest gave no messages; gives it, unless a spare digest or an earlier entry makes up
/// for it.
pub(crate) fn keep<T: Edit>(
    tx: &mut T,
    at: u64,
    job: &Job,
    failure: Failure,
) -> Result<Option<Kept>, T::Error> {
    if job.spare {
        return Ok(None);
    }
    let kept = Kept {
        start: failure.of.start,
        end: failure.of.end,
        bound: job.bound,
        overflowed: failure.overflowed,
        exact: failure.exact,
        reason: failure.reason,
        asked_again: false,
        read: 0,
        fetches_left: 0,
        fetches_expected: 0,
        expired: false,
    };
    if let Some(again) = job.again {
        return answered_again(tx, again, kept);
    }
    let mut keeping = Keeping {
        kept,
        turn: job.turn,
        covered: Vec::new(),
    };
    // Two parts of one digest may be kept: the second under a number of its own.
    let place = if KEPT.has(tx, &at)? { fresh(tx)? } else { at };
    // Spare digests that came before the range was known to be kept.
    for (_, Read { of, found, .. }) in SPARES.all(tx)? {
        add_read(tx, place, &mut keeping, &stride(of), &found)?;
    }
    settle(tx, place, &keeping)?;
    Ok((!keeping.is_read()).then_some(keeping.kept))
}

/// A digest that was asked for again and gave no messages either.
fn answered_again<T: Edit>(tx: &mut T, number: u64, now: Kept) -> Result<Option<Kept>, T::Error> {
    // Read meanwhile: nothing is missing.
    let Some(mut keeping) = KEPT.get(tx, &number)? else {
        return Ok(None);
    };
    let Kept {
        start, end, read, ..
    } = keeping.kept;
    // All of it that is still on the board.
    let begins = start.max(Number::First.get(tx)?);
    if now.range() == (begins..end) {
        keeping.kept = Kept {
            start,
            read,
            exact: now.exact && begins == start,
            ..now.clone()
        };
    }
    settle(tx, number, &keeping)?;
    Ok(Some(now))
}

/// Writes a kept range, or takes it out where nothing is left to be read.
fn settle<T: Edit>(tx: &mut T, place: u64, keeping: &Keeping) -> Result<(), T::Error> {
    if keeping.is_read() {
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

/// Whether a request for a kept range is open.
fn is_awaited<T: Look>(tx: &T, place: u64) -> Result<bool, T::Error> {
    let jobs = JOBS.all(tx)?;
    Ok(jobs.iter().any(|(_, job)| job.again == Some(place)))
}

/// Adds what a digest covered and held to a kept range.
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
    for index in found.iter().filter(|index| range.contains(*index)) {
        let at = (place, *index);
        if !FOUND.has(tx, &at)? {
            FOUND.put(tx, &at, &())?;
            keeping.kept.read += 1;
        }
    }
    keeping.covered.push(numbers(of));
    Ok(())
}

/// Notes the messages that a digest covered, and the places of those that are hers.
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

/// Takes back what is known of messages from `common` on, where the board has another history now.
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
            // What it counted is partly of the other history.
            keeping.kept.exact = false;
            FOUND.clear(tx, (place, common)..=(place, u64::MAX))?;
            let found = FOUND.range(tx, (place, 0)..=(place, u64::MAX))?;
            keeping.kept.read = found.len() as u64;
        }
        settle(tx, place, &keeping)?;
    }
    Ok(())
}

/// A request for a kept range is made no more: the range is kept as it was.
pub(crate) fn given_up<T: Edit>(tx: &mut T, place: u64) -> Result<(), T::Error> {
    let known = KEPT.get(tx, &place)?;
    known.map_or(Ok(()), |keeping| settle(tx, place, &keeping))
}

/// Keeps the range of a request that the server will never take.
pub(crate) fn refused<T: Edit>(
    tx: &mut T,
    at: u64,
    job: &Job,
    reason: &str,
) -> Result<(), T::Error> {
    // What was asked for again is kept as it was.
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
