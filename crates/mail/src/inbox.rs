//! What came, and where a fetch stands: one database, every step a transaction.

mod requests;
mod take;
mod view;

pub use requests::Requests;
pub use take::{Outcome, Reader, Taken};
pub use view::Listed;

pub(crate) use requests::{Job, Session};

use crate::{Home, MailError};
use redb::{Database, ReadableTable, TableDefinition, WriteTransaction};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Name of the database in the folder.
const FILE: &str = "inbox.redb";

/// Numbers by name: `cursor`, the first message never asked for; `next_job`.
const STATE: TableDefinition<&str, u64> = TableDefinition::new("state");
/// The session, if one is open.
const RECORDS: TableDefinition<&str, &[u8]> = TableDefinition::new("records");
/// Requests whose digests are not taken in yet, in the order they were made.
const JOBS: TableDefinition<u64, &[u8]> = TableDefinition::new("jobs");
/// Their digests, once here.
const DIGESTS: TableDefinition<u64, &[u8]> = TableDefinition::new("digests");
/// Messages by number: what is listed.
const MESSAGES: TableDefinition<u64, &[u8]> = TableDefinition::new("messages");
/// Their contents.
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
/// Canaries by content.
pub(crate) const CANARIES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("canaries");

const CURSOR: &str = "cursor";
const NEXT_JOB: &str = "next_job";

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
    /// damaged.
    pub overflowed: Option<u64>,
    /// The decoder's words.
    pub reason: String,
    /// Whether it is asked for again and the answer is awaited.
    pub asked_again: bool,
}

/// A recipient's messages and the state of her requests.
pub struct Inbox {
    pub(crate) db: Database,
}

impl Inbox {
    /// Opens the inbox of a folder; makes an empty one where there is none.
    ///
    /// Errors: `File`, `Busy`, `Database`.
    pub fn open(home: &Home) -> Result<Self, MailError> {
        let path = home.path(FILE);
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // Made here, so that nobody else may ever read it.
        options.open(&path).map_err(MailError::file(&path))?;
        let inbox = Self {
            db: Database::create(&path)?,
        };
        inbox.write(|tx| {
            tx.open_table(STATE)?;
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
            tx.open_table(CANARIES)?;
            Ok(())
        })?;
        Ok(inbox)
    }

    /// What the network half of a fetch may see.
    #[must_use]
    pub fn requests(&self) -> Requests<'_> {
        Requests::new(&self.db)
    }

    /// Messages before `index` are never asked for: those of before the keys were made.
    ///
    /// Errors: `Database`.
    pub fn begin_at(&self, index: u64) -> Result<(), MailError> {
        self.write(|tx| {
            let mut state = tx.open_table(STATE)?;
            let at = state.get(CURSOR)?.map_or(0, |at| at.value());
            state.insert(CURSOR, at.max(index))?;
            Ok(())
        })
    }

    /// One transaction: all of it or nothing is on the disk afterwards.
    pub(crate) fn write<T>(
        &self,
        steps: impl FnOnce(&WriteTransaction) -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        write(&self.db, steps)
    }
}

fn write<T>(
    db: &Database,
    steps: impl FnOnce(&WriteTransaction) -> Result<T, MailError>,
) -> Result<T, MailError> {
    let tx = db.begin_write()?;
    let result = steps(&tx)?;
    tx.commit()?;
    Ok(result)
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

impl Kept {
    /// Its range.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start..self.end
    }
}
