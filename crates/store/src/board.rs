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
/// Any number of processes may have it open for reading, or one for writing. Memory: the cache of
/// the database (64 MiB) and 1 MiB of messages, whatever the length of the board. A program that
/// aborts on panic loses the protection against files so damaged that the database panics on them.
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
    /// The messages that callers know of: more are there after an append that landed unseen.
    acknowledged: Mutex<u64>,
}

/// The size of a local board and what it is made of.
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
    /// The configuration.
    pub config: BoardConfig,
}

impl Log for Board {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Opening has tested that there is none.
    fn in_segment(&self, segment: &Segment, _: u64, _: u64) -> Result<Piece, StoreError> {
        Err(StoreError::NotABoard {
            path: segment.name().into(),
            what: Foreign::Server,
        })
    }
}

impl Board {
    /// Creates an empty board in the folder `dir`, itself created where absent, and opens it.
    ///
    /// A crash on the way leaves no board.
    ///
    /// Errors: [`StoreError::Config`], [`StoreError::Exists`], and those of the disk.
    pub fn create(dir: impl AsRef<Path>, config: &BoardConfig) -> Result<Self, StoreError> {
        config.check()?;
        create_folder(dir.as_ref())?;
        let path = dir.as_ref().join(BOARD_FILE);
        // Before any work, for the common mistake; the publishing below decides.
        if fs::exists(&path)? {
            return Err(StoreError::Exists(path));
        }
        publish(&path, config, |database| initialise(database, config))?;
        Self::open(dir)
    }

    /// Opens the board in the folder `dir` for reading and appending; recovers it after a crash.
    ///
    /// Errors: [`StoreError::Missing`], [`StoreError::NotABoard`],
    /// [`StoreError::Version`], [`StoreError::Locked`] while any other handle has it open, and
    /// those of damage.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = dir.as_ref().join(BOARD_FILE);
        Self::open_source(Source::File(path), Access::ReadWrite)
    }

    /// Opens the board in the folder `dir` for reading; other readers may have it open too.
    ///
    /// Errors: as [`Board::open`]; [`StoreError::Locked`] while a writer has it open,
    /// [`StoreError::NeedsRecovery`] where one crashed.
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

    /// The first message that is there: those before have expired. Indices never change.
    pub fn first(&self) -> u64 {
        self.meta.first()
    }

    /// The number of messages, those that have expired among them.
    pub fn len(&self) -> u64 {
        self.meta.len()
    }

    /// The running hash of the log at a length: of its first `length` messages. None where the board is shorter, or
    /// where messages from there on have expired.
    ///
    /// Errors: [`StoreError::Damaged`] where hashes and messages before it are damaged; those of the database.
    pub fn hash_at(&self, length: u64) -> Result<Option<[u8; 32]>, StoreError> {
        chain::hash_at(self, length)
    }

    /// Whether there never was a message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends `messages` in one durable transaction, all or none, and returns their indices.
    ///
    /// On a board of bound clues every message needs a one-time key that no other has. The caller has tested that
    /// the key signed: without that, whoever sees a message could have its key refused by posting first.
    ///
    /// They are on the disk when this returns. An error means that nothing was appended, with one exception: the disk
    /// took the append and then failed, so that the board could not look. Its next append does so first, and reports
    /// [`StoreError::Unacknowledged`]. Appending again is possible once the cause is gone. No message, no transaction.
    ///
    /// Errors: [`StoreError::ReadOnly`], [`StoreError::Size`], [`StoreError::UsedKey`],
    /// [`StoreError::Unacknowledged`], [`StoreError::DiskFull`], [`StoreError::Damaged`] where a lost list of one-time
    /// keys cannot be made anew, and those of the database.
    pub fn append(&self, messages: &[Message]) -> Result<Range<u64>, StoreError> {
        check_sizes(&self.meta.layout, 0, messages)?;
        self.with_keys(|| self.try_append(messages, None))
    }

    /// The same with a hash of each message, which the board keeps for readers. The caller has taken them from the
    /// messages: a wrong one makes digests wrong.
    ///
    /// Errors: [`StoreError::HashCount`]; as [`Board::append`].
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

    /// Removes the messages before `before` for good, and gives those that went.
    ///
    /// They go by 16,384 in durable transactions, the oldest first, so a crash leaves some of them; then the file is
    /// made smaller where no reader is in the way. One-time keys stay used.
    ///
    /// Errors: [`StoreError::ReadOnly`], [`StoreError::DiskFull`], [`StoreError::Row`] where the list of one-time keys
    /// is damaged, and those of the database.
    pub fn expire(&self, before: u64) -> Result<Range<u64>, StoreError> {
        let (start, before) = (self.first(), before.min(self.len()));
        let mut next = start;
        while next < before {
            let end = before.min(next.saturating_add(TOGETHER));
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

    /// Does `f`; where that finds one-time keys missing, makes their list anew and does it again.
    fn with_keys<T>(&self, f: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        match f() {
            Err(StoreError::KeyCount(_)) => {
                once::list_all(self, &mut |_, _| {})?;
                f()
            }
            other => other,
        }
    }

    /// Calls `visit(index, clue, payload)` for every message of `range` in order, until it breaks.
    /// Every record's checksum is tested; a message whose record is damaged is lost and comes with an empty clue.
    ///
    /// Errors: [`StoreError::OutOfRange`], [`StoreError::Expired`] before any call; those of the database.
    pub fn read(&self, range: Range<u64>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.read_range(range, visit)
    }

    /// Reads `range` in bulk: clues one after another into `clues`, payloads into `payloads`. Returns the indices of
    /// messages that are lost; zeros stand for them, and no kind of clue begins with zero.
    ///
    /// Shape: `range` length times the clue and the payload bytes; former contents are dropped.
    /// Errors: as [`Board::read`]; both vectors are then empty.
    pub fn read_into(
        &self,
        range: Range<u64>,
        clues: &mut Vec<u8>,
        payloads: &mut Vec<u8>,
    ) -> Result<Vec<u64>, StoreError> {
        clues.clear();
        payloads.clear();
        if range.end <= self.len() {
            // The range lies on the board, so the sizes are those of bytes on disk.
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

    /// The hashes of messages as far as the board keeps them under a tag; what damage took is missing.
    ///
    /// Errors: [`StoreError::OutOfRange`], [`StoreError::Expired`], those of the database.
    pub fn kept_hashes(
        &self,
        range: Range<u64>,
        tag: [u8; 4],
    ) -> Result<Vec<Option<[u8; 32]>>, StoreError> {
        hashes::kept_of(self, &range, tag)
    }

    /// The hashes of all messages of a range: those that are kept under a tag, and the others taken now, for
    /// [`Board::keep_hashes`].
    ///
    /// Errors: as [`Board::read`].
    pub fn hashes(
        &self,
        range: Range<u64>,
        tag: [u8; 4],
        take: &mut Take<'_>,
    ) -> Result<Gathered, StoreError> {
        hashes::gather(self, range, tag, take)
    }

    /// Keeps hashes of messages from `first` on in place of those that are missing.
    ///
    /// Errors: [`StoreError::ReadOnly`], those of the database.
    pub fn keep_hashes(&self, first: u64, hashes: &MessageHashes) -> Result<(), StoreError> {
        hashes::keep_again(&self.meta, first, hashes)
    }

    /// The size of the board.
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
