//! The errors of a store and of a local board.

mod evidence;

pub use evidence::{ConfigField, Evidence, Foreign, Holder, Part};
use omr_errors::{Mismatch, OtherVersion, hex};

use std::io;
use std::path::PathBuf;

/// An error of a store or of a local board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A field of the configuration is out of range.
    #[error("configuration, {field}: expected {least} to {most}, found {found}")]
    Config {
        /// The field.
        field: ConfigField,
        /// The least value accepted.
        least: u64,
        /// The greatest value accepted.
        most: u64,
        /// The value given.
        found: u64,
    },
    /// The configuration names a bucket at this address for the objects, and this build has no support for buckets.
    #[error(
        "this build of omr has no buckets for {0}: build it with the feature `s3`, or leave objects.url out"
    )]
    LeftOut(String),
    /// The address of a bucket is malformed.
    #[error("expected a bucket as s3://NAME/PREFIX, found {0}")]
    BucketUrl(String),
    /// An option of a bucket is unknown.
    #[error("unknown option of a bucket: {0}")]
    BucketOption(String),
    /// The folder already contains a board, in this file.
    #[error("{} exists: open it, or take a folder without a board", .0.display())]
    Exists(PathBuf),
    /// A file stands where a board's folder would be.
    #[error("{} is a file, expected a folder in its place: name another folder", .0.display())]
    NotAFolder(PathBuf),
    /// The place of the objects already contains some, such as this one, which belong to another board.
    #[error("the place of the objects is not empty, {0} is there: choose another")]
    ObjectsExist(String),
    /// The folder contains no board: this file is missing.
    #[error("no board at {}: expected the folder of a board: check its name, or make a board there", .0.display())]
    Missing(PathBuf),
    /// The file is not the file of a board.
    #[error("{} is not a board: {what}", path.display())]
    NotABoard {
        /// The file.
        path: PathBuf,
        /// The kind of file that was found.
        what: Foreign,
    },
    /// A board, a segment or a backup has another version of its format.
    #[error("{what}: {version}")]
    Version {
        /// A name of the file's kind.
        what: &'static str,
        /// The versions.
        version: OtherVersion,
    },
    /// The board is open in another handle, in this process or another.
    #[error("{} is held by another process or handle, {holder}", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// The kind of handle that has it open.
        holder: Holder,
    },
    /// The last writer of this file crashed, and a reader may not repair the file.
    #[error("{} was not closed cleanly: open it once for writing to recover it", .0.display())]
    NeedsRecovery(PathBuf),
    /// The board is open for reading only.
    #[error("the board is open for reading only: open it for writing")]
    ReadOnly,
    /// The objects belong to another board than the folder.
    #[error("the objects belong to board {}, expected {}", hex(&.0.found), hex(&.0.expected))]
    OtherBoard(Mismatch<[u8; 16]>),
    /// A part of a message to append has the wrong size. Nothing was appended.
    #[error("post {post}, message {position}, {part}: expected {expected} bytes, found {found}")]
    Size {
        /// The position of the post among the posts of the call, from 0.
        post: usize,
        /// The position of the message in the post, from 0.
        position: usize,
        /// The part with the wrong size.
        part: Part,
        /// The bytes that the board requires.
        expected: usize,
        /// The bytes of the part.
        found: usize,
    },
    /// A post has no message, or more than 2^32 - 1. Nothing was appended.
    #[error("post {post}: expected 1 to 4294967295 messages, found {found}")]
    PostLength {
        /// The position of the post among the posts of the call, from 0.
        post: usize,
        /// The number of messages in the post.
        found: usize,
    },
    /// The number of hashes differs from the number of messages. Nothing was appended.
    #[error("hashes of messages: expected {}, found {}", .0.expected, .0.found)]
    HashCount(Mismatch<usize>),
    /// The one-time key of a bound clue was used before. Nothing was appended.
    #[error(transparent)]
    UsedKey(#[from] UsedKey),
    /// The disk wrote an earlier append to a local board and then failed before it confirmed it. The messages of that
    /// append are on the board; nothing else was appended.
    #[error("messages {start}..{end} are on the board after all: do not append them again")]
    Unacknowledged {
        /// The first index of that append.
        start: u64,
        /// One past the last index of that append.
        end: u64,
    },
    /// The list of one-time keys has another length than the board.
    #[error("list of one-time keys damaged: expected one for each of {} messages, found {}; the next start, or \
         the next post to a local board, makes it again", .0.expected, .0.found)]
    KeyCount(Mismatch<u64>),
    /// Some of the messages to read have expired.
    #[error("messages {start}..{end} expired: the board begins at {first}")]
    Expired {
        /// The first index of the expired messages.
        start: u64,
        /// One past the last index of the expired messages.
        end: u64,
        /// The index of the first message that has not expired.
        first: u64,
    },
    /// A range to read ends beyond the end of the board, or before its own start.
    #[error("range {start}..{end}: expected a range within 0..{expected}")]
    OutOfRange {
        /// The first index of the range.
        start: u64,
        /// One past the last index of the range.
        end: u64,
        /// The number of messages on the board.
        expected: u64,
    },
    /// An object, or the part of the meta file that contains messages, differs from what was written.
    #[error("{object} is damaged, messages {first}..{end}: {evidence}")]
    Damaged {
        /// The name of the object; `tail` for messages in the meta file.
        object: String,
        /// The first message affected; 0 for a key.
        first: u64,
        /// One past the last message affected; 0 for a key.
        end: u64,
        /// A property of the object that was written, and the same property as found.
        evidence: Mismatch<Evidence>,
    },
    /// A row of the meta file differs from what was written.
    #[error("row {key} of table {table} is damaged: {evidence}")]
    Row {
        /// The name of the table.
        table: String,
        /// The key of the row, in hexadecimal.
        key: String,
        /// A property of the row that was written, and the same property as found.
        evidence: Mismatch<Evidence>,
    },
    /// The database under the board is damaged.
    #[error("the database of the board is damaged: restore it from a backup")]
    Database(#[source] Box<redb::Error>),
    /// The database under the board panicked on damage that it did not expect.
    #[error("the database of the board is damaged beyond reading: restore it from a backup")]
    Panicked,
    /// The disk is full. Everything acknowledged is intact.
    #[error("disk full: free some space, then try again")]
    DiskFull(#[source] io::Error),
    /// An earlier error closed the database; the next call opens it again.
    #[error("the board is suspended by an earlier error: try again")]
    Suspended,
    /// An error of the operating system.
    #[error("board file")]
    Io(#[from] io::Error),
    /// The file system or the bucket of the objects returned an error.
    #[error("object {object}")]
    Objects {
        /// The name of the object.
        object: String,
        /// The error of the file system or of the bucket.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store has no key with this hash.
    #[error("no key {}", hex(.0))]
    NoKey([u8; 32]),
    /// No upload of a key with this hash is under way.
    #[error("no upload of {} is under way: begin it", hex(.0))]
    NoUpload([u8; 32]),
    /// A chunk of an upload begins beyond the bytes received so far. The expected value is their number.
    #[error("chunk at {}: expected the one at {}", .0.found, .0.expected)]
    UploadOffset(Mismatch<u64>),
    /// The size of an upload is 0, differs from the announced size, or is exceeded by a chunk.
    #[error("size of the key: expected {} bytes, found {}", .0.expected, .0.found)]
    UploadSize(Mismatch<u64>),
    /// An uploaded file has another hash than announced. It was deleted.
    #[error("hash of the key: expected {}, found {}", hex(&.0.expected), hex(&.0.found))]
    UploadHash(Mismatch<[u8; 32]>),
    /// Another upload would exceed the space for unfinished uploads.
    #[error("uploads: expected at most {} bytes together, found {}", .0.expected, .0.found)]
    UploadSpace(Mismatch<u64>),
    /// The name of a table of records has this length, which is 0 or more than 255 bytes.
    #[error("name of a table: expected 1 to 255 bytes, found {0}")]
    TableName(usize),
    /// A backup in the folder is not an earlier state of the board: the board was restored from an older backup, and
    /// continued from there.
    #[error(
        "the backup {name} is of another history of the board than {}: expected one from before the board was restored, \
         or one made since; use another folder",
        hex(history)
    )]
    OtherHistory {
        /// The name of the backup's file.
        name: String,
        /// The id of the board's current history.
        history: [u8; 16],
    },
    /// The folder contains no backup.
    #[error("{}: expected a folder of backups, found no file meta-*.bak in it: check its name, or make a backup there", .0.display())]
    NoBackup(PathBuf),
    /// A file of a backup differs from what was written.
    #[error("{} is damaged at byte {offset}: {evidence}", path.display())]
    Backup {
        /// The path of the file.
        path: PathBuf,
        /// The offset of the damage in the file, in bytes.
        offset: u64,
        /// A property of the file that was written, and the same property as found.
        evidence: Mismatch<Evidence>,
    },
    /// A callback asked to stop.
    #[error("stopped")]
    Stopped,
}

/// The one-time key of a bound clue was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "message {position} of the post: expected a one-time key that is new on the board, found that of message {index}"
)]
#[non_exhaustive]
pub struct UsedKey {
    /// The position of the message in the post, from 0.
    pub position: usize,
    /// The index of the message that has the key. An index beyond the end of the board means a message of the same
    /// post.
    pub index: u64,
}

impl StoreError {
    pub(crate) const fn version(what: &'static str, expected: u32, found: u32) -> Self {
        let version = OtherVersion { expected, found };
        Self::Version { what, version }
    }

    /// Returns whether the database may refuse all further work after this error.
    pub(crate) fn poisons(&self) -> bool {
        matches!(
            self,
            Self::Database(_) | Self::Panicked | Self::DiskFull(_) | Self::Suspended | Self::Io(_)
        )
    }

    /// Returns whether the board is at fault, rather than the machine.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::Row { .. } | Self::Database(_) | Self::Panicked
        )
    }

    /// Returns the error of a file operation, with a variant of its own for a full disk.
    pub(crate) fn file(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(source),
            _ => Self::Io(source),
        }
    }
}

/// An error of a redb operation, which converts into a [`StoreError`].
pub(crate) struct Redb<E>(pub(crate) E);

impl<E: Into<redb::Error>> From<Redb<E>> for StoreError {
    fn from(error: Redb<E>) -> Self {
        match error.0.into() {
            // A page beyond the end of the file means that the file was cut short.
            redb::Error::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                Self::Database(Box::new(redb::Error::Io(source)))
            }
            redb::Error::Io(source) => Self::file(source),
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => Self::Suspended,
            other => Self::Database(Box::new(other)),
        }
    }
}

impl From<omr_disk::guard::Panicked> for StoreError {
    fn from(_: omr_disk::guard::Panicked) -> Self {
        Self::Panicked
    }
}

impl From<omr_disk::guard::Gone> for StoreError {
    fn from(_: omr_disk::guard::Gone) -> Self {
        Self::Suspended
    }
}
