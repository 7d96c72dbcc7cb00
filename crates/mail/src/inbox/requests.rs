//! Requests: what the network half of a fetch sees of an inbox. Nothing here can name a message.

use super::database::Store;
use super::expired;
use super::kept::{self, Kept};
use super::schedule::{self, Spare};
use super::{
    CURSOR, DIGESTS, FIRST, JOBS, LENGTH, LEVELS, MARKS, NEXT_JOB, RECORDS, STATE, TURN, decode,
    encode, number,
};
use crate::MailError;
use omr_protocol::Mismatch;
use omr_protocol::Stride;
use redb::{ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};
use std::ops::Range;

const SESSION: &str = "session";
const ORDERS: &str = "orders";

/// Failures after which a spare request is given up: nothing is lost by it alone.
const TRIES: u32 = 3;

/// A request for a digest: on the disk before the server hears of it, so that a killed fetch asks again under
/// the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) request_id: [u8; 16],
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Every so many-th message; 0 for all.
    #[serde(default)]
    pub(crate) step: u64,
    pub(crate) bound: u32,
    /// Whether its digest is here.
    pub(crate) fetched: bool,
    /// The kept range that it asks for again, by number.
    pub(crate) again: Option<u64>,
    /// Whether it is a spare one: its messages were or are asked for by others.
    #[serde(default)]
    pub(crate) spare: bool,
    /// The fetch that made it.
    #[serde(default)]
    pub(crate) turn: Option<u64>,
    /// How often the server gave it up.
    #[serde(default)]
    pub(crate) failures: u32,
}

impl Job {
    /// Asks for messages, under a fresh id.
    pub(super) fn new(of: Stride, bound: u32) -> Self {
        Self {
            request_id: omr_remote::random_id(),
            start: of.start,
            end: of.end,
            step: of.step(),
            bound,
            fetched: false,
            again: None,
            spare: false,
            turn: None,
            failures: 0,
        }
    }

    /// The messages that the request covers.
    pub(crate) fn stride(&self) -> Stride {
        Stride::new(self.start..self.end, self.step)
    }
}

/// Fetches that take whole batches alone, as an order has them made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batches {
    /// Messages of a batch.
    pub(crate) messages: u64,
    /// The order's request id.
    pub(crate) order: [u8; 16],
}

impl Batches {
    /// The messages of a board that fetches take.
    fn whole(self, board: u64) -> u64 {
        board / self.messages * self.messages
    }

    /// Requests for messages: those of one batch each, whole ones under the id that the order has them made under.
    fn pieces(self, of: Range<u64>, bound: u32) -> Vec<Job> {
        let mut jobs = Vec::new();
        let mut start = of.start;
        while start < of.end {
            let end = self.whole(start).saturating_add(self.messages).min(of.end);
            let mut job = Job::new(Stride::new(start..end, 1), bound);
            if end - start == self.messages {
                job.request_id = omr_remote::order_batch_id(&self.order, start);
            }
            jobs.push(job);
            start = end;
        }
        jobs
    }
}

/// The form of all requests of a fetch: public numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) bound: u32,
    /// Most messages of a digest.
    pub(crate) most: u64,
    /// Levels of spare requests.
    pub(crate) levels: u8,
    /// Whether it takes whole batches alone.
    pub(crate) batches: Option<Batches>,
}

impl Form {
    /// Requests for messages.
    fn pieces(&self, of: Range<u64>) -> Vec<Job> {
        match self.batches {
            Some(batches) => batches.pieces(of, self.bound),
            None => {
                let pieces = Stride::new(of, 1).pieces(self.most);
                pieces.map(|of| Job::new(of, self.bound)).collect()
            }
        }
    }
}

/// An open session with the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) request_id: [u8; 16],
    pub(crate) start: u64,
    /// The first message that no digest here covers.
    pub(crate) next: u64,
    /// The server's name for it, once it is open.
    pub(crate) session_id: Option<[u8; 16]>,
    /// Digests that are here.
    pub(crate) cuts: u64,
    /// Most messages of a digest; 0: as many as come.
    #[serde(default)]
    pub(crate) room: u32,
}

impl Session {
    /// One from message `start` on that the server has not heard of.
    pub(crate) fn new(start: u64, room: u32) -> Self {
        Self {
            request_id: omr_remote::random_id(),
            start,
            next: start,
            session_id: None,
            cuts: 0,
            room,
        }
    }
}

/// The state of requests: ranges, ids and digests that nobody has decoded.
#[derive(Clone, Copy)]
pub struct Requests<'a> {
    store: &'a Store,
}

impl<'a> Requests<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// The first message never asked for.
    ///
    /// Errors: `Damaged`, `Database`.
    pub fn cursor(&self) -> Result<u64, MailError> {
        self.store.read(|tx| number(&tx.open_table(STATE)?, CURSOR))
    }

    /// Notes requests for all messages from the cursor to the end of the board, and the spare request whose turn it is,
    /// and moves the cursor there. Depends on the board's first and last message and on how often it was called, on
    /// nothing else. Gives the ranges that expired before they were fetched.
    ///
    /// Errors: `Shorter`, `Damaged`, `Database`.
    pub(crate) fn plan(
        &self,
        board: Range<u64>,
        form: &Form,
    ) -> Result<Vec<Range<u64>>, MailError> {
        let messages = board.end;
        self.store.write(|tx| {
            let missed = expired::begin_at(tx, board.start, form.bound)?;
            let (cursor, turn) = {
                let state = tx.open_table(STATE)?;
                (number(&state, CURSOR)?, number(&state, TURN)?)
            };
            if messages < cursor {
                return Err(MailError::Shorter(Mismatch::new(cursor, messages)));
            }
            let whole = form.batches.map(|batches| batches.whole(messages));
            let messages = whole.unwrap_or(messages).max(cursor);
            for job in form.pieces(cursor..messages) {
                let turn = Some(turn);
                add(tx, Job { turn, ..job })?;
            }
            tx.open_table(STATE)?.insert(CURSOR, messages)?;
            plan_spare(tx, messages, form)?;
            Ok(missed)
        })
    }

    /// What ids of the inbox's orders are made from: random, and always the same.
    pub(crate) fn order_seed(&self) -> Result<[u8; 16], MailError> {
        self.store.write(|tx| {
            let mut records = tx.open_table(RECORDS)?;
            let known = records.get(ORDERS)?;
            let known = known.map(|bytes| decode(bytes.value())).transpose()?;
            if let Some(seed) = known {
                return Ok(seed);
            }
            let seed = omr_remote::random_id();
            records.insert(ORDERS, &encode(&seed)?[..])?;
            Ok(seed)
        })
    }

    /// Notes that the board begins at `first`; gives the ranges that expired before they were fetched.
    pub(crate) fn begin_at(&self, first: u64, bound: u32) -> Result<Vec<Range<u64>>, MailError> {
        self.store.write(|tx| expired::begin_at(tx, first, bound))
    }

    /// Requests whose digests are not here, oldest first.
    pub(crate) fn open(&self) -> Result<Vec<(u64, Job)>, MailError> {
        self.store.read(|tx| {
            let mut open = Vec::new();
            for entry in tx.open_table(JOBS)?.iter()? {
                let (number, job) = entry?;
                let job: Job = decode(job.value())?;
                if !job.fetched {
                    open.push((number.value(), job));
                }
            }
            Ok(open)
        })
    }

    /// Keeps a digest as it came.
    pub(crate) fn keep(&self, number: u64, digest: &[u8]) -> Result<(), MailError> {
        self.store.write(|tx| {
            change(tx, number, |job| job.fetched = true)?;
            tx.open_table(DIGESTS)?.insert(number, digest)?;
            Ok(())
        })
    }

    /// A request that the server does not know any more: another id asks for the same.
    pub(crate) fn renew(&self, number: u64) -> Result<(), MailError> {
        let id = omr_remote::random_id();
        self.store
            .write(|tx| change(tx, number, |job| job.request_id = id))
    }

    /// A request that the server gave up. Another id asks for the same; a spare one is given up in the end.
    pub(crate) fn failed(&self, number: u64) -> Result<(), MailError> {
        let id = omr_remote::random_id();
        self.store.write(|tx| {
            change(tx, number, |job| {
                job.request_id = id;
                job.failures += 1;
            })?;
            let mut jobs = tx.open_table(JOBS)?;
            let job: Option<Job> = stored(&jobs, number)?;
            if job.is_some_and(|job| job.spare && job.failures >= TRIES) {
                jobs.remove(number)?;
            }
            Ok(())
        })
    }

    /// A request that the server will never take: it is made no more, and its range is kept.
    pub(crate) fn refused(&self, number: u64, reason: &str) -> Result<(), MailError> {
        self.store.write(|tx| {
            let job: Option<Job> = {
                let mut jobs = tx.open_table(JOBS)?;
                let job = stored(&jobs, number)?;
                jobs.remove(number)?;
                job
            };
            match job {
                Some(job) => kept::refused(tx, number, &job, reason),
                None => Ok(()),
            }
        })
    }

    pub(crate) fn session(&self) -> Result<Option<Session>, MailError> {
        self.store.read(|tx| {
            let records = tx.open_table(RECORDS)?;
            let bytes = records.get(SESSION)?;
            bytes.map(|bytes| decode(bytes.value())).transpose()
        })
    }

    pub(crate) fn set_session(&self, session: Option<&Session>) -> Result<(), MailError> {
        self.store.write(|tx| {
            let mut records = tx.open_table(RECORDS)?;
            match session {
                Some(session) => drop(records.insert(SESSION, &encode(session)?[..])?),
                None => drop(records.remove(SESSION)?),
            }
            Ok(())
        })
    }

    /// Keeps a digest that was cut off a session, as the answer to a request that nobody need make, and notes
    /// the spare request whose turn it is.
    pub(crate) fn keep_cut(
        &self,
        session: &Session,
        range: Range<u64>,
        form: &Form,
        digest: &[u8],
    ) -> Result<(), MailError> {
        self.store.write(|tx| {
            let (cursor, turn) = {
                let state = tx.open_table(STATE)?;
                (number(&state, CURSOR)?, number(&state, TURN)?)
            };
            let end = cursor.max(range.end);
            if !range.is_empty() {
                let mut job = Job::new(Stride::new(range, 1), form.bound);
                (job.fetched, job.turn) = (true, Some(turn));
                let number = add(tx, job)?;
                tx.open_table(DIGESTS)?.insert(number, digest)?;
                tx.open_table(STATE)?.insert(CURSOR, end)?;
            }
            tx.open_table(RECORDS)?
                .insert(SESSION, &encode(session)?[..])?;
            plan_spare(tx, end, form)
        })
    }
}

/// Notes the spare request of this fetch, which covers the board up to `messages`, and that it was made.
fn plan_spare(tx: &WriteTransaction, messages: u64, form: &Form) -> Result<(), MailError> {
    let (turn, length, kept_from) = {
        let state = tx.open_table(STATE)?;
        let at = |name| number(&state, name);
        (at(TURN)?, at(LENGTH)?, at(FIRST)?)
    };
    let first = {
        let mut marks = tx.open_table(MARKS)?;
        marks.insert(turn, length)?;
        let oldest = (turn + 1).saturating_sub(schedule::fetches(schedule::MAX_LEVELS));
        marks.retain(|turn, _| turn >= oldest)?;
        let spare = Spare::new(turn, form.levels);
        let from = spare.map(|spare| (turn + 1).saturating_sub(spare.fetches));
        // Where there were not so many fetches yet, all of them.
        let first = marks.range(from.unwrap_or(turn)..)?.next().transpose()?;
        spare.zip(first.map(|(_, length)| length.value().max(kept_from)))
    };
    if let Some((spare, first)) = first
        && first < messages
    {
        for of in spare.of(first..messages).pieces(form.most) {
            let mut job = Job::new(of, form.bound);
            (job.spare, job.turn) = (true, Some(turn));
            add(tx, job)?;
        }
    }
    let mut state = tx.open_table(STATE)?;
    state.insert(TURN, turn + 1)?;
    state.insert(LENGTH, messages.max(length))?;
    state.insert(LEVELS, u64::from(form.levels))?;
    Ok(())
}

/// Changes a request, if it is there.
fn change(
    tx: &WriteTransaction,
    number: u64,
    change: impl FnOnce(&mut Job),
) -> Result<(), MailError> {
    let mut jobs = tx.open_table(JOBS)?;
    let Some(mut job) = stored::<Job>(&jobs, number)? else {
        return Ok(());
    };
    change(&mut job);
    jobs.insert(number, &encode(&job)?[..])?;
    Ok(())
}

/// A record of a table by number.
pub(super) fn stored<T: serde::de::DeserializeOwned>(
    table: &impl ReadableTable<u64, &'static [u8]>,
    number: u64,
) -> Result<Option<T>, MailError> {
    let bytes = table.get(number)?;
    bytes.map(|bytes| decode(bytes.value())).transpose()
}

/// A number that no request and no kept range ever had.
pub(super) fn fresh(tx: &WriteTransaction) -> Result<u64, MailError> {
    let mut state = tx.open_table(STATE)?;
    let next = number(&state, NEXT_JOB)?.max(1);
    state.insert(NEXT_JOB, next + 1)?;
    Ok(next)
}

/// Notes a request; gives its number.
pub(super) fn add(tx: &WriteTransaction, job: Job) -> Result<u64, MailError> {
    let number = fresh(tx)?;
    tx.open_table(JOBS)?.insert(number, &encode(&job)?[..])?;
    Ok(number)
}

/// Asks for a kept range again, unless an answer is awaited.
pub(super) fn ask_again(
    tx: &WriteTransaction,
    number: u64,
    kept: &mut Kept,
    bound: u32,
) -> Result<bool, MailError> {
    if kept.asked_again {
        return Ok(false);
    }
    kept.asked_again = true;
    let job = Job::new(Stride::new(kept.range(), 1), bound);
    let again = Some(number);
    add(tx, Job { again, ..job })?;
    Ok(true)
}
