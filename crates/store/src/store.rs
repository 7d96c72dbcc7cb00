//! The store: its configuration, creation and opening, and its parts.

mod append;
mod backup;
mod backups;
mod blocks;
mod expire;
pub(crate) mod frames;
mod hashes;
mod keys;
mod mend;
pub(crate) mod objects;
mod once;
mod partial;
mod posts;
mod records;
mod repair;
mod restore;
mod seal;
pub(crate) mod sealed;
mod uploads;
mod verify;

pub use append::{Appended, Post, Refusal};
pub use backup::Piece;
pub use backups::Pruned;
pub use blocks::{Block, BlockRefusal, Fed, LeftOut, Placed};
pub use expire::{Expired, Expiry};
pub use frames::BACKUP_VERSION;
pub use objects::Objects;
use omr_errors::Mismatch;
pub use records::{Change, KeyValue};
pub use restore::Restored;
pub use sealed::SEGMENT_VERSION;
pub use uploads::Upload;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

use crate::chain;
use crate::config::BoardConfig;
use crate::database::{Access, Source, create_folder};
use crate::error::{ConfigField, Evidence, StoreError};
use crate::format::{History, decode_config, encode_config};
use crate::meta::{Meta, lock};
use crate::publish::publish;
use crate::segment::{SEGMENTS_PREFIX, Segment};
use crate::tables::{List, View, initialise};
use append::POST_ID_MEMORY;
use objects::{KEYS_PREFIX, MARKER, Place, key_name};
use sealed::Cache;
use uploads::Uploads;

/// The name of the meta file.
pub const META_FILE: &str = "meta.redb";
/// The name of the folder of objects, if they are local.
pub const OBJECTS_DIR: &str = "objects";
/// The name of the folder of unfinished uploads.
pub const UPLOADS_DIR: &str = "uploads";

/// The default of [`StoreConfig::fork_blocks`]: chains of the field do not go back further.
const FORK_BLOCKS: u64 = 100;

/// The place of a store, and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreConfig {
    /// The folder of the store, which no other store may share.
    pub dir: PathBuf,
    /// The place of segments and keys.
    pub objects: Objects,
    /// The number of messages in a segment. It may change between openings.
    pub segment_messages: u64,
    /// The number of blocks at the end of a board of blocks that another branch may replace. Their messages are in no
    /// segment.
    pub fork_blocks: u64,
    /// The least time for which the id of a post is remembered.
    pub post_id_memory: Duration,
    /// The greatest number of bytes of all unfinished uploads together, as far as they were received. Each upload
    /// counts at least 1 MiB.
    pub upload_bytes: u64,
}

impl StoreConfig {
    /// Returns a configuration with local objects and common limits: segments of 4,096 messages, forks of 100 blocks, ids
    /// remembered for 7 days, 4 GiB of unfinished uploads.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            objects: Objects::Local,
            segment_messages: 4096,
            fork_blocks: FORK_BLOCKS,
            post_id_memory: POST_ID_MEMORY,
            upload_bytes: 4 << 30,
        }
    }

    pub(crate) fn place(&self) -> Result<Place, StoreError> {
        Place::open(&self.objects, self.dir.join(OBJECTS_DIR))
    }
}

/// The durable state of one server. Clones share it.
///
/// Calls block on the disk and the bucket; an async caller makes them on threads for blocking work.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) meta: Meta,
    pub(crate) place: Arc<Place>,
    pub(crate) cache: Cache,
    pub(crate) uploads: Uploads,
    pub(crate) totals: Mutex<Totals>,
    pub(crate) sealing: Mutex<()>,
    /// Locked for reading while objects are created or copied, and for writing while objects are removed.
    pub(crate) gate: RwLock<()>,
    pub(crate) segment_messages: u64,
    pub(crate) fork_blocks: u64,
    pub(crate) post_id_memory: Duration,
}

/// Counts that follow the tables.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) segments: u64,
    pub(crate) segment_bytes: u64,
    pub(crate) keys: u64,
    pub(crate) key_bytes: u64,
    /// The meta file's [`Meta::epoch`] at the time of the count.
    pub(crate) epoch: u64,
}

/// The end of a log at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// The number of messages, including those that have expired.
    pub messages: u64,
    /// The index of the first message that has not expired.
    pub first: u64,
    /// The running hash of the log.
    pub hash: [u8; 32],
}

/// The amounts of data in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// The number of messages, including those that have expired.
    pub messages: u64,
    /// The index of the first message that has not expired.
    pub first: u64,
    /// The number of messages that are in no segment yet.
    pub tail_messages: u64,
    /// The number of segments.
    pub segments: u64,
    /// The bytes of all segments.
    pub segment_bytes: u64,
    /// The number of detection keys.
    pub keys: u64,
    /// The bytes of all detection keys.
    pub key_bytes: u64,
    /// The bytes received of unfinished uploads.
    pub upload_bytes: u64,
    /// The bytes that the meta file occupies; on Unix without its holes.
    pub meta_bytes: u64,
}

impl Store {
    /// Creates an empty store in `config.dir`. The folder is created if it does not exist.
    ///
    /// A crash before the end leaves no store.
    ///
    /// Errors: [`StoreError::Config`], [`StoreError::Exists`], [`StoreError::ObjectsExist`] where the place of the
    /// objects contains some of another board, and those of disk and bucket.
    pub fn create(config: &StoreConfig, board: &BoardConfig) -> Result<(), StoreError> {
        board.check()?;
        config.check()?;
        create_folder(&config.dir)?;
        let path = config.dir.join(META_FILE);
        if fs::exists(&path)? {
            return Err(StoreError::Exists(path));
        }
        let place = config.place()?;
        claim(&place, board, false)?;
        publish(&path, board, |database| initialise(database, board))
    }

    /// Returns whether the folder `dir` contains backups.
    pub fn has_backups(dir: &Path) -> bool {
        frames::newest_first(dir).is_ok()
    }

    /// Returns whether the folder `dir` contains a store.
    pub fn exists(dir: &Path) -> bool {
        dir.join(META_FILE).is_file()
    }

    /// Opens a store. Recovers it after a crash.
    ///
    /// Errors: [`StoreError::Missing`], [`StoreError::NotABoard`], [`StoreError::Version`],
    /// [`StoreError::Locked`], [`StoreError::OtherBoard`], and those of damage, disk and bucket.
    pub fn open(config: &StoreConfig) -> Result<Self, StoreError> {
        config.check()?;
        let source = Source::File(config.dir.join(META_FILE));
        let meta = Meta::open(source, Access::ReadWrite)?;
        Self::assemble(config, meta, config.place()?)
    }

    pub(crate) fn assemble(
        config: &StoreConfig,
        meta: Meta,
        place: Place,
    ) -> Result<Self, StoreError> {
        let named = meta.view(Named::of)?;
        for fault in named.faults() {
            tracing::error!(%fault, "a damaged row is set aside; run `omr data verify`");
        }
        require_place(&place, &meta.config, &named)?;
        mend::segments(&meta, &place)?;
        let uploads = Uploads::open(config.dir.join(UPLOADS_DIR), config.upload_bytes, &meta)?;
        let store = Self(Arc::new(Inner {
            meta,
            place: Arc::new(place),
            cache: Cache::default(),
            uploads,
            totals: Mutex::default(),
            sealing: Mutex::new(()),
            gate: RwLock::new(()),
            segment_messages: config.segment_messages,
            fork_blocks: config.fork_blocks,
            post_id_memory: config.post_id_memory,
        }));
        store.count()?;
        Ok(store)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Counts segments and keys.
    pub(crate) fn count(&self) -> Result<(), StoreError> {
        let epoch = self.inner().meta.epoch();
        let (segments, keys) = self
            .inner()
            .meta
            .view(|view| Ok((sealed::list(view)?.intact, keys::list(view)?.intact)))?;
        *lock(&self.inner().totals) = Totals {
            segments: segments.len() as u64,
            segment_bytes: segments.iter().map(|segment| segment.bytes).sum(),
            keys: keys.len() as u64,
            key_bytes: keys.iter().map(|(_, bytes)| bytes).sum(),
            epoch,
        };
        Ok(())
    }

    /// Returns the configuration of the board.
    pub fn board(&self) -> &BoardConfig {
        &self.inner().meta.config
    }

    /// Returns the number of messages, including those that have expired.
    pub fn len(&self) -> u64 {
        self.inner().meta.len()
    }

    /// Returns the index of the first message that has not expired. Indices never change.
    pub fn first(&self) -> u64 {
        self.inner().meta.first()
    }

    /// Returns the running hash of the log after its first `length` messages. Returns `None` if the log is shorter, or
    /// if message `length` has expired.
    ///
    /// Errors: [`StoreError::Damaged`] where the hash is damaged and the messages from which it follows are, too; those
    /// of the database.
    pub fn hash_at(&self, length: u64) -> Result<Option<[u8; 32]>, StoreError> {
        chain::hash_at(self, length)
    }

    /// Returns the number of messages, the running hash of the log at that length, and the index of the first message
    /// that has not expired, all at one moment.
    ///
    /// Errors: those of the database.
    pub fn head(&self) -> Result<Head, StoreError> {
        let state = self.inner().meta.view(View::state)?;
        Ok(Head {
            messages: state.len,
            first: state.first,
            hash: state.head,
        })
    }

    /// Returns the current history of the board. It began with the last restore of a backup, or with the creation of
    /// the board.
    pub fn history(&self) -> History {
        self.inner().meta.history()
    }

    /// Returns whether no message was ever appended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a receiver of the number of messages, which changes after each durable append.
    pub fn lengths(&self) -> watch::Receiver<u64> {
        self.inner().meta.lengths.subscribe()
    }

    /// Returns the segments in order, without those whose rows are damaged.
    ///
    /// Errors: those of the database.
    pub fn segments(&self) -> Result<Vec<Segment>, StoreError> {
        Ok(self.inner().meta.view(sealed::list)?.intact)
    }

    /// Returns the total time for which the store has been open, in milliseconds. It does not depend on a wall clock.
    pub fn clock(&self) -> u64 {
        self.inner().meta.clock()
    }

    /// Returns the amounts of data in the store.
    pub fn usage(&self) -> Usage {
        let inner = self.inner();
        if lock(&inner.totals).epoch != inner.meta.epoch() {
            // A transaction may have been written although its call failed.
            let _ = self.count();
        }
        let totals = *lock(&inner.totals);
        let messages = self.len();
        let sealed = inner.meta.view(|view| Ok(view.state()?.sealed));
        Usage {
            messages,
            first: self.first(),
            tail_messages: messages.saturating_sub(sealed.unwrap_or_default()),
            segments: totals.segments,
            segment_bytes: totals.segment_bytes,
            keys: totals.keys,
            key_bytes: totals.key_bytes,
            upload_bytes: inner.uploads.bytes(),
            meta_bytes: inner.meta.source().bytes().map_or(0, |(taken, _)| taken),
        }
    }

    /// Removes objects that no row of the meta file names, which crashes leave. Returns their number.
    ///
    /// Removes nothing while objects are created or backed up, or while a damaged row hides the name of an object.
    ///
    /// Errors: those of the database and of the objects.
    pub fn sweep(&self) -> Result<u64, StoreError> {
        let inner = self.inner();
        let Ok(_gate) = inner.gate.try_write() else {
            return Ok(0);
        };
        let mut removed = 0;
        let named = inner.meta.view(Named::of)?;
        if named.faults().next().is_some() {
            return Ok(0);
        }
        let names = named.names();
        for folder in [SEGMENTS_PREFIX, KEYS_PREFIX] {
            for (name, _) in inner.place.list(folder)? {
                if !names.contains(&name) {
                    inner.place.delete(&name)?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

impl Inner {
    /// Keeps objects from being removed while the guard lives.
    pub(crate) fn keep_objects(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreConfig {
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.segment_messages == 0 {
            return Err(StoreError::Config {
                field: ConfigField::SegmentMessages,
                least: 1,
                most: u64::MAX,
                found: 0,
            });
        }
        Ok(())
    }
}

/// Marks the place of the objects as that of `board`. There may be no objects, or with `reuse` those of this board:
/// objects of another board must never be removed.
pub(crate) fn claim(place: &Place, board: &BoardConfig, reuse: bool) -> Result<(), StoreError> {
    let own = marked(place)?.is_some_and(|found| found.board_id == board.board_id);
    if !(own && reuse) {
        for folder in [SEGMENTS_PREFIX, KEYS_PREFIX] {
            if let Some((found, _)) = place.list(folder)?.into_iter().next() {
                return Err(StoreError::ObjectsExist(found));
            }
        }
    }
    place.put(MARKER, Bytes::from(encode_config(board)))
}

/// Returns the board with which the place of the objects is marked.
fn marked(place: &Place) -> Result<Option<BoardConfig>, StoreError> {
    let Some(bytes) = place.get(MARKER)? else {
        return Ok(None);
    };
    let damaged = || StoreError::Damaged {
        object: MARKER.into(),
        first: 0,
        end: 0,
        evidence: Mismatch::new(Evidence::Present, Evidence::Malformed),
    };
    decode_config(&bytes).ok_or_else(damaged).map(Some)
}

/// The objects that the tables name.
struct Named {
    segments: List<Segment>,
    keys: List<([u8; 32], u64)>,
}

impl Named {
    fn of(view: &View) -> Result<Self, StoreError> {
        Ok(Self {
            segments: sealed::list(view)?,
            keys: keys::list(view)?,
        })
    }

    /// Returns the faults of damaged rows.
    fn faults(&self) -> impl Iterator<Item = &StoreError> {
        self.segments.faults.iter().chain(&self.keys.faults)
    }

    fn names(&self) -> HashSet<String> {
        let segments = self.segments.intact.iter().map(Segment::name);
        let keys = self.keys.intact.iter().map(|(hash, _)| key_name(hash));
        segments.chain(keys).collect()
    }
}

/// Returns the fault of the marker at the place of the objects, if there is one.
pub(crate) fn marker_fault(place: &Place) -> Result<Option<StoreError>, StoreError> {
    match marked(place) {
        Ok(Some(_)) => Ok(None),
        Ok(None) => Ok(Some(StoreError::Damaged {
            object: MARKER.into(),
            first: 0,
            end: 0,
            evidence: Mismatch::new(Evidence::Present, Evidence::Missing),
        })),
        Err(fault @ StoreError::Damaged { .. }) => Ok(Some(fault)),
        Err(other) => Err(other),
    }
}

/// Tests that the place of the objects belongs to `board`: by its marker or, if that is damaged or missing, by the
/// objects. There may be no objects of other boards, and at least one object that the tables name must be there.
///
/// Errors: [`StoreError::OtherBoard`], and [`StoreError::Damaged`] where the owner cannot be determined.
fn require_place(place: &Place, board: &BoardConfig, named: &Named) -> Result<(), StoreError> {
    let Some(fault) = marker_fault(place)? else {
        return match marked(place)? {
            Some(found) if found.board_id != board.board_id => Err(StoreError::OtherBoard(
                Mismatch::new(board.board_id, found.board_id),
            )),
            _ => Ok(()),
        };
    };
    let names = named.names();
    let segments = place.list(SEGMENTS_PREFIX)?;
    for (name, _) in segments.iter().filter(|(name, _)| !names.contains(name)) {
        let head = place
            .reader(name)?
            .map(|mut reader| reader.next())
            .transpose()?;
        if let Some(found) = head.and_then(|bytes| sealed::board_of(&bytes))
            && found != board.board_id
        {
            return Err(StoreError::OtherBoard(Mismatch::new(board.board_id, found)));
        }
    }
    let keys = place.list(KEYS_PREFIX)?;
    let own = |(name, _): &(String, u64)| names.contains(name);
    let known = segments.iter().chain(&keys).any(own);
    let only_own = segments.is_empty() && keys.iter().all(own);
    if known || (names.is_empty() && only_own) {
        tracing::error!(%fault, "the objects are this board's all the same; `omr data repair` marks them again");
        return Ok(());
    }
    Err(fault)
}
