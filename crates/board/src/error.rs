//! What can go wrong with a board.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// An error of creating, opening, reading, extending or verifying a board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// A field of the configuration is out of range.
    #[error("board configuration, {field}: expected {least} to {most}, found {found}")]
    Config {
        /// The field at fault.
        field: ConfigField,
        /// The least value accepted.
        least: u64,
        /// The greatest value accepted.
        most: u64,
        /// The value given.
        found: u64,
    },
    /// The folder holds a board already.
    #[error("{} exists: open it, or create the board in another folder", path.display())]
    Exists {
        /// The file in the way.
        path: PathBuf,
    },
    /// The folder holds no board.
    #[error("no board at {}: create one, or check the folder", path.display())]
    Missing {
        /// The file looked for.
        path: PathBuf,
    },
    /// The file is something else than a board.
    #[error("{} is not a board: {what}", path.display())]
    NotABoard {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: Foreign,
    },
    /// The board was written in a format version this build does not know.
    #[error("board format version: expected {expected}, found {found}")]
    Version {
        /// The version this build reads and writes.
        expected: u32,
        /// The version in the file.
        found: u32,
    },
    /// Another handle, in this process or another, has the board open.
    #[error("{} is held by {holder}: {}", path.display(), holder.advice())]
    Locked {
        /// The file.
        path: PathBuf,
        /// Who has it open.
        holder: Holder,
    },
    /// The last writer crashed, and a reader may not repair.
    #[error("{} was not closed cleanly: open it once for writing to recover it", path.display())]
    NeedsRecovery {
        /// The file.
        path: PathBuf,
    },
    /// A message to append has a part of the wrong size. Nothing was appended.
    #[error("message {position} of the append, {part}: expected {expected} bytes, found {found}")]
    Size {
        /// The place of the message among those given, from 0.
        position: u64,
        /// The part at fault.
        part: Part,
        /// Bytes the board takes.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// The one-time key of a bound clue was used before. Nothing was appended.
    #[error(
        "message {position} of the append: expected a one-time key that is new on the board, found that of \
         message {index}"
    )]
    UsedKey {
        /// The place of the message among those given, from 0.
        position: u64,
        /// The message that has the key; beyond the board, one of the same append.
        index: u64,
    },
    /// A range to read holds no message.
    #[error("range {start}..{end} is empty: expected start below end")]
    EmptyRange {
        /// First index.
        start: u64,
        /// One past the last index.
        end: u64,
    },
    /// A range to read ends beyond the board.
    #[error("range ends at {found}, expected at most {expected}, the messages on the board")]
    OutOfRange {
        /// The messages on the board.
        expected: u64,
        /// The end of the range.
        found: u64,
    },
    /// Messages to read have expired.
    #[error("messages {start}..{end} expired: the board begins at {first}")]
    Expired {
        /// First index.
        start: u64,
        /// One past the last index that expired.
        end: u64,
        /// The first message that is there.
        first: u64,
    },
    /// The board is open for reading only.
    #[error("the board is open for reading only: open it for writing")]
    ReadOnly,
    /// A record differs from what was appended.
    #[error("message {index} is corrupt: expected checksum {expected:08x}, found {found:08x}")]
    Corrupt {
        /// The message at fault.
        index: u64,
        /// The checksum of the bytes as they are.
        expected: u32,
        /// The checksum in the record.
        found: u32,
    },
    /// A chunk of records is missing or has the wrong length.
    #[error(
        "messages {}..{} are corrupt: expected a chunk of {expected} bytes, found {found:?}",
        messages.start, messages.end
    )]
    Chunk {
        /// The messages of the chunk.
        messages: Range<u64>,
        /// Bytes of an intact chunk.
        expected: usize,
        /// Bytes found, or none where the chunk is missing.
        found: Option<usize>,
    },
    /// The number of chunks does not agree with the number of messages.
    #[error("corrupt board: expected {expected} chunks, found {found}")]
    ChunkCount {
        /// Chunks that hold the messages.
        expected: u64,
        /// Chunks in the file.
        found: u64,
    },
    /// The number of one-time keys does not agree with the number of messages.
    #[error("corrupt board: expected {expected} one-time keys, found {found}")]
    KeyCount {
        /// Messages on the board.
        expected: u64,
        /// Keys in the file.
        found: u64,
    },
    /// The one-time key of a message is not listed as its own.
    #[error(
        "corrupt board: expected the one-time key of message {index} to be listed, found it at {found:?}"
    )]
    Key {
        /// The message.
        index: u64,
        /// The message that the list has for the key.
        found: Option<u64>,
    },
    /// A record of the meta table cannot be understood.
    #[error("corrupt board: meta record `{key}` of {found} bytes is malformed")]
    Meta {
        /// The key of the record.
        key: &'static str,
        /// Its length in bytes.
        found: usize,
    },
    /// The database under the board is corrupt.
    #[error("the board is damaged: restore it from a copy")]
    Damaged {
        /// What the database found.
        source: Box<redb::Error>,
    },
    /// The database under the board stopped on damage it did not expect.
    #[error("the board is damaged beyond reading: restore it from a copy")]
    Panicked,
    /// The disk is full. Earlier messages are intact.
    #[error("disk full: free some space, then append again")]
    DiskFull {
        /// The error of the operating system.
        source: io::Error,
    },
    /// The disk took an earlier append and then failed to say so. The messages are on the board;
    /// nothing else was appended.
    #[error("messages {start}..{end} are on the board after all: do not append them again")]
    Unacknowledged {
        /// First index of that append.
        start: u64,
        /// One past its last index.
        end: u64,
    },
    /// An append failed and the board could not be reopened since.
    #[error("the board is suspended by an earlier error: append again, or open it anew")]
    Suspended,
    /// An error of the operating system.
    #[error("board file")]
    Io {
        /// The error of the operating system.
        #[from]
        source: io::Error,
    },
    /// Any other error of the database under the board.
    #[error("board database")]
    Database {
        /// The error of the database.
        source: Box<redb::Error>,
    },
}

impl BoardError {
    /// Whether the store under the board may be unusable after this error.
    pub(crate) fn poisons_store(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. }
                | Self::Panicked
                | Self::DiskFull { .. }
                | Self::Suspended
                | Self::Io { .. }
                | Self::Database { .. }
        )
    }
}

impl From<omr_guard::Panicked> for BoardError {
    fn from(_: omr_guard::Panicked) -> Self {
        Self::Panicked
    }
}

impl From<omr_guard::Gone> for BoardError {
    fn from(_: omr_guard::Gone) -> Self {
        Self::Suspended
    }
}

/// Sorts an error of redb; the opening of a file has its own, finer sorting.
impl<E: Into<redb::Error>> From<Redb<E>> for BoardError {
    fn from(error: Redb<E>) -> Self {
        match error.0.into() {
            redb::Error::Io(source) if is_full(&source) => Self::DiskFull { source },
            // A page beyond the end of the file: cut short, not out of service.
            redb::Error::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                Self::Damaged {
                    source: Box::new(redb::Error::Io(source)),
                }
            }
            redb::Error::Io(source) => Self::Io { source },
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => Self::Suspended,
            other @ (redb::Error::Corrupted(_)
            | redb::Error::UpgradeRequired(_)
            | redb::Error::TableDoesNotExist(_)
            | redb::Error::TableTypeMismatch { .. }
            | redb::Error::TableIsMultimap(_)
            | redb::Error::TypeDefinitionChanged { .. }) => Self::Damaged {
                source: Box::new(other),
            },
            other => Self::Database {
                source: Box::new(other),
            },
        }
    }
}

/// An error of any redb operation, on its way to a [`BoardError`].
pub(crate) struct Redb<E>(pub(crate) E);

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// A field of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigField {
    /// Bytes of `params_id`.
    ParamsId,
    /// Bytes of `sealing`.
    Sealing,
    /// `clue_bytes`.
    ClueBytes,
    /// `payload_bytes`.
    PayloadBytes,
}

impl fmt::Display for ConfigField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ParamsId => "length of params_id",
            Self::Sealing => "length of sealing",
            Self::ClueBytes => "clue_bytes",
            Self::PayloadBytes => "payload_bytes",
        })
    }
}

/// A part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The clue.
    Clue,
    /// The payload.
    Payload,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clue => "clue",
            Self::Payload => "payload",
        })
    }
}

/// What a file is that is not a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// A file of no bytes.
    Empty,
    /// A file that does not start as a redb database does.
    NotRedb,
    /// A redb database of something else.
    OtherDatabase,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::NotRedb => "it is not a redb database",
            Self::OtherDatabase => "it is a redb database of something else",
        })
    }
}

/// Who has a board open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// One handle open for writing.
    Writer,
    /// One or more handles open for reading.
    Readers,
}

impl Holder {
    fn advice(self) -> &'static str {
        match self {
            Self::Writer => "close the writer, or read through its own handle",
            Self::Readers => "close the readers, or open it for reading only",
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Writer => "a writer",
            Self::Readers => "one or more readers",
        })
    }
}
