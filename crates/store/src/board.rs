//! The board: creation, opening, appending, and the way to reading and verifying.

use std::borrow::Borrow;
use std::ops::Range;
use std::path::Path;

use redb::{ReadTransaction, TableError};

use crate::append::append;
use crate::config::{BoardConfig, Message};
use crate::error::{BoardError, Foreign, Redb};
use crate::expire::{compact, expire};
use crate::format::{
    EXPIRED_VERSION, FILE_NAME, FORMAT_VERSION, KEY_CONFIG, KEY_FIRST, KEY_STATE, KEY_VERSION,
    Layout, META, OLDEST_VERSION, decode_config, read_u32,
};
use crate::publish::publish;
use crate::snapshot::{Snapshot, Visit};
use crate::store::{Access, Guarded, Source, Store, guarded};
use crate::verify::{Report, verify};

/// An open board.
///
/// Memory: the cache of the database (64 MiB) and one chunk, whatever the length of the board.
/// A program that aborts on panic loses the protection against files so damaged that the
/// database panics on them.
#[derive(Debug)]
pub struct Board {
    source: Source,
    access: Access,
    /// Absent after an append failed and reopening failed too.
    store: Option<Guarded<Store>>,
    config: BoardConfig,
    layout: Layout,
    first: u64,
    len: u64,
}

/// The size of a board and what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stat {
    /// Messages, those that have expired among them.
    pub messages: u64,
    /// The first message that is there.
    pub first: u64,
    /// Bytes the file takes; on Unix without its holes, since it grows ahead of its content.
    pub bytes_on_disk: u64,
    /// The file's length, holes included.
    pub file_bytes: u64,
    /// Bytes of clues and payloads alone, of the messages that are there.
    pub message_bytes: u64,
    /// Messages the file keeps in one chunk.
    pub chunk_messages: u64,
    /// The configuration.
    pub config: BoardConfig,
}

impl Board {
    /// Creates an empty board in the folder `dir`, itself created where absent, and opens it.
    ///
    /// A crash on the way leaves no board.
    ///
    /// Errors: [`BoardError::Config`], [`BoardError::Exists`], and those of the disk.
    pub fn create(dir: impl AsRef<Path>, config: &BoardConfig) -> Result<Self, BoardError> {
        config.check()?;
        publish(dir.as_ref(), config)?;
        Self::open(dir)
    }

    /// Opens the board in the folder `dir` for reading and appending; recovers it after a crash.
    ///
    /// Errors: [`BoardError::Missing`], [`BoardError::NotABoard`], [`BoardError::Version`],
    /// [`BoardError::Locked`] while any other handle has it open, and those of damage.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, BoardError> {
        Self::open_source(
            Source::File(dir.as_ref().join(FILE_NAME)),
            Access::ReadWrite,
        )
    }

    /// Opens the board in the folder `dir` for reading; other readers may have it open too.
    ///
    /// Errors: as [`Board::open`]; [`BoardError::Locked`] while a writer has it open,
    /// [`BoardError::NeedsRecovery`] where one crashed.
    pub fn open_read_only(dir: impl AsRef<Path>) -> Result<Self, BoardError> {
        Self::open_source(Source::File(dir.as_ref().join(FILE_NAME)), Access::ReadOnly)
    }

    pub(crate) fn open_source(source: Source, access: Access) -> Result<Self, BoardError> {
        let store = Store::open(&source, access)?;
        let Meta {
            config,
            layout,
            first,
            len,
        } = read_meta(&source, store.get()?)?;
        Ok(Self {
            source,
            access,
            store: Some(store),
            config,
            layout,
            first,
            len,
        })
    }

    /// The configuration the board was created with.
    pub fn config(&self) -> &BoardConfig {
        &self.config
    }

    /// The first message that is there: those before have expired. Indices never change.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number of messages, those that have expired among them.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `messages` in one durable transaction, all or none, and returns their indices.
    ///
    /// On a board of bound clues every message needs a one-time key that no other has. The caller has tested that
    /// the key signed: without that, whoever sees a message could have its key refused by posting first.
    ///
    /// They are on the disk when this returns. An error means that nothing was appended, with one
    /// exception that has its own variant: the disk took the append and then failed to say so,
    /// [`BoardError::Unacknowledged`]. Where the board could not look at once, its next append
    /// does so first and reports it then. Appending again is possible once the cause is gone.
    /// No message, no transaction.
    ///
    /// Errors: [`BoardError::ReadOnly`], [`BoardError::Size`], [`BoardError::UsedKey`],
    /// [`BoardError::DiskFull`], [`BoardError::Chunk`] where the last chunk is damaged,
    /// [`BoardError::KeyCount`] where the list of keys is, and those of the database.
    pub fn append<I>(&mut self, messages: I) -> Result<Range<u64>, BoardError>
    where
        I: IntoIterator,
        I::Item: Borrow<Message>,
    {
        if self.access == Access::ReadOnly {
            return Err(BoardError::ReadOnly);
        }
        if self.store.is_none() {
            self.reopen()?;
        }
        let start = self.len;
        match append(self.store()?.writable()?, &self.layout, start, messages) {
            Ok(end) => self.len = end,
            Err(error) if error.poisons_store() => {
                return Err(match self.reopen() {
                    Err(landed @ BoardError::Unacknowledged { .. }) => landed,
                    // What reopening found wrong, the next operation tells.
                    _ => error,
                });
            }
            Err(error) => return Err(error),
        }
        Ok(start..self.len)
    }

    /// Removes the messages before `before`, in whole chunks: never a later one, and never one of a chunk that is not
    /// full. Tells which went.
    ///
    /// They go in one durable transaction, all or none; then the file is made smaller where no reader is in the way. One-
    /// time keys stay used. Builds that know no expiry refuse the board from then on, as of a newer format.
    ///
    /// Errors: [`BoardError::ReadOnly`], [`BoardError::DiskFull`], and those of the database.
    pub fn expire(&mut self, before: u64) -> Result<Range<u64>, BoardError> {
        if self.access == Access::ReadOnly {
            return Err(BoardError::ReadOnly);
        }
        if self.store.is_none() {
            self.reopen()?;
        }
        let going = self.layout.expiring(self.first, before, self.len);
        if going.is_empty() {
            return Ok(going);
        }
        match expire(self.store()?.writable()?, &self.layout, &going) {
            Ok(()) => self.first = going.end,
            Err(error) => {
                let opened = !error.poisons_store() || self.reopen().is_ok();
                // The disk may have taken it, and failed to say so.
                if !opened || self.first != going.end {
                    return Err(error);
                }
            }
        }
        self.shrink();
        Ok(going)
    }

    /// What keeps the file from becoming smaller, a reader perhaps, is no fault of what was done; the next operation
    /// tells what is wrong with the disk.
    fn shrink(&mut self) {
        let Some(store) = &mut self.store else {
            return;
        };
        let Ok(Store::ReadWrite(database)) = store.get_mut() else {
            return;
        };
        if compact(database).is_err_and(|error| error.poisons_store()) {
            let _ = self.reopen();
        }
    }

    /// A view of the messages of now, for reading beside later appends.
    ///
    /// Errors: [`BoardError::Suspended`] after a failed append, and those of the database.
    pub fn snapshot(&self) -> Result<Snapshot, BoardError> {
        Snapshot::new(self.store()?, self.layout, (self.first, self.len))
    }

    /// Reads messages one by one: [`Snapshot::read`] on [`Board::snapshot`].
    ///
    /// Errors: those of both.
    pub fn read(&self, range: Range<u64>, each: &mut Visit<'_>) -> Result<(), BoardError> {
        self.snapshot()?.read(range, each)
    }

    /// Reads messages in bulk: [`Snapshot::read_into`] on [`Board::snapshot`].
    ///
    /// Errors: those of both.
    pub fn read_into(
        &self,
        range: Range<u64>,
        clues: &mut Vec<u8>,
        payloads: &mut Vec<u8>,
    ) -> Result<(), BoardError> {
        self.snapshot()?.read_into(range, clues, payloads)
    }

    /// The size of the board.
    ///
    /// Errors: those of the disk.
    pub fn stat(&self) -> Result<Stat, BoardError> {
        let (bytes_on_disk, file_bytes) = self.source.bytes()?;
        let message = u64::from(self.config.clue_bytes) + u64::from(self.config.payload_bytes);
        Ok(Stat {
            messages: self.len,
            first: self.first,
            bytes_on_disk,
            file_bytes,
            message_bytes: (self.len - self.first).saturating_mul(message),
            chunk_messages: self.layout.chunk_messages,
            config: self.config.clone(),
        })
    }

    /// Reads the whole file and checks every record and the database under them. Never writes.
    ///
    /// `progress(done, total)` counts messages. Not found by this or any other reading: damage to
    /// the one bit that names the root of a file left by a crash, which can hide its last append.
    ///
    /// Errors: those that keep it from looking; damage found is in the [`Report`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Report, BoardError> {
        verify(&self.source, &self.snapshot()?, progress)
    }

    fn store(&self) -> Result<&Store, BoardError> {
        Ok(self.store.as_ref().ok_or(BoardError::Suspended)?.get()?)
    }

    /// Opens the store anew, since redb refuses all work after an error of the disk.
    ///
    /// Errors: [`BoardError::Unacknowledged`], with the board open, where the failed append is
    /// there after all; otherwise the board stays suspended.
    fn reopen(&mut self) -> Result<(), BoardError> {
        // Closed first: it holds the lock.
        self.store = None;
        let start = self.len;
        *self = Self::open_source(self.source.clone(), self.access)?;
        if self.len == start {
            return Ok(());
        }
        Err(BoardError::Unacknowledged {
            start,
            end: self.len,
        })
    }
}

/// What the meta table tells.
struct Meta {
    config: BoardConfig,
    layout: Layout,
    first: u64,
    len: u64,
}

/// Reads and checks the meta table.
fn read_meta(source: &Source, store: &Store) -> Result<Meta, BoardError> {
    guarded(|| {
        let transaction = store.begin_read()?;
        let found = meta_record(source, &transaction, KEY_VERSION)?;
        let version = read_u32(&found, 0)
            .filter(|_| found.len() == 4)
            .ok_or(BoardError::Meta {
                key: KEY_VERSION,
                found: found.len(),
            })?;
        if !(OLDEST_VERSION..=FORMAT_VERSION).contains(&version) {
            return Err(BoardError::Version {
                expected: FORMAT_VERSION,
                found: version,
            });
        }
        let (config, layout) = decode_config(&meta_record(source, &transaction, KEY_CONFIG)?)?;
        let len = layout.decode_state(&meta_record(source, &transaction, KEY_STATE)?)?;
        let first = match version {
            EXPIRED_VERSION => {
                layout.decode_first(&meta_record(source, &transaction, KEY_FIRST)?, len)?
            }
            _ => 0,
        };
        Ok(Meta {
            config,
            layout,
            first,
            len,
        })
    })
}

fn meta_record(
    source: &Source,
    transaction: &ReadTransaction,
    key: &'static str,
) -> Result<Vec<u8>, BoardError> {
    let meta = match transaction.open_table(META) {
        Err(
            TableError::TableDoesNotExist(_)
            | TableError::TableTypeMismatch { .. }
            | TableError::TableIsMultimap(_),
        ) => {
            let what = Foreign::OtherDatabase;
            return Err(BoardError::NotABoard {
                path: source.path(),
                what,
            });
        }
        other => other.map_err(Redb)?,
    };
    let value = meta
        .get(key)
        .map_err(Redb)?
        .ok_or(BoardError::Meta { key, found: 0 })?;
    Ok(value.value().to_vec())
}
