//! What a person can do about kept ranges.

use super::{Keeping, Kept, forget, settle};
use crate::MailError;
use crate::inbox::requests::{Job, add, ask_again};
use crate::inbox::{
    CURSOR, DIGESTS, FIRST, Inbox, JOBS, KEPT, LEVELS, STATE, TURN, decode, number, schedule,
};
use omr_protocol::Mismatch;
use omr_protocol::Stride;
use redb::{ReadableTable, WriteTransaction};
use std::ops::Range;

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
                return Err(MailError::Range(Mismatch::new(cursor, range.clone())));
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
                (0, 0) => Err(MailError::NotKept(range.clone())),
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
