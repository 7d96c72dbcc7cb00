//! What can go wrong with a store or a local board.

mod evidence;

pub(crate) use evidence::hex;
pub use evidence::{ConfigField, Evidence, Foreign, Holder, Part};
use omr_errors::{Mismatch, OtherVersion};

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
    /// The objects are in the bucket at this address, and this build keeps none there.
    #[error(
        "this build of omr has no buckets for {0}: build it with the feature `s3`, or leave objects.url out"
    )]
    LeftOut(String),
    /// This address of a bucket is not understood.
    #[error("expected a bucket as s3://NAME/PREFIX, found {0}")]
    BucketUrl(String),
    /// This option of a bucket is not known.
    #[error("unknown option of a bucket: {0}")]
    BucketOption(String),
    /// The folder holds a board already, this file.
    #[error("{} exists: open it, or take a folder without a board", .0.display())]
    Exists(PathBuf),
    /// A file stands where a board's folder would be.
    #[error("{} is a file, expected a folder in its place: name another folder", .0.display())]
    NotAFolder(PathBuf),
    /// The place of the objects holds some already, such as this one, and they are not this
    /// board's.
    #[error("the place of the objects is not empty, {0} is there: choose another")]
    ObjectsExist(String),
    /// The folder holds no board: this file is missing.
    #[error("no board at {}: expected the folder of a board: check its name, or make a board there", .0.display())]
    Missing(PathBuf),
    /// The file is something else than a board's.
    #[error("{} is not a board: {what}", path.display())]
    NotABoard {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: Foreign,
    },
    /// A board, a segment or a backup of another version of its format.
    #[error("{what}: {version}")]
    Version {
        /// What was read.
        what: &'static str,
        /// The versions.
        version: OtherVersion,
    },
    /// Another handle, in this process or another, has the board open.
    #[error("{} is held by another process or handle, {holder}", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// Who has it open.
        holder: Holder,
    },
    /// The last writer of this file crashed, and a reader may not repair.
    #[error("{} was not closed cleanly: open it once for writing to recover it", .0.display())]
    NeedsRecovery(PathBuf),
    /// The board is open for reading only.
    #[error("the board is open for reading only: open it for writing")]
    ReadOnly,
    /// The objects belong to another board than the folder.
    #[error("the objects belong to board {}, expected {}", hex(&.0.found), hex(&.0.expected))]
    OtherBoard(Mismatch<[u8; 16]>),
    /// A message to append has a part of the wrong size. Nothing was appended.
    #[error("post {post}, message {position}, {part}: expected {expected} bytes, found {found}")]
    Size {
        /// Place of the post among those given, from 0.
        post: usize,
        /// Place of the message in the post, from 0.
        position: usize,
        /// The part at fault.
        part: Part,
        /// Bytes the board takes.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// A post has no message, or more than 2^32 - 1. Nothing was appended.
    #[error("post {post}: expected 1 to 4294967295 messages, found {found}")]
    PostLength {
        /// Place of the post among those given, from 0.
        post: usize,
        /// Messages given.
        found: usize,
    },
    /// There are more or fewer hashes than messages. Nothing was appended.
    #[error("hashes of messages: expected {}, found {}", .0.expected, .0.found)]
    HashCount(Mismatch<usize>),
    /// The one-time key of a bound clue was used before. Nothing was appended.
    #[error(transparent)]
    UsedKey(#[from] UsedKey),
    /// The disk took an earlier append of a local board and then failed to say so. Its messages are
    /// on the board; nothing else was appended.
    #[error("messages {start}..{end} are on the board after all: do not append them again")]
    Unacknowledged {
        /// First index of that append.
        start: u64,
        /// One past its last index.
        end: u64,
    },
    /// The list of one-time keys is not as long as the board.
    #[error("corrupt list of one-time keys: expected {} as there are messages, found {}; the next start, or \
         the next post to a local board, makes it anew", .0.expected, .0.found)]
    KeyCount(Mismatch<u64>),
    /// Messages to read have expired.
    #[error("messages {start}..{end} expired: the board begins at {first}")]
    Expired {
        /// First index.
        start: u64,
        /// One past the last index.
        end: u64,
        /// The first message that is kept.
        first: u64,
    },
    /// A range to read ends beyond the board, or before it starts.
    #[error("range {start}..{end}: expected a range within 0..{expected}")]
    OutOfRange {
        /// First index.
        start: u64,
        /// One past the last index.
        end: u64,
        /// The messages on the board.
        expected: u64,
    },
    /// An object, or the part of the meta file that holds messages, differs from what was written.
    #[error("{object} is damaged, messages {first}..{end}: {evidence}")]
    Damaged {
        /// Name of the object; `tail` for the messages in the meta file.
        object: String,
        /// First message affected; 0 for a key.
        first: u64,
        /// One past the last message affected; 0 for a key.
        end: u64,
        /// What an intact one has, and what was found.
        evidence: Mismatch<Evidence>,
    },
    /// A row of the meta file differs from what was written.
    #[error("row {key} of table {table} is damaged: {evidence}")]
    Row {
        /// The table.
        table: String,
        /// The key, hexadecimal.
        key: String,
        /// What an intact one has, and what was found.
        evidence: Mismatch<Evidence>,
    },
    /// The database under the board is damaged.
    #[error("the database of the board is damaged: restore it from a backup")]
    Database(#[source] Box<redb::Error>),
    /// The database under the board stopped on damage that it did not expect.
    #[error("the database of the board is damaged beyond reading: restore it from a backup")]
    Panicked,
    /// The disk is full. What was acknowledged is intact.
    #[error("disk full: free some space, then try again")]
    DiskFull(#[source] io::Error),
    /// The database was closed by an earlier error; the next call opens it again.
    #[error("the board is suspended by an earlier error: try again")]
    Suspended,
    /// An error of the operating system.
    #[error("board file")]
    Io(#[from] io::Error),
    /// The place of the objects refused.
    #[error("object {object}")]
    Objects {
        /// The object.
        object: String,
        /// The error of the file system or of the bucket.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no key of this hash.
    #[error("no key {}", hex(.0))]
    NoKey([u8; 32]),
    /// No upload of the key of this hash is under way.
    #[error("no upload of {} is under way: begin it", hex(.0))]
    NoUpload([u8; 32]),
    /// A chunk begins beyond what has been received of an upload; expected is the number of bytes received so far.
    #[error("chunk at {}: expected the one at {}", .0.found, .0.expected)]
    UploadOffset(Mismatch<u64>),
    /// The size of an upload is 0, differs from what was announced, or is exceeded by a chunk.
    #[error("size of the key: expected {} bytes, found {}", .0.expected, .0.found)]
    UploadSize(Mismatch<u64>),
    /// An uploaded file has another hash than announced; it was dropped.
    #[error("hash of the key: expected {}, found {}", hex(&.0.expected), hex(&.0.found))]
    UploadHash(Mismatch<[u8; 32]>),
    /// There is no space for another upload.
    #[error("uploads: expected at most {} bytes together, found {}", .0.expected, .0.found)]
    UploadSpace(Mismatch<u64>),
    /// The name of a table of records has so many bytes, none or more than 255.
    #[error("name of a table: expected 1 to 255 bytes, found {0}")]
    TableName(usize),
    /// A backup in the folder is no earlier state of the board: the board was restored from a backup before this one was
    /// made, and went on from there.
    #[error(
        "the backup {name} is of another history of the board than {}: expected one from before the board was restored, \
         or one made since; use another folder",
        evidence::hex(history)
    )]
    OtherHistory {
        /// The name of the backup's file.
        name: String,
        /// The history that the board is in.
        history: [u8; 16],
    },
    /// This folder holds no backup.
    #[error("{}: expected a folder of backups, found no file meta-*.bak in it: check its name, or make a backup there", .0.display())]
    NoBackup(PathBuf),
    /// A file of a backup is not what was written.
    #[error("{} is damaged at byte {offset}: {evidence}", path.display())]
    Backup {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What an intact one has, and what was found.
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
    /// Place of the message in the post, from 0.
    pub position: usize,
    /// The message that has the key; beyond the board, one of the same post.
    pub index: u64,
}

impl StoreError {
    pub(crate) const fn version(what: &'static str, expected: u32, found: u32) -> Self {
        let version = OtherVersion { expected, found };
        Self::Version { what, version }
    }

    /// Whether the database may refuse all work after this error.
    pub(crate) fn poisons(&self) -> bool {
        matches!(
            self,
            Self::Database(_) | Self::Panicked | Self::DiskFull(_) | Self::Suspended | Self::Io(_)
        )
    }

    /// Whether the board, not the machine, is at fault.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::Row { .. } | Self::Database(_) | Self::Panicked
        )
    }

    /// An error of a file, a full disk told apart.
    pub(crate) fn file(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(source),
            _ => Self::Io(source),
        }
    }
}

/// An error of any redb operation, on its way to a [`StoreError`].
pub(crate) struct Redb<E>(pub(crate) E);

impl<E: Into<redb::Error>> From<Redb<E>> for StoreError {
    fn from(error: Redb<E>) -> Self {
        match error.0.into() {
            // A page beyond the end of the file: cut short, not out of service.
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
