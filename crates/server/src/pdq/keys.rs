//! Clients' evaluation keys: files in a folder, some of them in memory; those unused for longest give way.

use super::tables::Sets;
use omr_pdq::{EvaluationKey, KeyError, Params};
use omr_protocol::frame::{FrameError, FrameReader, Kind};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// BLAKE3 of a key's file.
pub(super) type Hash = [u8; 32];

/// Bytes that hold the header of any key.
const HEADER_BYTES: u64 = 128;
const ENDING: &str = "key";
/// How the names of files begin that are not whole yet.
const UPLOAD: &str = ".upload-";

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum LoadError {
    /// The disk.
    #[error("reading the key: {0}")]
    Read(#[from] io::Error),
    /// No key, or damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// No key of its set.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Of a set that is not served.
    #[error("expected a key of one of the parameter sets {known}, found one of {found:?}")]
    Params {
        /// Those that are served.
        known: String,
        /// The key's.
        found: String,
    },
}

/// A key ready for work.
pub(super) struct Loaded {
    pub(super) params: Arc<Params>,
    pub(super) key: EvaluationKey,
}

/// The one unused for longest first.
#[derive(Default)]
struct Inner {
    files: VecDeque<(Hash, u64)>,
    loaded: VecDeque<(Hash, Arc<Loaded>)>,
}

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Files, at least 1.
    pub(super) keys: usize,
    /// Their bytes; one key is kept in any case.
    pub(super) bytes: u64,
    /// Keys in memory, at least 1.
    pub(super) in_memory: usize,
}

/// The keys that a server has.
pub(super) struct Keys {
    dir: PathBuf,
    room: Room,
    inner: Mutex<Inner>,
}

impl Keys {
    /// Opens the folder, creates it where absent, removes what is no whole key.
    pub(super) fn open(dir: &Path, room: Room) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            match hash_of(&name) {
                Some(hash) => files.push((metadata.modified()?, hash, metadata.len())),
                None if name.starts_with(UPLOAD) => fs::remove_file(entry.path())?,
                None => {}
            }
        }
        files.sort_unstable();
        let files = files.into_iter().map(|(_, hash, bytes)| (hash, bytes));
        let keys = Self {
            dir: dir.to_owned(),
            room,
            inner: Mutex::new(Inner {
                files: files.collect(),
                loaded: VecDeque::new(),
            }),
        };
        keys.make_room(&mut keys.lock());
        Ok(keys)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        let name = blake3::Hash::from_bytes(*hash).to_hex();
        self.dir.join(format!("{name}.{ENDING}"))
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lock().files.len()
    }

    /// Whether it has a key, which then counts as used.
    pub(super) fn find(&self, hash: &Hash) -> bool {
        touch(&mut self.lock().files, hash).is_some()
    }

    /// A file for an upload.
    pub(super) fn upload(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new()
            .prefix(UPLOAD)
            .tempfile_in(&self.dir)
    }

    /// Keeps a file that was checked.
    pub(super) fn add(
        &self,
        file: NamedTempFile,
        hash: Hash,
        loaded: Arc<Loaded>,
    ) -> io::Result<()> {
        let bytes = file.as_file().metadata()?.len();
        file.as_file().sync_all()?;
        let mut inner = self.lock();
        file.persist(self.path(&hash))
            .map_err(|error| error.error)?;
        inner.files.retain(|(known, _)| *known != hash);
        inner.files.push_back((hash, bytes));
        self.remember(&mut inner, hash, loaded);
        self.make_room(&mut inner);
        Ok(())
    }

    /// A key ready for work; none where it was forgotten.
    pub(super) fn get(&self, hash: &Hash, sets: &Sets) -> Result<Option<Arc<Loaded>>, LoadError> {
        let mut inner = self.lock();
        if touch(&mut inner.files, hash).is_none() {
            return Ok(None);
        }
        if let Some(loaded) = touch(&mut inner.loaded, hash) {
            return Ok(Some(loaded));
        }
        let opened = File::open(self.path(hash));
        drop(inner);
        let loaded = Arc::new(load(opened?, sets)?);
        self.remember(&mut self.lock(), *hash, loaded.clone());
        Ok(Some(loaded))
    }

    /// Forgets a key, such as one that a disk damaged.
    pub(super) fn forget(&self, hash: &Hash) {
        let mut inner = self.lock();
        inner.files.retain(|(known, _)| known != hash);
        inner.loaded.retain(|(known, _)| known != hash);
        self.remove(hash);
    }

    fn remove(&self, hash: &Hash) {
        if let Err(error) = fs::remove_file(self.path(hash)) {
            tracing::warn!(%error, "a forgotten key stays on the disk");
        }
    }

    fn remember(&self, inner: &mut Inner, hash: Hash, loaded: Arc<Loaded>) {
        inner.loaded.retain(|(known, _)| *known != hash);
        inner.loaded.push_back((hash, loaded));
        while inner.loaded.len() > self.room.in_memory {
            inner.loaded.pop_front();
        }
    }

    fn make_room(&self, inner: &mut Inner) {
        let bytes = |inner: &Inner| inner.files.iter().map(|(_, bytes)| bytes).sum::<u64>();
        while inner.files.len() > 1
            && (inner.files.len() > self.room.keys || bytes(inner) > self.room.bytes)
        {
            let Some((hash, _)) = inner.files.pop_front() else {
                return;
            };
            inner.loaded.retain(|(known, _)| *known != hash);
            self.remove(&hash);
        }
    }
}

/// Reads a key whole.
///
/// Errors: any `LoadError`.
pub(super) fn load(file: impl Read, sets: &Sets) -> Result<Loaded, LoadError> {
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut start = Vec::new();
    file.by_ref().take(HEADER_BYTES).read_to_end(&mut start)?;
    let frame = FrameReader::read_header(&start[..], Kind::PdqKey, u64::MAX)?;
    let found = frame.header().params_id.clone();
    let Some(params) = sets.find(&found) else {
        let known = sets.names().join(", ");
        return Err(LoadError::Params { known, found });
    };
    let key = EvaluationKey::read(&params, Cursor::new(start).chain(file))?;
    Ok(Loaded { params, key })
}

/// Finds an entry and puts it last.
fn touch<T: Clone>(entries: &mut VecDeque<(Hash, T)>, hash: &Hash) -> Option<T> {
    let at = entries.iter().position(|(known, _)| known == hash)?;
    let entry = entries.remove(at)?;
    entries.push_back(entry.clone());
    Some(entry.1)
}

/// The hash that a file is named by.
fn hash_of(name: &str) -> Option<Hash> {
    let (hash, ending) = name.split_once('.')?;
    let hash = blake3::Hash::from_hex(hash).ok()?;
    (ending == ENDING).then(|| *hash.as_bytes())
}
