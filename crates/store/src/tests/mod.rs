//! Tests over a simulated disk, over real files and over a bucket.

pub(crate) mod disk;

mod backup;
mod blocks;
mod boards;
mod bucket;
mod chain;
mod crash;
mod damage;
mod expire;
mod files;
mod frozen;
mod full;
mod hashes;
mod kept;
mod model;
mod once;
mod overlay;
#[cfg(unix)]
mod power;
mod rot;
mod uploads;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use object_store::memory::InMemory;
use tempfile::TempDir;

use crate::database::{Access, Guarded, Source, builder, guarded};
use crate::error::Redb;
use crate::meta::Meta;
use crate::store::claim;
use crate::store::objects::Place;
use crate::store::objects::bucket::Bucket;
use crate::tables::initialise;
use crate::{
    Appended, BoardConfig, Clues, Message, MessageHashes, Post, Store, StoreConfig, StoreError,
};
use disk::Disk;

fn board() -> BoardConfig {
    BoardConfig {
        board_id: [0xA5; 16],
        params_id: "toy-v1".into(),
        sealing: "none".into(),
        clue_bytes: 300,
        payload_bytes: 60,
        clues: Clues::Bound,
    }
}

fn message(index: u64) -> Message {
    message_of(&board(), index)
}

/// Returns message `index` of a board, different for every index.
fn message_of(board: &BoardConfig, index: u64) -> Message {
    let bytes = |len: u32, salt: u64| {
        let mut word = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt;
        (0..len)
            .map(|_| {
                word = word.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                (word >> 56) as u8
            })
            .collect()
    };
    Message {
        clue: bytes(board.clue_bytes, 1),
        payload: bytes(board.payload_bytes, 2),
    }
}

/// Returns a post of the messages of `range`, under an id of its own.
fn post(range: Range<u64>) -> Post {
    let mut id = [7; 16];
    id[..8].copy_from_slice(&range.start.to_le_bytes());
    let post = Post::new(id, String::new(), range.map(message).collect());
    let hashes = post.messages.iter().map(hash).collect();
    post.with_hashes(MessageHashes::new(TAG, hashes))
}

/// The tag of the hashes in these tests.
const TAG: [u8; 4] = *b"toy1";

fn hash(message: &Message) -> [u8; 32] {
    hash_of(&message.clue, &message.payload)
}

fn hash_of(clue: &[u8], payload: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new()
        .update(clue)
        .update(payload)
        .finalize()
        .as_bytes()
}

/// Returns the running hash of a log after one more message, as defined in `docs/storage.md`.
fn hash_after(head: &[u8; 32], message: &Message) -> [u8; 32] {
    let bytes = [&head[..], &message.clue, &message.payload].concat();
    blake3::derive_key("omr v1 log message", &bytes)
}

/// Creates a store of 30 messages, 24 of them in segments of 8.
fn sealed(dir: &TempDir) -> (StoreConfig, Store) {
    let config = config(dir);
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    append(&store, 0..30).unwrap();
    store.seal().unwrap();
    (config, store)
}

/// Appends posts with new keys.
fn all(store: &Store, posts: &[Post]) -> Result<Vec<Appended>, StoreError> {
    let appended = store.append(posts)?;
    Ok(appended.into_iter().map(Result::unwrap).collect())
}

/// Appends the messages of `range` as one post.
fn append(store: &Store, range: Range<u64>) -> Result<Range<u64>, StoreError> {
    let appended = all(store, &[post(range)])?;
    Ok(appended[0].range.clone())
}

/// Asserts that every readable message is the one that `message` makes. Returns the first error.
fn check_content(store: &Store) -> Result<(), StoreError> {
    let mut next = store.first();
    store.read(next..store.len(), &mut |index, clue, payload| {
        let expected = message(index);
        assert_eq!(index, next);
        assert!(
            clue == expected.clue && payload == expected.payload,
            "wrong data at {index}"
        );
        next += 1;
        ControlFlow::Continue(())
    })?;
    assert_eq!(next, store.len());
    let all = store.first()..store.len();
    for (index, kept) in all.clone().zip(store.kept_hashes(all, TAG)?) {
        let right = kept.is_none_or(|kept| kept == hash(&message(index)));
        assert!(right, "wrong hash of {index}");
    }
    let mut head = crate::chain::root(store.board());
    for length in 0..=store.len() {
        if length >= store.first() {
            assert_eq!(store.hash_at(length)?, Some(head), "at length {length}");
        }
        head = hash_after(&head, &message(length));
    }
    assert_eq!(store.hash_at(store.len() + 1)?, None);
    Ok(())
}

/// Creates a store whose board has plain clues.
fn plain_store(dir: &TempDir) -> Store {
    let plain = BoardConfig {
        clues: Clues::Plain,
        ..board()
    };
    Store::create(&config(dir), &plain).unwrap();
    Store::open(&config(dir)).unwrap()
}

/// Returns the configuration of a small store with segments of 8 messages.
fn config(dir: &TempDir) -> StoreConfig {
    StoreConfig {
        segment_messages: 8,
        ..StoreConfig::new(dir.path().join("store"))
    }
}

/// A store over a simulated disk and over objects in memory; the disk counts operations on objects as well.
struct Simulated {
    disk: Disk,
    objects: Arc<InMemory>,
    dir: TempDir,
}

impl Simulated {
    /// Creates an empty store.
    fn create() -> Self {
        let disk = Disk::default();
        guarded(|| {
            let database = builder().create_with_backend(disk.attach()).map_err(Redb)?;
            initialise(Guarded::new(database).get()?, &board())
        })
        .unwrap();
        let out = Self::on(disk, Arc::default());
        claim(&out.place(), &board(), false).unwrap();
        out
    }

    fn on(disk: Disk, objects: Arc<InMemory>) -> Self {
        Self {
            disk,
            objects,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn place(&self) -> Place {
        Place::new(Arc::new(
            Bucket::new(self.objects.clone(), String::new()).unwrap(),
        ))
    }

    fn open(&self) -> Result<Store, StoreError> {
        let meta = Meta::open(Source::Disk(self.disk.clone()), Access::ReadWrite)?;
        let mut place = self.place();
        place.disk = Some(self.disk.clone());
        Store::assemble(&config(&self.dir), meta, place)
    }
}

/// Returns the bytes of a key, and their hash.
fn key(bytes: usize, salt: u32) -> (Vec<u8>, [u8; 32]) {
    let byte = |i: u32| ((i ^ salt).wrapping_mul(2_654_435_761) >> 24) as u8;
    let key: Vec<u8> = (0..bytes as u32).map(byte).collect();
    let hash = *blake3::hash(&key).as_bytes();
    (key, hash)
}

/// Uploads a whole key.
fn upload(store: &Store, key: &[u8], hash: [u8; 32]) -> Result<(), StoreError> {
    let mut at = store.upload(hash, key.len() as u64)?;
    for chunk in key[at.next_offset as usize..].chunks(700_000) {
        at = store.upload_chunk(hash, at.next_offset, chunk)?;
    }
    assert!(at.complete);
    Ok(())
}

fn read_key(store: &Store, hash: [u8; 32]) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut reader = store.open_key(hash).map_err(std::io::Error::other)?;
    std::io::Read::read_to_end(&mut reader, &mut out)?;
    Ok(out)
}

/// Backs up an undamaged store into a folder. Returns the names of the files.
fn back_up(store: &Store, folder: &std::path::Path) -> Result<Vec<String>, StoreError> {
    let (names, faults) = back_up_what_is_left(store, folder)?;
    match faults.into_iter().next() {
        None => Ok(names),
        Some(fault) => Err(fault),
    }
}

/// Backs up a store into a folder. Returns the names of the files, and the faults.
fn back_up_what_is_left(
    store: &Store,
    folder: &std::path::Path,
) -> Result<(Vec<String>, Vec<StoreError>), StoreError> {
    let mut have = std::collections::HashSet::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        have.insert(entry?.file_name().to_str().unwrap().to_owned());
    }
    for kind in ["segments", "keys"] {
        std::fs::create_dir_all(folder.join(kind))?;
        for entry in std::fs::read_dir(folder.join(kind))? {
            have.insert(format!("{kind}/{}", entry?.file_name().to_str().unwrap()));
        }
    }
    let (mut names, mut file) = (Vec::new(), Vec::new());
    let faults = store.backup(&have, &mut |piece| {
        assert!(piece.data.len() <= 1 << 20 && piece.offset == file.len() as u64);
        file.extend_from_slice(piece.data);
        if piece.last {
            std::fs::write(folder.join(piece.name), &file)?;
            names.push(piece.name.to_owned());
            file.clear();
        }
        Ok(())
    })?;
    Ok((names, faults))
}

#[test]
fn handles_cross_threads() {
    fn shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    let simulated = Simulated::create();
    shared(&simulated.open().unwrap());
}
