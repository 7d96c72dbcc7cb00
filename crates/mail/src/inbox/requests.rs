//! Requests: what the network half of a fetch sees of an inbox. Nothing here can name a message.

use super::{CURSOR, DIGESTS, JOBS, Kept, NEXT_JOB, RECORDS, STATE, decode, encode, write};
use crate::MailError;
use redb::{Database, ReadableDatabase, ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};
use std::ops::Range;

const SESSION: &str = "session";

/// A request for a digest: on the disk before the server hears of it, so that a killed fetch asks again under
/// the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) request_id: [u8; 16],
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) bound: u32,
    /// Whether its digest is here.
    pub(crate) fetched: bool,
    /// The kept range that it asks for again, by number.
    pub(crate) again: Option<u64>,
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
}

/// The state of requests: ranges, ids and digests that nobody has decoded.
#[derive(Clone, Copy)]
pub struct Requests<'a> {
    db: &'a Database,
}

impl<'a> Requests<'a> {
    pub(super) fn new(db: &'a Database) -> Self {
        Self { db }
    }

    /// The first message never asked for.
    ///
    /// Errors: `Database`.
    pub fn cursor(&self) -> Result<u64, MailError> {
        let state = self.db.begin_read()?.open_table(STATE)?;
        Ok(state.get(CURSOR)?.map_or(0, |at| at.value()))
    }

    /// Notes requests for all messages from the cursor to `messages`, the board's length, and moves the
    /// cursor there. Depends on these numbers alone.
    ///
    /// Errors: `Shorter`, `Database`.
    pub(crate) fn plan(&self, messages: u64, bound: u32, most: u64) -> Result<(), MailError> {
        write(self.db, |tx| {
            let cursor = tx
                .open_table(STATE)?
                .get(CURSOR)?
                .map_or(0, |at| at.value());
            if messages < cursor {
                return Err(MailError::Shorter {
                    expected: cursor,
                    found: messages,
                });
            }
            let mut start = cursor;
            while start < messages {
                let end = messages.min(start.saturating_add(most.max(1)));
                add(tx, start..end, bound, None)?;
                start = end;
            }
            tx.open_table(STATE)?.insert(CURSOR, messages)?;
            Ok(())
        })
    }

    /// Requests whose digests are not here, oldest first.
    pub(crate) fn open(&self) -> Result<Vec<(u64, Job)>, MailError> {
        let jobs = self.db.begin_read()?.open_table(JOBS)?;
        let mut open = Vec::new();
        for entry in jobs.iter()? {
            let (number, job) = entry?;
            let job: Job = decode(job.value())?;
            if !job.fetched {
                open.push((number.value(), job));
            }
        }
        Ok(open)
    }

    /// Keeps a digest as it came.
    pub(crate) fn keep(&self, number: u64, digest: &[u8]) -> Result<(), MailError> {
        self.change(number, |job| job.fetched = true, Some(digest))
    }

    /// A request that the server has lost or given up: another id asks for the same.
    pub(crate) fn renew(&self, number: u64) -> Result<(), MailError> {
        let id = omr_remote::random_id();
        self.change(number, |job| job.request_id = id, None)
    }

    fn change(
        &self,
        number: u64,
        change: impl FnOnce(&mut Job),
        digest: Option<&[u8]>,
    ) -> Result<(), MailError> {
        write(self.db, |tx| {
            let mut jobs = tx.open_table(JOBS)?;
            let Some(mut job) = stored::<Job>(&jobs, number)? else {
                return Ok(());
            };
            change(&mut job);
            jobs.insert(number, &encode(&job)?[..])?;
            if let Some(digest) = digest {
                tx.open_table(DIGESTS)?.insert(number, digest)?;
            }
            Ok(())
        })
    }

    pub(crate) fn session(&self) -> Result<Option<Session>, MailError> {
        let records = self.db.begin_read()?.open_table(RECORDS)?;
        let bytes = records.get(SESSION)?;
        bytes.map(|bytes| decode(bytes.value())).transpose()
    }

    pub(crate) fn set_session(&self, session: Option<&Session>) -> Result<(), MailError> {
        write(self.db, |tx| {
            let mut records = tx.open_table(RECORDS)?;
            match session {
                Some(session) => drop(records.insert(SESSION, &encode(session)?[..])?),
                None => drop(records.remove(SESSION)?),
            }
            Ok(())
        })
    }

    /// Keeps a digest that was cut off a session, as the answer to a request that nobody need make.
    pub(crate) fn keep_cut(
        &self,
        session: &Session,
        range: Range<u64>,
        bound: u32,
        digest: &[u8],
    ) -> Result<(), MailError> {
        write(self.db, |tx| {
            if !range.is_empty() {
                let end = range.end;
                let number = add(tx, range, bound, None)?;
                let mut jobs = tx.open_table(JOBS)?;
                if let Some(mut job) = stored::<Job>(&jobs, number)? {
                    job.fetched = true;
                    jobs.insert(number, &encode(&job)?[..])?;
                }
                tx.open_table(DIGESTS)?.insert(number, digest)?;
                let mut state = tx.open_table(STATE)?;
                let cursor = state.get(CURSOR)?.map_or(0, |at| at.value());
                state.insert(CURSOR, cursor.max(end))?;
            }
            tx.open_table(RECORDS)?
                .insert(SESSION, &encode(session)?[..])?;
            Ok(())
        })
    }
}

/// A record of a table by number.
pub(super) fn stored<T: serde::de::DeserializeOwned>(
    table: &impl ReadableTable<u64, &'static [u8]>,
    number: u64,
) -> Result<Option<T>, MailError> {
    let bytes = table.get(number)?;
    bytes.map(|bytes| decode(bytes.value())).transpose()
}

/// Notes a request; gives its number, which no other ever has.
pub(super) fn add(
    tx: &WriteTransaction,
    range: Range<u64>,
    bound: u32,
    again: Option<u64>,
) -> Result<u64, MailError> {
    let mut state = tx.open_table(STATE)?;
    let number = state.get(NEXT_JOB)?.map_or(1, |next| next.value());
    state.insert(NEXT_JOB, number + 1)?;
    let job = Job {
        request_id: omr_remote::random_id(),
        start: range.start,
        end: range.end,
        bound,
        fetched: false,
        again,
    };
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
    add(tx, kept.range(), bound, Some(number))?;
    Ok(true)
}
