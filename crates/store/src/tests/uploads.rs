//! Uploads that are continued, refused, deleted, and sent twice at once.

use std::fs;
use std::time::Duration;

use super::{board, config, key, read_key, upload};
use crate::{Store, StoreConfig, StoreError};
use omr_errors::Mismatch;

fn empty(dir: &tempfile::TempDir) -> (StoreConfig, Store) {
    let config = StoreConfig {
        upload_bytes: 40 << 20,
        ..config(dir)
    };
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    (config, store)
}

fn parts(config: &StoreConfig) -> usize {
    fs::read_dir(config.dir.join("uploads")).unwrap().count()
}

#[test]
fn an_upload_goes_on_after_a_break_and_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = empty(&dir);
    let (bytes, hash) = key(20 << 20, 1);
    store.upload(hash, bytes.len() as u64).unwrap();
    let mut at = 0;
    for chunk in bytes[..18 << 20].chunks(1 << 20) {
        at = store.upload_chunk(hash, at, chunk).unwrap().next_offset;
    }
    // A broken stream loses nothing.
    assert_eq!(
        store.upload(hash, bytes.len() as u64).unwrap().next_offset,
        18 << 20
    );
    assert_eq!(store.usage().upload_bytes, 18 << 20);
    drop(store);
    let store = Store::open(&config).unwrap();
    let resumed = store.upload(hash, bytes.len() as u64).unwrap();
    assert_eq!((resumed.next_offset, resumed.complete), (16 << 20, false));
    upload(&store, &bytes, hash).unwrap();
    assert!(read_key(&store, hash).unwrap() == bytes);
    assert_eq!((parts(&config), store.usage().upload_bytes), (0, 0));
    assert!(store.upload(hash, bytes.len() as u64).unwrap().complete);
    assert!(store.upload_chunk(hash, 0, b"x").unwrap().complete);
}

#[test]
fn a_file_cut_after_a_crash_begins_again_there() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = empty(&dir);
    let (bytes, hash) = key(20 << 20, 1);
    store.upload(hash, bytes.len() as u64).unwrap();
    store.upload_chunk(hash, 0, &bytes[..17 << 20]).unwrap();
    drop(store);
    let part = fs::read_dir(config.dir.join("uploads"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::write(&part, &bytes[..5]).unwrap();
    fs::write(config.dir.join("uploads/stray"), b"x").unwrap();
    let store = Store::open(&config).unwrap();
    assert_eq!(parts(&config), 1);
    assert_eq!(
        store.upload(hash, bytes.len() as u64).unwrap().next_offset,
        5
    );
    upload(&store, &bytes, hash).unwrap();
    assert!(read_key(&store, hash).unwrap() == bytes);
}

#[test]
fn wrong_chunks_and_sizes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store) = empty(&dir);
    let (bytes, hash) = key(1000, 2);
    let error = store.upload_chunk(hash, 0, &bytes).unwrap_err();
    assert!(matches!(error, StoreError::NoUpload(_)), "{error}");
    assert!(matches!(
        store.upload(hash, 0),
        Err(StoreError::UploadSize(Mismatch { found: 0, .. }))
    ));
    store.upload(hash, 1000).unwrap();
    assert!(matches!(
        store.upload(hash, 999),
        Err(StoreError::UploadSize(Mismatch {
            expected: 1000,
            found: 999
        }))
    ));
    store.upload_chunk(hash, 0, &bytes[..100]).unwrap();
    for offset in [101, u64::MAX] {
        let error = store.upload_chunk(hash, offset, &bytes[100..]).unwrap_err();
        assert!(
            matches!(error, StoreError::UploadOffset(Mismatch { expected: 100, found }) if found == offset),
            "{error}"
        );
    }
    let error = store.upload_chunk(hash, 100, &bytes[99..]).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::UploadSize(Mismatch {
                expected: 1000,
                found: 1001
            })
        ),
        "{error}"
    );
}

#[test]
fn a_file_of_another_hash_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = empty(&dir);
    let (bytes, hash) = key(1000, 2);
    store.upload(hash, 1000).unwrap();
    store.upload_chunk(hash, 0, &bytes[..100]).unwrap();
    let mut wrong = bytes[100..].to_vec();
    wrong[7] ^= 1;
    let error = store.upload_chunk(hash, 100, &wrong).unwrap_err();
    assert!(matches!(error, StoreError::UploadHash(_)), "{error}");
    assert_eq!((parts(&config), store.key_bytes(hash).unwrap()), (0, None));
    assert!(store.inner().place.list("keys").unwrap().is_empty());
    upload(&store, &bytes, hash).unwrap();
    assert_eq!(store.key_bytes(hash).unwrap(), Some(1000));
}

#[test]
fn received_bytes_count_and_old_uploads_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = empty(&dir);
    let hour = Duration::from_secs(3600);
    // The announced sizes are 39 times 200 MiB. Each upload counts 1 MiB as long as no more bytes were received.
    for number in 0..39 {
        store.upload([10 + number; 32], 200 << 20).unwrap();
    }
    store.upload([1; 32], 200 << 20).unwrap();
    let error = store.upload([2; 32], 1).unwrap_err();
    assert!(matches!(error, StoreError::UploadSpace(_)), "{error}");
    let chunk = vec![0; 1 << 20];
    store.upload_chunk([1; 32], 0, &chunk).unwrap();
    let full = store.upload_chunk([1; 32], 1 << 20, &chunk).unwrap_err();
    assert!(matches!(full, StoreError::UploadSpace(_)), "{full}");
    assert_eq!(store.upload_bytes(&[1; 32]), Some(1 << 20));
    // Uploads that never received a byte are deleted sooner.
    assert_eq!(store.purge_uploads(hour, hour).unwrap(), 0);
    assert_eq!(store.purge_uploads(hour, Duration::ZERO).unwrap(), 39);
    store.upload_chunk([1; 32], 1 << 20, &chunk).unwrap();
    assert_eq!(store.purge_uploads(Duration::ZERO, hour).unwrap(), 1);
    assert_eq!((parts(&config), store.usage().upload_bytes), (0, 0));
    assert!(matches!(
        store.upload_chunk([1; 32], 2 << 20, &[0]),
        Err(StoreError::NoUpload(_))
    ));
    store.upload([2; 32], 11 << 20).unwrap();
    drop(store);
    assert_eq!(
        Store::open(&config)
            .unwrap()
            .purge_uploads(Duration::ZERO, Duration::ZERO)
            .unwrap(),
        1
    );
}

#[test]
fn a_chunk_that_comes_twice_is_taken_once() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store) = empty(&dir);
    let (bytes, hash) = key(1000, 6);
    store.upload(hash, 1000).unwrap();
    store.upload_chunk(hash, 0, &bytes[..300]).unwrap();
    for (from, to, next) in [(0, 300, 300), (100, 200, 300), (0, 0, 300), (200, 500, 500)] {
        let at = store.upload_chunk(hash, from as u64, &bytes[from..to]);
        assert_eq!(at.unwrap().next_offset, next, "{from} {to}");
    }
    assert!(
        store
            .upload_chunk(hash, 400, &bytes[400..])
            .unwrap()
            .complete
    );
    assert!(read_key(&store, hash).unwrap() == bytes);
}

#[test]
fn two_senders_of_one_key_help_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store) = empty(&dir);
    let (bytes, hash) = key(3 << 20, 5);
    let send = || {
        let mut at = store.upload(hash, bytes.len() as u64).unwrap();
        while !at.complete {
            let start = at.next_offset as usize;
            let end = (start + 10_000).min(bytes.len());
            at = store
                .upload_chunk(hash, at.next_offset, &bytes[start..end])
                .unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(send);
        scope.spawn(send);
    });
    assert!(read_key(&store, hash).unwrap() == bytes);
    assert_eq!((store.usage().keys, store.usage().key_bytes), (1, 3 << 20));
}
