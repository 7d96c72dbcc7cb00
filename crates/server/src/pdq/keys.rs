//! Clients' evaluation keys: files in a folder, some of them in memory. Where there is no room, the client with the
//! most keys loses its least recently used one, so that nobody displaces the keys of others.

use super::tables::Sets;
use crate::caller::Caller;
use crate::strangers::of_strangers;
use omr_pdq::{EvaluationKey, KeyError, Params};
use omr_protocol::Mismatch;
use omr_protocol::frame::{FrameError, Kind, Opened};
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The BLAKE3 hash of a key's file.
pub(super) type Hash = [u8; 32];

const ENDING: &str = "key";
/// The beginning of the names of unfinished files.
const UPLOAD: &str = ".upload-";

/// The error of a key that cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum LoadError {
    /// The file cannot be read.
    #[error("reading the key: {0}")]
    Read(#[from] io::Error),
    /// The file is not a key, or is damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The key does not fit its parameter set.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The key's parameter set is not served.
    #[error("expected a key of one of the parameter sets {}, found one of {:?}", .0.expected, .0.found)]
    Params(Mismatch<String>),
}

/// A key in memory.
pub(super) struct Loaded {
    pub(super) params: Arc<Params>,
    pub(super) key: EvaluationKey,
}

/// The owner of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The account of a token, as a hash of its name.
    Account(u64),
    /// A client without a token, as far as this process can distinguish them.
    Stranger(u64),
}

impl Owner {
    pub(super) fn of(caller: &Caller) -> Self {
        if caller.is_anonymous() {
            Self::Stranger(caller.client)
        } else {
            Self::Account(account_tag(&caller.account))
        }
    }

    fn is_stranger(self) -> bool {
        matches!(self, Self::Stranger(_))
    }
}

/// Returns the tag of an account in the names of files, which stays the same after a restart.
fn account_tag(account: &str) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("omr server v1 owner of a query key");
    let hash = hasher.update(account.as_bytes()).finalize();
    u64::from_be_bytes(*hash.as_bytes().first_chunk().expect("32 bytes"))
}

/// The file of a key.
#[derive(Clone, Copy, Debug)]
struct Kept {
    bytes: u64,
    owner: Owner,
}

/// The files and the keys in memory, the least recently used first.
#[derive(Default)]
struct Inner {
    files: VecDeque<(Hash, Kept)>,
    loaded: VecDeque<(Hash, Arc<Loaded>)>,
}

/// The limits of a server's keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The greatest number of files, at least 1.
    pub(super) keys: usize,
    /// The greatest number of bytes of all files. One key is kept in any case.
    pub(super) bytes: u64,
    /// The greatest number of keys in memory, at least 1.
    pub(super) in_memory: usize,
}

/// The keys of a server.
pub(super) struct Keys {
    dir: PathBuf,
    room: Room,
    inner: Mutex<Inner>,
}

impl Keys {
    /// Opens the folder, and creates it if it does not exist. Removes unfinished files.
    pub(super) fn open(dir: &Path, room: Room) -> io::Result<Self> {
        omr_disk::create_folders(dir)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(dir)? {
            let file = entry?;
            let metadata = file.metadata()?;
            let file_name = file.file_name();
            let name = file_name.to_string_lossy();
            match hash_of(&name) {
                Some((hash, owner)) => {
                    let bytes = metadata.len();
                    files.push((metadata.modified()?, hash, Kept { bytes, owner }));
                }
                None if name.starts_with(UPLOAD) => fs::remove_file(file.path())?,
                None => {}
            }
        }
        files.sort_unstable_by_key(|(modified, hash, _)| (*modified, *hash));
        let keys = Self {
            dir: dir.to_owned(),
            room,
            inner: Mutex::new(Inner {
                files: files
                    .into_iter()
                    .map(|(_, hash, kept)| (hash, kept))
                    .collect(),
                loaded: VecDeque::new(),
            }),
        };
        keys.make_room(&mut keys.lock());
        Ok(keys)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, hash: &Hash, owner: Owner) -> PathBuf {
        let name = blake3::Hash::from_bytes(*hash).to_hex();
        // No part of a stranger's address is written to the disk.
        self.dir.join(match owner {
            Owner::Account(tag) => format!("{name}.{tag:016x}.{ENDING}"),
            Owner::Stranger(_) => format!("{name}.{ENDING}"),
        })
    }

    /// Returns the number of keys.
    pub(super) fn count(&self) -> usize {
        self.lock().files.len()
    }

    /// Returns whether there is a key with this hash, and marks it as used.
    pub(super) fn find(&self, hash: &Hash) -> bool {
        touch(&mut self.lock().files, hash).is_some()
    }

    /// Creates a file for an upload.
    pub(super) fn upload(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new()
            .prefix(UPLOAD)
            .tempfile_in(&self.dir)
    }

    /// Stores a checked file.
    pub(super) fn add(
        &self,
        file: NamedTempFile,
        hash: Hash,
        owner: Owner,
        loaded: Arc<Loaded>,
    ) -> io::Result<()> {
        let mut inner = self.keep(file, hash, owner)?;
        self.remember(&mut inner, hash, loaded);
        self.make_room(&mut inner);
        Ok(())
    }

    /// Gives a file its final name, and marks its key as used.
    fn keep(
        &self,
        file: NamedTempFile,
        hash: Hash,
        owner: Owner,
    ) -> io::Result<MutexGuard<'_, Inner>> {
        let bytes = file.as_file().metadata()?.len();
        omr_disk::sync(file.as_file())?;
        let mut inner = self.lock();
        file.persist(self.path(&hash, owner))
            .map_err(|error| error.error)?;
        omr_disk::sync_folder(&self.dir)?;
        // The key now belongs to its last sender, even if another client sent it before.
        let known = inner.files.iter().find(|(known, _)| *known == hash);
        if let Some((_, before)) = known.filter(|(_, before)| before.owner != owner) {
            let (old, new) = (self.path(&hash, before.owner), self.path(&hash, owner));
            if old != new {
                remove(&old);
            }
        }
        inner.files.retain(|(known, _)| *known != hash);
        inner.files.push_back((hash, Kept { bytes, owner }));
        Ok(inner)
    }

    /// Returns a key in memory. Returns `None` if there is no key with this hash.
    pub(super) fn get(&self, hash: &Hash, sets: &Sets) -> Result<Option<Arc<Loaded>>, LoadError> {
        let mut inner = self.lock();
        let Some(kept) = touch(&mut inner.files, hash) else {
            return Ok(None);
        };
        if let Some(loaded) = touch(&mut inner.loaded, hash) {
            return Ok(Some(loaded));
        }
        let opened = File::open(self.path(hash, kept.owner));
        drop(inner);
        let loaded = Arc::new(load(opened?, sets)?);
        self.remember(&mut self.lock(), *hash, loaded.clone());
        Ok(Some(loaded))
    }

    /// Removes a key, for example one that is damaged on the disk.
    pub(super) fn forget(&self, hash: &Hash) {
        let mut inner = self.lock();
        if let Some(at) = inner.files.iter().position(|(known, _)| known == hash) {
            self.drop_at(&mut inner, at);
        }
    }

    fn drop_at(&self, inner: &mut Inner, at: usize) {
        if let Some((hash, kept)) = inner.files.remove(at) {
            inner.loaded.retain(|(known, _)| *known != hash);
            remove(&self.path(&hash, kept.owner));
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
        while inner.files.len() > 1
            && let Some(at) = self.excess(inner)
        {
            self.drop_at(inner, at);
        }
    }

    /// Returns the position of the key that must go first: of a key without a token if these exceed their part, else of
    /// any key.
    fn excess(&self, inner: &Inner) -> Option<usize> {
        let is_over = |part: fn(Owner) -> bool, keys: usize, bytes: u64| {
            let of_part = inner.files.iter().filter(|(_, kept)| part(kept.owner));
            let (count, sum) =
                of_part.fold((0, 0), |(n, sum), (_, kept)| (n + 1, sum + kept.bytes));
            count > 1 && (count > keys || sum > bytes)
        };
        let Room { keys, bytes, .. } = self.room;
        let strangers = of_strangers(keys);
        let part: fn(Owner) -> bool = if is_over(Owner::is_stranger, strangers, bytes - bytes / 4) {
            Owner::is_stranger
        } else if is_over(|_| true, keys, bytes) {
            |_| true
        } else {
            return None;
        };
        let mut owned: HashMap<Owner, usize> = HashMap::new();
        for (_, kept) in &inner.files {
            *owned.entry(kept.owner).or_default() += 1;
        }
        let most = owned
            .iter()
            .filter(|(owner, _)| part(**owner))
            .map(|(_, n)| *n)
            .max()?;
        let of_greediest = |kept: &Kept| part(kept.owner) && owned.get(&kept.owner) == Some(&most);
        inner.files.iter().position(|(_, kept)| of_greediest(kept))
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(%error, "a forgotten key stays on the disk");
    }
}

/// Reads a whole key.
///
/// Errors: any `LoadError`.
pub(super) fn load(file: impl Read, sets: &Sets) -> Result<Loaded, LoadError> {
    let buffered = BufReader::with_capacity(1 << 20, file);
    let Opened { header, reader, .. } = Opened::new::<LoadError>(buffered, &[Kind::PdqKey])?;
    let found = header.params_id;
    let Some(params) = sets.find(&found) else {
        let known = sets.names().join(", ");
        return Err(LoadError::Params(Mismatch::new(known, found)));
    };
    let key = EvaluationKey::read(&params, reader)?;
    Ok(Loaded { params, key })
}

/// Finds an entry and makes it the last.
fn touch<T: Clone>(entries: &mut VecDeque<(Hash, T)>, hash: &Hash) -> Option<T> {
    let at = entries.iter().position(|(known, _)| known == hash)?;
    let entry = entries.remove(at)?;
    entries.push_back(entry.clone());
    Some(entry.1)
}

/// Returns the hash and the owner in the name of a file.
fn hash_of(name: &str) -> Option<(Hash, Owner)> {
    let (digits, rest) = name.split_once('.')?;
    let hash = blake3::Hash::from_hex(digits).ok()?;
    let owner = match rest.strip_suffix(ENDING)?.strip_suffix('.') {
        Some(tag) => Owner::Account(u64::from_str_radix(tag, 16).ok()?),
        None if rest == ENDING => Owner::Stranger(0),
        None => return None,
    };
    Some((*hash.as_bytes(), owner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_disk::Recording;
    use std::io::Write;

    /// Adds a key of 100 bytes that nobody reads.
    fn add(keys: &Keys, number: u8, owner: Owner) {
        let mut file = keys.upload().unwrap();
        file.write_all(&[number; 100]).unwrap();
        let mut inner = keys.keep(file, [number; 32], owner).unwrap();
        keys.make_room(&mut inner);
    }

    fn room(keys: usize) -> Room {
        Room {
            keys,
            bytes: 100_000,
            in_memory: 1,
        }
    }

    #[test]
    fn a_flood_of_keys_pushes_out_the_floods_own() {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keys::open(dir.path(), room(8)).unwrap();
        let known = Owner::Account(account_tag("wallet"));
        add(&keys, 1, known);
        add(&keys, 2, Owner::Stranger(7));
        for number in 10..60 {
            add(&keys, number, Owner::Stranger(666));
        }
        assert!(keys.find(&[1; 32]) && keys.find(&[2; 32]));
        // Clients without a token share six places of eight.
        for number in 60..120 {
            add(&keys, number, Owner::Stranger(u64::from(number)));
        }
        assert!(keys.find(&[1; 32]));
        assert_eq!(keys.count(), 7);
        // A flood of an account's keys harms only that account.
        for number in 120..150 {
            add(&keys, number, Owner::Account(account_tag("greedy")));
        }
        assert!(keys.find(&[1; 32]));
        assert_eq!(keys.count(), 8);
        // A crash left this unfinished file.
        keys.upload().unwrap().keep().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 9);
        drop(keys);
        // The owners of keys are known after a restart.
        let keys = Keys::open(dir.path(), room(4)).unwrap();
        assert!(keys.find(&[1; 32]));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
    }

    #[test]
    fn a_key_survives_a_power_failure() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |root: &Path| root.join("pdq").join("keys");
        let recording = Recording::start(dir.path()).unwrap();
        let keys = Keys::open(&folder(dir.path()), room(8)).unwrap();
        let mut kept = Vec::new();
        for number in 1..4 {
            add(&keys, number, Owner::Account(7));
            kept.push((recording.now(), number));
        }
        drop(keys);
        let history = recording.finish().unwrap();
        let checked = history.crash_everywhere(None, |moment, root| {
            let keys = Keys::open(&folder(root), room(8)).map_err(|error| error.to_string())?;
            for (since, number) in &kept {
                let path = keys.path(&[*number; 32], Owner::Account(7));
                let is_whole = fs::read(path).is_ok_and(|bytes| bytes == [*number; 100]);
                if *since <= moment && !(is_whole && keys.find(&[*number; 32])) {
                    return Err(format!("key {number} is lost"));
                }
            }
            Ok(())
        });
        checked.unwrap();
    }

    #[test]
    fn names_of_files_contain_hash_and_owner() {
        let hex = blake3::Hash::from_bytes([5; 32]).to_hex();
        let stranger = hash_of(&format!("{hex}.key")).unwrap();
        assert_eq!(stranger, ([5; 32], Owner::Stranger(0)));
        let known = hash_of(&format!("{hex}.00000000000000ff.key")).unwrap();
        assert_eq!(known, ([5; 32], Owner::Account(255)));
        for name in [
            format!("{hex}.tmp"),
            format!("{hex}.xyz.key"),
            format!("{hex}.1.keys"),
            "a.key".into(),
        ] {
            assert!(hash_of(&name).is_none(), "{name}");
        }
    }
}
