//! Messages that the board keeps no more: what was missed is noted, and requests begin behind them.
//!
//! Requests change with the board's first message alone, which everybody knows.

use super::kept;
use super::requests::{Job, add, fresh};
use super::{CURSOR, FIRST, JOBS, LENGTH, STATE, decode, number};
use crate::MailError;
use omr_protocol::Stride;
use redb::{ReadableTable, WriteTransaction};
use std::ops::Range;

/// Notes that the board begins at `first`: moves the cursor and open requests there, and keeps the ranges that were not
/// fetched in time, which it gives.
pub(super) fn begin_at(
    tx: &WriteTransaction,
    first: u64,
    bound: u32,
) -> Result<Vec<Range<u64>>, MailError> {
    let cursor = {
        let mut state = tx.open_table(STATE)?;
        let (cursor, length) = (number(&state, CURSOR)?, number(&state, LENGTH)?);
        if number(&state, FIRST)? < first {
            state.insert(FIRST, first)?;
        }
        state.insert(CURSOR, cursor.max(first))?;
        state.insert(LENGTH, length.max(first))?;
        cursor
    };
    let mut missed = Vec::new();
    for (at, job) in begun_before(tx, first)? {
        tx.open_table(JOBS)?.remove(at)?;
        let rest = Stride::of_class(first..job.end.max(first), job.step.max(1), job.start);
        if rest.count() > 0 {
            let anew = Job::new(rest, job.bound);
            add(
                tx,
                Job {
                    again: job.again,
                    spare: job.spare,
                    turn: job.turn,
                    ..anew
                },
            )?;
        }
        let end = job.end.min(first);
        match job.again {
            Some(place) => kept::given_up(tx, place)?,
            None if !job.spare => missed.push(job.start..end),
            None => {}
        }
    }
    if cursor < first {
        missed.push(cursor..first);
    }
    for range in &missed {
        let reason = format!("expired before it was fetched: the board begins at {first}");
        let job = Job::new(Stride::new(range.clone(), 1), bound);
        kept::refused(tx, fresh(tx)?, &job, &reason)?;
    }
    Ok(missed)
}

/// Requests without an answer that ask for messages before `first`.
fn begun_before(tx: &WriteTransaction, first: u64) -> Result<Vec<(u64, Job)>, MailError> {
    let mut found = Vec::new();
    for entry in tx.open_table(JOBS)?.iter()? {
        let (at, job) = entry?;
        let job: Job = decode(job.value())?;
        if !job.fetched && job.start < first {
            found.push((at.value(), job));
        }
    }
    Ok(found)
}
