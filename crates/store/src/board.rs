//! A local board: the log of a store in one file, without objects, keys and post ids.

use std::fs;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Mutex;

use crate::chain;
use crate::config::{BoardConfig, Message};
use crate::database::{Access, Source, create_folder};
use crate::error::{Foreign, StoreError};
use crate::format::{BOARD_FILE, TAIL};
use crate::hashes::{self, Gathered, Keeper, MessageHashes, Take};
use crate::log::{Log, Visit};
use crate::meta::{Meta, Outcome, lock};
use crate::once::{self, Once, TOGETHER};
use crate::publish::publish;
use crate::segment::Segment;
use crate::tables::{View, initialise};
use crate::tail::{Piece, Tail, check_sizes, drop_runs};

/// An open local board: a meta file whose messages are all in its tail.
///
/// Any number of processes may have it open for reading, or one for writing. Memory: the cache of the database (64 MiB)
/// and 1 MiB of messages, whatever the length of the board. The database panics on some damaged files; the board turns
/// that panic into an error, but not in a program that aborts on panic.
///
/// ```
/// use omr_store::{Board, BoardConfig, Clues, Message};
/// # let dir = tempfile::tempdir().unwrap();
/// let config = BoardConfig {
///     board_id: [7; 16],
///     params_id: "toy".into(),
///     sealing: "none".into(),
///     clue_bytes: 3,
///     payload_bytes: 2,
///     clues: Clues::Plain,
/// };
/// let board = Board::create(dir.path(), &config)?;
/// board.append(&[Message { clue: vec![1, 2, 3], payload: vec![4, 5] }])?;
///
/// let (mut clues, mut payloads) = (Vec::new(), Vec::new());
/// board.read_into(0..1, &mut clues, &mut payloads)?;
/// assert_eq!((clues, payloads), (vec![1, 2, 3], vec![4, 5]));
/// # Ok::<(), omr_store::StoreError>(())
/// ```
#[derive(Debug)]
pub struct Board {
    meta: Meta,
    /// The number of messages that callers know of. The file has more after an append that was written although it
    /// failed.
    acknowledged: Mutex<u64>,
}

/// The size and the configuration of a local board.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stat {
    /// The number of messages, including those that have expired.
    pub messages: u64,
    /// The index of the first message that has not expired.
    pub first: u64,
    /// The bytes that the file occupies on the disk. On Unix this leaves out holes, as the file grows ahead of its
    /// content.
    pub bytes_on_disk: u64,
    /// The length of the file in bytes, including holes.
    pub file_bytes: u64,
    /// The bytes of clues and payloads of the messages that have not expired.
    pub message_bytes: u64,
    /// The configuration of the board.
    pub config: BoardConfig,
}

impl Log for Board {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    /// A local board has no segments: [`Board::open`] refuses a file that names one.
    fn in_segment(&self, segment: &Segment, _: u64, _: u64) -> Result<Piece, StoreError> {
        Err(StoreError::NotABoard {
            path: segment.name().into(),
            what: Foreign::Server,
        })
    }
}

impl Board {
    /// Creates an empty board in the folder `dir` and opens it. The folder is created if it does not exist.
    ///
    /// A crash before the end leaves no board.
    ///
    /// Errors: [`StoreError::Config`] for a field out of range, [`StoreError::Exists`] where the folder contains a
    /// board, and those of the disk.
    pub fn create(dir: impl AsRef<Path>, config: &BoardConfig) -> Result<Self, StoreError> {
        config.check()?;
        create_folder(dir.as_ref())?;
        let path = dir.as_ref().join(BOARD_FILE);
        // This finds the common mistake before any work; `publish` finds a file that appears meanwhile.
        if fs::exists(&path)? {
            return Err(StoreError::Exists(path));
        }
        publish(&path, config, |database| initialise(database, config))?;
        Self::open(dir)
    }

    /// Opens the board in the folder `dir` for reading and appending; recovers it after a crash.
    ///
    /// Errors: [`StoreError::Missing`], [`StoreError::NotABoard`], [`StoreError::Version`], [`StoreError::Locked`]
    /// while another handle has the board open, and those of damage.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = dir.as_ref().join(BOARD_FILE);
        Self::open_source(Source::File(path), Access::ReadWrite)
    }

    /// Opens the board in the folder `dir` for reading; other readers may have it open too.
    ///
    /// Errors: those of [`Board::open`]; [`StoreError::Locked`] only while a writer has the board open,
    /// [`StoreError::NeedsRecovery`] after a writer crashed.
    pub fn open_read_only(dir: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = dir.as_ref().join(BOARD_FILE);
        Self::open_source(Source::File(path), Access::ReadOnly)
    }

    pub(crate) fn open_source(source: Source, access: Access) -> Result<Self, StoreError> {
        let path = source.path();
        let meta = Meta::open(source, access)?;
        let state = meta.view(View::state)?;
        if state.sealed != state.first {
            let what = Foreign::Server;
            return Err(StoreError::NotABoard { path, what });
        }
        let acknowledged = Mutex::new(state.len);
        Ok(Self { meta, acknowledged })
    }

    /// The configuration that the board was created with.
    pub fn config(&self) -> &BoardConfig {
        &self.meta.config
    }

    /// Returns the index of the first message that has not expired. Indices never change.
    pub fn first(&self) -> u64 {
        self.meta.first()
    }

    /// Returns the number of messages, including those that have expired.
    pub fn len(&self) -> u64 {
        self.meta.len()
    }

    /// Returns the running hash of the log after its first `length` messages. Returns `None` if the board has fewer
    /// messages, or if message `length` has expired.
    ///
    /// Errors: [`StoreError::Damaged`] where the hash is damaged and the messages from which it follows are, too; those
    /// of the database.
    pub fn hash_at(&self, length: u64) -> Result<Option<[u8; 32]>, StoreError> {
        chain::hash_at(self, length)
    }

    /// Returns whether no message was ever appended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends `messages` in one durable transaction, all or none, and returns their indices.
    ///
    /// On a board of bound clues every message needs a one-time key that no other message has. The caller must have
    /// tested the signature of that key: otherwise anybody who sees a message could post its key first, and have the
    /// message refused.
    ///
    /// The messages are on the disk when this returns. After an error nothing was appended, with one exception: if the
    /// disk wrote the append and then failed, the board cannot look. In that case the next append looks first, appends
    /// nothing if the messages are there, and returns [`StoreError::Unacknowledged`]. A failed append can be repeated
    /// once its cause is removed. Without messages there is no transaction.
    ///
    /// Errors: [`StoreError::ReadOnly`], [`StoreError::Size`], [`StoreError::UsedKey`], [`StoreError::Unacknowledged`],
    /// [`StoreError::DiskFull`], [`StoreError::Damaged`] where a lost list of one-time keys cannot be made again, and
    /// those of the database.
    pub fn append(&self, messages: &[Message]) -> Result<Range<u64>, StoreError> {
        check_sizes(&self.meta.layout, 0, messages)?;
        self.with_keys(|| self.try_append(messages, None))
    }

    /// Appends `messages` as [`Board::append`] does, with a hash of each message, which the board keeps for readers.
    /// The caller must have computed the hashes from these messages: a wrong hash makes digests wrong.
    ///
    /// Errors: [`StoreError::HashCount`] for more or fewer hashes than messages, and those of [`Board::append`].
    pub fn append_hashed(
        &self,
        messages: &[Message],
        hashes: &MessageHashes,
    ) -> Result<Range<u64>, StoreError> {
        check_sizes(&self.meta.layout, 0, messages)?;
        hashes.check(messages.len())?;
        self.with_keys(|| self.try_append(messages, Some(hashes)))
    }

    fn try_append(
        &self,
        messages: &[Message],
        hashes: Option<&MessageHashes>,
    ) -> Result<Range<u64>, StoreError> {
        let layout = &self.meta.layout;
        let mut acknowledged = lock(&self.acknowledged);
        let start = *acknowledged;
        let appended = self.meta.transact(|writing, state| {
            let end = state.len;
            if end != start {
                return Err(StoreError::Unacknowledged { start, end });
            }
            if messages.is_empty() {
                return Ok(Outcome::Nothing(start..start));
            }
            let used = Once::open(writing, layout, state)?.take(messages, start)?;
            if let Some(first) = used.first() {
                return Err(StoreError::UsedKey(*first));
            }
            let mut tail = Tail::open(writing, layout, state)?;
            tail.push_all(messages)?;
            tail.finish(writing, state)?;
            let mut keeper = Keeper::new(writing, layout);
            if let Some(MessageHashes { tag, hashes }) = hashes {
                keeper.push(start, *tag, hashes)?;
            }
            keeper.finish()?;
            Ok(Outcome::Commit(start..state.len))
        });
        match &appended {
            Ok(range) => *acknowledged = range.end,
            Err(StoreError::Unacknowledged { end, .. }) => *acknowledged = *end,
            Err(_) => {}
        }
        appended
    }

    /// Removes the messages before index `before` for good, and returns the range of those that were removed.
    ///
    /// The oldest messages are removed first, in durable transactions of 16,384, so a crash may leave some of them.
    /// After that the file is made smaller, unless a reader prevents it. The one-time keys of removed messages stay
    /// used.
    ///
    /// Errors: [`StoreError::ReadOnly`], [`StoreError::DiskFull`], [`StoreError::Row`] where the list of one-time keys
    /// is damaged, and those of the database.
    pub fn expire(&self, before: u64) -> Result<Range<u64>, StoreError> {
        let start = self.first();
        let last = before.min(self.len());
        let mut next = start;
        while next < last {
            let end = last.min(next.saturating_add(TOGETHER));
            self.with_keys(|| self.remove(next..end))?;
            next = end;
        }
        if next > start {
            self.meta.shrink();
        }
        Ok(start..next)
    }

    /// Removes the messages of `range`, the oldest of the board, in one transaction.
    fn remove(&self, range: Range<u64>) -> Result<(), StoreError> {
        let layout = &self.meta.layout;
        let keys = once::keys_read(self, range.clone())?;
        let base = chain::hash_before_expiry(self, range.end)?;
        self.meta.transact(|writing, state| {
            Once::open(writing, layout, state)?.spend(&keys)?;
            drop_runs(&mut writing.table(TAIL)?, layout, range.end)?;
            hashes::drop_before(writing, layout, range.end)?;
            chain::drop_before(writing, state, range.end, base)?;
            (state.first, state.sealed) = (range.end, range.end);
            Ok(Outcome::Commit(()))
        })
    }

    /// Runs `f`. If one-time keys turn out to be missing, makes their list again and runs `f` once more.
    fn with_keys<T>(&self, f: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        match f() {
            Err(StoreError::KeyCount(_)) => {
                once::list_all(self, &mut |_, _| {})?;
                f()
            }
            other => other,
        }
    }

    /// Calls `visit(index, clue, payload)` for every message of `range` in order, until it breaks. The checksum of
    /// every record is tested; for a message whose record is damaged, `visit` gets an empty clue and an empty payload.
    ///
    /// Errors: [`StoreError::OutOfRange`] and [`StoreError::Expired`], both before the first call; those of the
    /// database.
    pub fn read(&self, range: Range<u64>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.read_range(range, visit)
    }

    /// Reads the messages of `range`: their clues into `clues` and their payloads into `payloads`, one after another.
    /// Returns the indices of messages that are lost. Zeros stand for these; a real clue never begins with a zero.
    ///
    /// Shape: the length of `range` times the bytes of a clue or payload; former contents are dropped.
    /// Errors: those of [`Board::read`]; both vectors are then empty.
    pub fn read_into(
        &self,
        range: Range<u64>,
        clues: &mut Vec<u8>,
        payloads: &mut Vec<u8>,
    ) -> Result<Vec<u64>, StoreError> {
        clues.clear();
        payloads.clear();
        if range.end <= self.len() {
            // The range lies on the board, so the memory reserved is that of bytes on the disk.
            let count = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
            clues.reserve(count.saturating_mul(self.meta.layout.clue_bytes));
            payloads.reserve(count.saturating_mul(self.meta.layout.payload_bytes));
        }
        let layout = self.meta.layout;
        let mut lost = Vec::new();
        let result = self.read(range, &mut |index, clue, payload| {
            if clue.is_empty() {
                lost.push(index);
                clues.resize(clues.len() + layout.clue_bytes, 0);
                payloads.resize(payloads.len() + layout.payload_bytes, 0);
            } else {
                clues.extend_from_slice(clue);
                payloads.extend_from_slice(payload);
            }
            ControlFlow::Continue(())
        });
        if result.is_err() {
            clues.clear();
            payloads.clear();
        }
        result.map(|()| lost)
    }

    /// Returns the hashes that the board keeps under `tag`, one entry a message of `range`. Hashes lost to damage are
    /// `None`.
    ///
    /// Errors: [`StoreError::OutOfRange`], [`StoreError::Expired`], and those of the database.
    pub fn kept_hashes(
        &self,
        range: Range<u64>,
        tag: [u8; 4],
    ) -> Result<Vec<Option<[u8; 32]>>, StoreError> {
        hashes::kept_of(self, &range, tag)
    }

    /// Returns the hashes of all messages of `range`. Those that the board does not keep under `tag` are computed by
    /// `take`; [`Board::keep_hashes`] stores them.
    ///
    /// Errors: those of [`Board::read`].
    pub fn hashes(
        &self,
        range: Range<u64>,
        tag: [u8; 4],
        take: &mut Take<'_>,
    ) -> Result<Gathered, StoreError> {
        hashes::gather(self, range, tag, take)
    }

    /// Stores hashes of the messages from `first` on that the board does not keep yet.
    ///
    /// Errors: [`StoreError::ReadOnly`], and those of the database.
    pub fn keep_hashes(&self, first: u64, hashes: &MessageHashes) -> Result<(), StoreError> {
        hashes::keep_again(&self.meta, first, hashes)
    }

    /// Returns the size and the configuration of the board.
    ///
    /// Errors: those of the disk.
    pub fn stat(&self) -> Result<Stat, StoreError> {
        let (bytes_on_disk, file_bytes) = self.meta.source().bytes()?;
        let layout = &self.meta.layout;
        let message = (layout.clue_bytes + layout.payload_bytes) as u64;
        let (messages, first) = (self.len(), self.first());
        Ok(Stat {
            messages,
            first,
            bytes_on_disk,
            file_bytes,
            message_bytes: (messages - first).saturating_mul(message),
            config: self.meta.config.clone(),
        })
    }
}
