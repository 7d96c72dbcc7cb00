//! Kept ranges: those whose digests gave no messages, and what of them came since.

use super::requests::{Job, add, ask_again, fresh, stored};
use super::{
    CURSOR, DIGESTS, FIRST, FOUND, Inbox, JOBS, KEPT, LEVELS, SPARES, STATE, TURN, decode, encode,
    number, schedule,
};
use crate::MailError;
use omr_protocol::Stride;
use redb::{ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A range whose digest gave no messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// First message.
    pub start: u64,
    /// The one after the last.
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
    /// Whether the board keeps none of its messages any more.
    #[serde(default)]
    pub expired: bool,
}

impl Kept {
    /// Its range.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start..self.end
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
        reason: reason.to_owned(),
    };
    keep(tx, at, job, failure).map(drop)
}

impl Inbox {
    /// Ranges whose digests gave no messages and that did not come since.
    ///
    /// Errors: `Damaged`, `Database`, `Record`.
    pub fn kept(&self) -> Result<Vec<Kept>, MailError> {
        self.read(|tx| {
            let state = tx.open_table(STATE)?;
            let levels = u8::try_from(number(&state, LEVELS)?).unwrap_or(0);
            let (turn, fetches) = (number(&state, TURN)?, schedule::fetches(levels));
            let first = number(&state, FIRST)?;
            let mut ranges = Vec::new();
            for entry in tx.open_table(KEPT)?.iter()? {
                let keeping: Keeping = decode(entry?.1.value())?;
                let expired = keeping.kept.end <= first;
                let last = keeping.turn.filter(|_| !expired);
                let last = last.map_or(0, |made| made + fetches);
                ranges.push(Kept {
                    fetches_left: last.saturating_sub(turn),
                    expired,
                    ..keeping.kept
                });
            }
            ranges.sort_by_key(|kept| kept.start);
            Ok(ranges)
        })
    }

    /// **A person's act.** Has the next fetch ask for every overflowed range again, with a larger bound: that
    /// tells the detector that the old bound did not do, so that whoever sent the messages, if it is the
    /// detector or is in league with it, learns something of her secret. Gives the number of ranges.
    ///
    /// Errors: `Damaged`, `Database`, `Record`.
    pub fn raise_bound(&self, bound: u32) -> Result<usize, MailError> {
        self.again(|kept| (kept.overflowed.is_some() && bound > kept.bound).then_some(bound))
    }

    /// **A person's act.** Has the next fetch ask for every damaged range again, as it was asked for: that
    /// tells the detector that a digest did not decode.
    ///
    /// Errors: `Damaged`, `Database`, `Record`.
    pub fn retry_damaged(&self) -> Result<usize, MailError> {
        self.again(|kept| kept.overflowed.is_none().then_some(kept.bound))
    }

    fn again(&self, bound: impl Fn(&Kept) -> Option<u32>) -> Result<usize, MailError> {
        self.write(|tx| {
            let first = number(&tx.open_table(STATE)?, FIRST)?;
            let mut asked = 0;
            for (place, mut keeping) in keepings(tx)? {
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

    /// **A person's act.** Has the next fetch ask for a range again, `most` messages a request, whatever is
    /// known of it: the detector learns that somebody wants these messages once more, and from `most` and the
    /// bound how. Gives the number of requests.
    ///
    /// Errors: `Range` unless it was asked for before; `Damaged`, `Database`, `Record`.
    pub fn again_range(
        &self,
        range: Range<u64>,
        bound: u32,
        most: u64,
    ) -> Result<usize, MailError> {
        self.write(|tx| {
            let cursor = number(&tx.open_table(STATE)?, CURSOR)?;
            if range.start >= range.end || range.end > cursor {
                return Err(MailError::Range {
                    expected: cursor,
                    found: range.clone(),
                });
            }
            let ranges = keepings(tx)?;
            let mut asked = 0;
            for of in Stride::new(range, 1).pieces(most) {
                let holds = |(_, known): &&(u64, Keeping)| {
                    known.kept.start <= of.start && of.end <= known.kept.end
                };
                let again = ranges.iter().find(holds).map(|(place, _)| *place);
                let job = Job::new(of, bound);
                add(tx, Job { again, ..job })?;
                asked += 1;
            }
            for (place, keeping) in &ranges {
                settle(tx, *place, keeping)?;
            }
            Ok(asked)
        })
    }

    /// **A person's act.** Forgets kept ranges, and requests that the server has not answered, within a
    /// range: its messages are not asked for any more. Gives how many of each there were.
    ///
    /// Errors: `NotKept` where there is neither; `Damaged`, `Database`, `Record`.
    pub fn drop_range(&self, range: Range<u64>) -> Result<(usize, usize), MailError> {
        let within = |start, end| range.start <= start && end <= range.end;
        self.write(|tx| {
            let mut dropped = (0, 0);
            for (place, keeping) in keepings(tx)? {
                if within(keeping.kept.start, keeping.kept.end) {
                    forget(tx, place)?;
                    dropped.0 += 1;
                }
            }
            let mut jobs = tx.open_table(JOBS)?;
            let mut gone = Vec::new();
            for entry in jobs.iter()? {
                let (number, job) = entry?;
                let job: Job = decode(job.value())?;
                if !job.spare && within(job.start, job.end) {
                    gone.push(number.value());
                }
            }
            for number in gone {
                jobs.remove(number)?;
                tx.open_table(DIGESTS)?.remove(number)?;
                dropped.1 += 1;
            }
            match dropped {
                (0, 0) => Err(MailError::NotKept {
                    found: range.clone(),
                }),
                dropped => Ok(dropped),
            }
        })
    }
}

fn keepings(tx: &WriteTransaction) -> Result<Vec<(u64, Keeping)>, MailError> {
    let mut ranges = Vec::new();
    for entry in tx.open_table(KEPT)?.iter()? {
        let (place, keeping) = entry?;
        ranges.push((place.value(), decode(keeping.value())?));
    }
    Ok(ranges)
}
