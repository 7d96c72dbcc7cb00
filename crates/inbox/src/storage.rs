//! Where records are kept: tables of bytes, and transactions over them.

use crate::InboxError;
use std::ops::RangeInclusive;

/// A table of records. Keys are bytes and sorted as such: numbers are written with their largest byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Numbers by name.
    State,
    /// Records by name: the session, if one is open; what ids of orders are made from.
    Records,
    /// Requests whose digests are not taken in yet, in the order they were made.
    Jobs,
    /// Digests of the requests, once they are here.
    Digests,
    /// Messages by number: what is listed.
    Messages,
    /// Contents of the messages.
    Bodies,
    /// Hashes of all payloads that came, by their index on the board.
    Seen,
    /// Hashes of sealed payloads that came: a copy at another index is no new message.
    Copies,
    /// Parts of files that are not whole, by file and index.
    Pieces,
    /// What did not open, by index, with the reason.
    Unopened,
    /// Ranges whose digests did not decode, by the job's number.
    Kept,
    /// What digests that came later hold of them: the range's number, and a place on the board.
    Found,
    /// What the last spare digests hold, by the job's number.
    Spares,
    /// For the last fetches, by number: the first message that none before covered.
    Marks,
    /// Letters to retired addresses, by address, hash of the content and place on the board, with their numbers here.
    Adopted,
    /// Canaries by content.
    Canaries,
    /// Running hashes of the board's log by the length of the board.
    Heads,
    /// Changes of the board's history that fetches found, in their order.
    Forks,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 18] = [
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
    ];

    /// What a storage calls it.
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
        }
    }
}

/// A key and what stands there.
pub type Entry = (Vec<u8>, Vec<u8>);

/// One state of all records.
pub trait Look {
    /// Why records cannot be read or written.
    type Error: From<InboxError>;

    /// What stands at a key.
    ///
    /// Errors: the storage's.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    /// All entries between two keys, both included, in their order.
    ///
    /// Errors: the storage's.
    fn range(&self, table: Table, keys: RangeInclusive<&[u8]>) -> Result<Vec<Entry>, Self::Error>;

    /// All entries in their order.
    ///
    /// Errors: the storage's.
    fn all(&self, table: Table) -> Result<Vec<Entry>, Self::Error>;

    /// The first entry.
    ///
    /// Errors: the storage's.
    fn first(&self, table: Table) -> Result<Option<Entry>, Self::Error>;

    /// The key of the last entry.
    ///
    /// Errors: the storage's.
    fn last_key(&self, table: Table) -> Result<Option<Vec<u8>>, Self::Error>;

    /// How many entries there are.
    ///
    /// Errors: the storage's.
    fn count(&self, table: Table) -> Result<u64, Self::Error>;
}

/// A transaction that changes records.
pub trait Edit: Look {
    /// Puts a value at a key, whatever stands there.
    ///
    /// Errors: the storage's.
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Self::Error>;

    /// Takes out what stands at a key, if anything does.
    ///
    /// Errors: the storage's.
    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), Self::Error>;
}

/// A keeper of records: a database, or [`crate::Memory`].
pub trait Storage {
    /// Why records cannot be read or written.
    type Error: From<InboxError>;
    /// What reads see.
    type Look<'a>: Look<Error = Self::Error>;
    /// A transaction.
    type Edit<'a>: Edit<Error = Self::Error>;

    /// Looks at one state.
    ///
    /// Errors: those of `look`, and the storage's.
    fn read<T>(
        &self,
        look: impl FnOnce(&Self::Look<'_>) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error>;

    /// One transaction: all of it is kept, or nothing where it fails.
    ///
    /// Errors: those of `steps`, and the storage's.
    fn write<T>(
        &self,
        steps: impl FnOnce(&mut Self::Edit<'_>) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error>;
}
