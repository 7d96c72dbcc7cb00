//! Kept ranges: those whose digests gave no messages, and what of them came since.

mod person;

use super::requests::{Job, fresh, stored};
use super::{FOUND, JOBS, KEPT, SPARES, decode, encode, schedule};
use crate::MailError;
use omr_protocol::Stride;
use redb::{ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// From so many messages on the counter of InstantOMR's older sets begins anew.
const COUNTER: u64 = 97;

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
    /// Whether it may have overflowed all the same: in sets without exact counters 97 messages and more look like
    /// damage.
    #[serde(default)]
    pub may_overflow: bool,
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

    /// At least so many messages for her are in it, or may be.
    #[must_use]
    pub fn least(&self) -> Option<u64> {
        let perhaps = self.may_overflow.then_some(COUNTER);
        self.overflowed.or(perhaps)
    }
}

/// A kept range with what is known of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Keeping {
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
pub(super) struct Failure {
    /// The messages.
    pub(super) of: Stride,
    /// How many are hers, if that is the reason.
    pub(super) overflowed: Option<u64>,
    /// Whether that is the count of all these messages.
    pub(super) exact: bool,
    /// Whether too many may be hers all the same.
    pub(super) may_overflow: bool,
    /// The decoder's words.
    pub(super) reason: String,
}

/// What a spare digest held, as long as a range that it covers may be kept later.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Read {
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
pub(super) fn keep(
    tx: &WriteTransaction,
    at: u64,
    job: &Job,
    failure: Failure,
) -> Result<Option<Kept>, MailError> {
    if job.spare {
        return Ok(None);
    }
    let kept = Kept {
        start: failure.of.start,
        end: failure.of.end,
        bound: job.bound,
        overflowed: failure.overflowed,
        exact: failure.exact,
        may_overflow: failure.may_overflow,
        reason: failure.reason,
        asked_again: false,
        read: 0,
        fetches_left: 0,
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
    let is_free = tx.open_table(KEPT)?.get(at)?.is_none();
    let place = if is_free { at } else { fresh(tx)? };
    // Spare digests that came before the range was known to be kept.
    let mut spares: Vec<Read> = Vec::new();
    for entry in tx.open_table(SPARES)?.iter()? {
        spares.push(decode(entry?.1.value())?);
    }
    for Read { of, found, .. } in spares {
        add_read(tx, place, &mut keeping, &stride(of), &found)?;
    }
    settle(tx, place, &keeping)?;
    Ok((!keeping.is_read()).then_some(keeping.kept))
}

/// A digest that was asked for again and gave no messages either.
fn answered_again(
    tx: &WriteTransaction,
    number: u64,
    now: Kept,
) -> Result<Option<Kept>, MailError> {
    let known: Option<Keeping> = stored(&tx.open_table(KEPT)?, number)?;
    // Read meanwhile: nothing is missing.
    let Some(mut keeping) = known else {
        return Ok(None);
    };
    if now.range() == keeping.kept.range() {
        let read = keeping.kept.read;
        keeping.kept = Kept {
            read,
            ..now.clone()
        };
    }
    settle(tx, number, &keeping)?;
    Ok(Some(now))
}

/// Writes a kept range, or takes it out where nothing is left to be read.
fn settle(tx: &WriteTransaction, place: u64, keeping: &Keeping) -> Result<(), MailError> {
    if keeping.is_read() {
        return forget(tx, place);
    }
    let mut keeping = keeping.clone();
    keeping.kept.asked_again = is_awaited(tx, place)?;
    tx.open_table(KEPT)?.insert(place, &encode(&keeping)?[..])?;
    Ok(())
}

fn forget(tx: &WriteTransaction, place: u64) -> Result<(), MailError> {
    tx.open_table(KEPT)?.remove(place)?;
    tx.open_table(FOUND)?
        .retain_in((place, 0)..=(place, u64::MAX), |_, _| false)?;
    Ok(())
}

/// Whether a request for a kept range is open.
fn is_awaited(tx: &WriteTransaction, place: u64) -> Result<bool, MailError> {
    for entry in tx.open_table(JOBS)?.iter()? {
        let job: Job = decode(entry?.1.value())?;
        if job.again == Some(place) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds what a digest covered and held to a kept range.
fn add_read(
    tx: &WriteTransaction,
    place: u64,
    keeping: &mut Keeping,
    of: &Stride,
    found: &[u64],
) -> Result<(), MailError> {
    let range = keeping.kept.range();
    if of.end <= range.start || range.end <= of.start {
        return Ok(());
    }
    let mut table = tx.open_table(FOUND)?;
    for index in found.iter().filter(|index| range.contains(*index)) {
        if table.insert((place, *index), ())?.is_none() {
            keeping.kept.read += 1;
        }
    }
    keeping.covered.push(numbers(of));
    Ok(())
}

/// Notes the messages that a digest covered, and the places of those that are hers.
pub(super) fn note_read(
    tx: &WriteTransaction,
    at: u64,
    job: &Job,
    of: &Stride,
    found: &[u64],
) -> Result<(), MailError> {
    let mut ranges: Vec<(u64, Keeping)> = Vec::new();
    for entry in tx.open_table(KEPT)?.iter()? {
        let (place, keeping) = entry?;
        ranges.push((place.value(), decode(keeping.value())?));
    }
    for (place, mut keeping) in ranges {
        add_read(tx, place, &mut keeping, of, found)?;
        settle(tx, place, &keeping)?;
    }
    let (true, Some(turn)) = (job.spare, job.turn) else {
        return Ok(());
    };
    let mut spares = tx.open_table(SPARES)?;
    let oldest = turn.saturating_sub(schedule::fetches(schedule::MAX_LEVELS));
    let mut old = Vec::new();
    for entry in spares.iter()? {
        let (number, read) = entry?;
        match decode::<Read>(read.value())?.turn < oldest {
            true => old.push(number.value()),
            false => break,
        }
    }
    for number in old {
        spares.remove(number)?;
    }
    let (of, found) = (numbers(of), found.to_vec());
    spares.insert(at, &encode(&Read { of, turn, found })?[..])?;
    Ok(())
}

/// A request for a kept range is made no more: the range is kept as it was.
pub(super) fn given_up(tx: &WriteTransaction, place: u64) -> Result<(), MailError> {
    let known: Option<Keeping> = stored(&tx.open_table(KEPT)?, place)?;
    known.map_or(Ok(()), |keeping| settle(tx, place, &keeping))
}

/// Keeps the range of a request that the server will never take.
pub(super) fn refused(
    tx: &WriteTransaction,
    at: u64,
    job: &Job,
    reason: &str,
) -> Result<(), MailError> {
    // What was asked for again is kept as it was.
    if let Some(place) = job.again {
        return given_up(tx, place);
    }
    let failure = Failure {
        of: job.stride(),
        overflowed: None,
        exact: false,
        may_overflow: false,
        reason: reason.to_owned(),
    };
    keep(tx, at, job, failure).map(drop)
}
