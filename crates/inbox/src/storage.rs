//! Where records are kept: tables of bytes, and transactions over them.

use crate::InboxError;
use std::ops::RangeInclusive;

/// A table of records. Keys are bytes and sorted as such: numbers are written with their largest byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Numbers, by name.
    State,
    /// Records, by name: the session, if one is open, the seed of the ids of orders, the places of letters whose
    /// messages the board no longer has, and the muted senders.
    Records,
    /// Requests whose digests, scans or answers were not decoded yet, in the order in which they were made.
    Jobs,
    /// The received digests, scans and answers of these requests.
    Digests,
    /// The entries of messages in the list, by number.
    Messages,
    /// The contents of messages.
    Bodies,
    /// Hashes of all received payloads, by their index on the board.
    Seen,
    /// Hashes of received sealed payloads: a copy at another index is not a new message.
    Copies,
    /// Parts of files that are incomplete, by file and index.
    Pieces,
    /// Payloads that could not be opened, by index, with the reason.
    Unopened,
    /// Ranges whose digests did not decode, by the job's number.
    Kept,
    /// Messages in kept ranges that later digests contained: the range's number, and a place on the board.
    Found,
    /// The contents of the last spare digests, by the job's number.
    Spares,
    /// The first message that no earlier fetch covered, for each of the last fetches, by number.
    Marks,
    /// Numbers of the letters to retired addresses, by address, hash of the content and place on the board.
    Adopted,
    /// Canaries, by content.
    Canaries,
    /// Running hashes of the board's log by the length of the board.
    Heads,
    /// Changes of the board's history that fetches found, in their order.
    Forks,
    /// The indices of messages that scans found and that no answer has contained yet, by the number of the scan's
    /// request.
    Waiting,
    /// The files of queries, by the number of the request.
    Queries,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 20] = [
        Self::State,
        Self::Records,
        Self::Jobs,
        Self::Digests,
        Self::Messages,
        Self::Bodies,
        Self::Seen,
        Self::Copies,
        Self::Pieces,
        Self::Unopened,
        Self::Kept,
        Self::Found,
        Self::Spares,
        Self::Marks,
        Self::Adopted,
        Self::Canaries,
        Self::Heads,
        Self::Forks,
        Self::Waiting,
        Self::Queries,
    ];

    /// Returns the name of this table in a storage.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Records => "records",
            Self::Jobs => "jobs",
            Self::Digests => "digests",
            Self::Messages => "messages",
            Self::Bodies => "bodies",
            Self::Seen => "seen",
            Self::Copies => "copies",
            Self::Pieces => "pieces",
            Self::Unopened => "unopened",
            Self::Kept => "kept",
            Self::Found => "found",
            Self::Spares => "spares",
            Self::Marks => "marks",
            Self::Adopted => "adopted",
            Self::Canaries => "canaries",
            Self::Heads => "heads",
            Self::Forks => "forks",
            Self::Waiting => "waiting",
            Self::Queries => "queries",
        }
    }
}

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// One state of all records.
pub trait Look {
    /// The error of reading or writing records.
    type Error: From<InboxError>;

    /// Returns the value of a key.
    ///
    /// Errors: those of the storage.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Returns all entries between two keys, both included, in their order.
    ///
    /// Errors: those of the storage.
    fn range(&self, table: Table, keys: RangeInclusive<&[u8]>) -> Result<Vec<Entry>, Self::Error>;

    /// Returns all entries in their order.
    ///
    /// Errors: those of the storage.
    fn all(&self, table: Table) -> Result<Vec<Entry>, Self::Error>;

    /// Returns the first entry.
    ///
    /// Errors: those of the storage.
    fn first(&self, table: Table) -> Result<Option<Entry>, Self::Error>;

    /// Returns the key of the last entry.
    ///
    /// Errors: those of the storage.
    fn last_key(&self, table: Table) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Returns the number of entries.
    ///
    /// Errors: those of the storage.
    fn count(&self, table: Table) -> Result<u64, Self::Error>;
}

/// A transaction that changes records.
pub trait Edit: Look {
    /// Sets the value of a key.
    ///
    /// Errors: those of the storage.
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Self::Error>;

    /// Removes a key and its value, if the table has it.
    ///
    /// Errors: those of the storage.
    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), Self::Error>;
}

/// A storage of records: a database, or [`crate::Memory`].
pub trait Storage {
    /// The error of reading or writing records.
    type Error: From<InboxError>;
    /// The view of a read.
    type Look<'a>: Look<Error = Self::Error>;
    /// A transaction.
    type Edit<'a>: Edit<Error = Self::Error>;

    /// Reads from one state of all records.
    ///
    /// Errors: those of `look`, and those of the storage.
    fn read<T>(
        &self,
        look: impl FnOnce(&Self::Look<'_>) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error>;

    /// Runs one transaction: all its changes are kept, or no change if it fails.
    ///
    /// Errors: those of `steps`, and those of the storage.
    fn write<T>(
        &self,
        steps: impl FnOnce(&mut Self::Edit<'_>) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error>;
}
