//! The inbox: what came, and where a fetch stands, in one database whose every step is a
//! transaction.

mod adopt;
mod database;
mod expired;
mod kept;
mod requests;
mod schedule;
mod take;
mod view;

pub use kept::Kept;
pub use requests::Requests;
pub use schedule::MAX_LEVELS;
pub use take::{Outcome, Reader, Taken};
pub use view::{Incomplete, Listed};

pub(crate) use requests::{Batches, Form, Job, Session};
pub(crate) use schedule::largest_step;

use crate::{Home, MailError};
use database::{Store, put_aside};
use redb::{ReadTransaction, ReadableTable, TableDefinition, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// Name of the database in the folder.
pub(crate) const FILE: &str = "inbox.redb";

/// Numbers by name: `cursor`, the first message never asked for; `next_job`; those of the spare requests.
const STATE: TableDefinition<&str, u64> = TableDefinition::new("state");
/// The session, if one is open.
const RECORDS: TableDefinition<&str, &[u8]> = TableDefinition::new("records");
/// Requests whose digests are not taken in yet, in the order they were made.
const JOBS: TableDefinition<u64, &[u8]> = TableDefinition::new("jobs");
/// Digests of the requests, once they are here.
const DIGESTS: TableDefinition<u64, &[u8]> = TableDefinition::new("digests");
/// Messages by number: what is listed.
const MESSAGES: TableDefinition<u64, &[u8]> = TableDefinition::new("messages");
/// Contents of the messages.
const BODIES: TableDefinition<u64, &[u8]> = TableDefinition::new("bodies");
/// Indices on the board of all that came.
const SEEN: TableDefinition<u64, ()> = TableDefinition::new("seen");
/// Hashes of sealed payloads that came: a copy at another index is no new message.
const COPIES: TableDefinition<&[u8], u64> = TableDefinition::new("copies");
/// Parts of files that are not whole, by file and index.
const PIECES: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("pieces");
/// What did not open, by index, with the reason.
const UNOPENED: TableDefinition<u64, &str> = TableDefinition::new("unopened");
/// Ranges whose digests did not decode, by the job's number.
const KEPT: TableDefinition<u64, &[u8]> = TableDefinition::new("kept");
/// What digests that came later hold of them: the range's number, and a place on the board.
const FOUND: TableDefinition<(u64, u64), ()> = TableDefinition::new("found");
/// What the last spare digests hold, by the job's number.
const SPARES: TableDefinition<u64, &[u8]> = TableDefinition::new("spares");
/// For the last fetches, by number: the first message that none before covered.
const MARKS: TableDefinition<u64, u64> = TableDefinition::new("marks");
/// Letters to retired addresses, by address and place on the board, with their numbers here.
const ADOPTED: TableDefinition<(&[u8], u64), u64> = TableDefinition::new("adopted");
/// Canaries by content.
pub(crate) const CANARIES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("canaries");

const CURSOR: &str = "cursor";
const NEXT_JOB: &str = "next_job";
/// Fetches so far.
const TURN: &str = "turn";
/// The board's length at the last of them.
const LENGTH: &str = "length";
/// Levels of spare requests at the last of them.
const LEVELS: &str = "levels";
/// The first message that the board keeps, as far as fetches know.
const FIRST: &str = "first";

/// A recipient's messages and the state of her requests.
pub struct Inbox {
    pub(crate) store: Store,
}

impl Inbox {
    /// Opens the inbox of a folder; makes an empty one where there is none.
    ///
    /// Errors: `File`, `Busy`, `Damaged`, `Database`.
    pub fn open(home: &Home) -> Result<Self, MailError> {
        let store = Store::open(&home.path(FILE))?;
        let inbox = Self { store };
        inbox.write(|tx| {
            tx.open_table(RECORDS)?;
            tx.open_table(JOBS)?;
            tx.open_table(DIGESTS)?;
            tx.open_table(MESSAGES)?;
            tx.open_table(BODIES)?;
            tx.open_table(SEEN)?;
            tx.open_table(COPIES)?;
            tx.open_table(PIECES)?;
            tx.open_table(UNOPENED)?;
            tx.open_table(KEPT)?;
            tx.open_table(FOUND)?;
            tx.open_table(SPARES)?;
            tx.open_table(MARKS)?;
            tx.open_table(CANARIES)?;
            tx.open_table(ADOPTED)?;
            let mut state = tx.open_table(STATE)?;
            if state.get(LENGTH)?.is_none() {
                let cursor = number(&state, CURSOR)?;
                state.insert(LENGTH, cursor)?;
            }
            Ok(())
        })?;
        Ok(inbox)
    }

    /// Puts the inbox of a folder aside, damaged as it may be, and begins an empty one in its place: the next
    /// fetch asks for all messages from `start` on. Gives the name that the old file has now.
    ///
    /// Errors: `Busy`, `File`, `Database`.
    pub fn rebuild(home: &Home, start: u64) -> Result<Option<PathBuf>, MailError> {
        let aside = put_aside(&home.path(FILE))?;
        Self::open(home)?.begin_at(start)?;
        Ok(aside)
    }

    /// What the network half of a fetch may see.
    #[must_use]
    pub fn requests(&self) -> Requests<'_> {
        Requests::new(&self.store)
    }

    /// Messages before `index` are never asked for: those of before the keys were made.
    ///
    /// Errors: `Damaged`, `Database`.
    pub fn begin_at(&self, index: u64) -> Result<(), MailError> {
        self.write(|tx| {
            let mut state = tx.open_table(STATE)?;
            for name in [CURSOR, LENGTH] {
                let at = number(&state, name)?;
                state.insert(name, at.max(index))?;
            }
            Ok(())
        })
    }

    /// Looks at one state of it.
    pub(crate) fn read<T>(
        &self,
        look: impl FnOnce(&ReadTransaction) -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        self.store.read(look)
    }

    /// One transaction: all of it or nothing is on the disk afterwards.
    pub(crate) fn write<T>(
        &self,
        steps: impl FnOnce(&WriteTransaction) -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        self.store.write(steps)
    }
}

/// A number of [`STATE`]; 0 where it was never set.
fn number(state: &impl ReadableTable<&'static str, u64>, name: &str) -> Result<u64, MailError> {
    Ok(state.get(name)?.map_or(0, |number| number.value()))
}

pub(crate) fn encode(record: &impl Serialize) -> Result<Vec<u8>, MailError> {
    serde_json::to_vec(record).map_err(MailError::Record)
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MailError> {
    serde_json::from_slice(bytes).map_err(MailError::Record)
}

/// The next number of a table that only grows.
fn next_number(table: &impl ReadableTable<u64, &'static [u8]>) -> Result<u64, MailError> {
    Ok(table.last()?.map_or(1, |(last, _)| last.value() + 1))
}
