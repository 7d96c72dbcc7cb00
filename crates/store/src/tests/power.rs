//! Power failures under all files of a store: meta file, objects, uploads, created and restored files. At every sync
//! everything unsynced is lost or torn, contents as well as names. Everything acknowledged survives, and leaving out
//! any sync of a store makes a test fail.

use std::path::Path;

use omr_disk::Recording;
use tempfile::TempDir;

use super::{all, back_up, board, check_content, key, post, read_key, sealed, upload};
use crate::{Change, META_FILE, Store, StoreConfig, StoreError};

/// The data that is acknowledged from a moment on.
#[derive(Debug, Clone, Default)]
struct Promise {
    created: bool,
    messages: u64,
    /// The number of messages that may be there although no call has returned them.
    attempted: u64,
    steps: u64,
    /// Whether the key is there; `None` while it is uploaded or deleted.
    key: Option<bool>,
}

/// The promises, each with the moment from which it holds.
#[derive(Debug, Default)]
struct Ledger(Vec<(usize, Promise)>);

impl Ledger {
    fn note(&mut self, recording: &Recording, change: impl FnOnce(&mut Promise)) {
        let mut promise = self.0.last().cloned().unwrap_or_default().1;
        change(&mut promise);
        self.0.push((recording.now(), promise));
    }

    /// Returns the promise that holds after a crash at a moment. Messages of a later attempt may be there as well.
    fn at(&self, moment: usize) -> Promise {
        let mut begun = self.0.iter().filter(|(from, _)| *from <= moment);
        begun.next_back().cloned().unwrap_or_default().1
    }
}

fn small(dir: &Path) -> StoreConfig {
    StoreConfig {
        segment_messages: 8,
        ..StoreConfig::new(dir.join("data").join("store"))
    }
}

fn step(store: &Store, number: u64) -> Result<(), StoreError> {
    store.write(&[Change::Put {
        table: "steps".into(),
        key: b"last".to_vec(),
        value: number.to_le_bytes().to_vec(),
    }])
}

fn ensure(holds: bool, fault: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(fault()) }
}

/// Tests a store after a crash, and that it continues to work.
fn check(dir: &Path, promise: &Promise, bytes: &[u8]) -> Result<(), String> {
    let text = |error: StoreError| error.to_string();
    let config = small(dir);
    let exists = Store::exists(&config.dir);
    ensure(exists || !promise.created, || "the store is gone".into())?;
    if !exists {
        Store::create(&config, &board()).map_err(text)?;
    }
    let hash = *blake3::hash(bytes).as_bytes();
    let store = Store::open(&config).map_err(text)?;
    // A server does the same when it starts.
    store.index_keys(&mut |_, _| {}).map_err(text)?;
    let len = store.len();
    let range = promise.messages..=promise.attempted.max(promise.messages);
    ensure(range.contains(&len), || {
        format!("{len} messages, {promise:?}")
    })?;
    check_content(&store).map_err(text)?;
    let found = store.get("steps", b"last").map_err(text)?;
    let found = found.map_or(0, |value| u64::from_le_bytes(value.try_into().unwrap()));
    ensure(found >= promise.steps, || {
        format!("step {found}, {promise:?}")
    })?;
    let there = store.key_bytes(hash).map_err(text)?.is_some();
    ensure(promise.key.is_none_or(|key| key == there), || {
        format!("key {there}, {promise:?}")
    })?;
    if there {
        let read = read_key(&store, hash).map_err(|error| error.to_string())?;
        ensure(read == bytes, || "another key".into())?;
    }
    // A continued upload succeeds: all bytes recorded as received are there.
    upload(&store, bytes, hash).map_err(text)?;
    all(&store, &[post(len..len + 9)]).map_err(text)?;
    store.seal().map_err(text)?;
    store.sweep().map_err(text)?;
    check_content(&store).map_err(text)?;
    let report = store.verify(&mut |_, _| {}).map_err(text)?;
    ensure(report.is_sound(), || format!("{:?}", report.faults))
}

#[test]
fn everything_acknowledged_survives_a_power_failure() {
    let dir = TempDir::new().unwrap();
    let (bytes, hash) = key(200_000, 3);
    let recording = Recording::start(dir.path()).unwrap();
    let mut ledger = Ledger::default();
    let config = small(dir.path());
    Store::create(&config, &board()).unwrap();
    ledger.note(&recording, |promise| promise.created = true);
    let mut store = Store::open(&config).unwrap();
    ledger.note(&recording, |promise| promise.key = Some(false));
    let mut len = 0;
    for (number, count) in (1..).zip([3, 9, 0, 12, 1, 0]) {
        match count {
            0 => drop(store.seal().unwrap()),
            _ => {
                ledger.note(&recording, |promise| promise.attempted = len + count);
                all(&store, &[post(len..len + count)]).unwrap();
                len += count;
            }
        }
        ledger.note(&recording, |promise| promise.messages = len);
        step(&store, number).unwrap();
        ledger.note(&recording, |promise| promise.steps = number);
        if number == 2 || number == 5 {
            ledger.note(&recording, |promise| promise.key = None);
            upload(&store, &bytes, hash).unwrap();
            ledger.note(&recording, |promise| promise.key = Some(true));
        }
        if number == 4 {
            ledger.note(&recording, |promise| promise.key = None);
            store.delete_key(hash).unwrap();
            ledger.note(&recording, |promise| promise.key = Some(false));
            drop(store);
            store = Store::open(&config).unwrap();
        }
    }
    drop(store);
    let history = recording.finish().unwrap();
    let checked = history.crash_everywhere(Some("partial.rs"), |moment, folder| {
        check(folder, &ledger.at(moment), &bytes)
    });
    checked.unwrap();
}

#[test]
fn a_long_upload_goes_on_after_a_power_failure() {
    let dir = TempDir::new().unwrap();
    let config = small(dir.path());
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    // The file is longer than the bytes between two syncs.
    let (bytes, hash) = key(17 << 20, 5);
    let recording = Recording::start(dir.path()).unwrap();
    let mut received = Vec::new();
    let mut at = store.upload(hash, bytes.len() as u64).unwrap();
    while at.next_offset < 16 << 20 {
        let start = at.next_offset as usize;
        at = store
            .upload_chunk(hash, at.next_offset, &bytes[start..start + (1 << 20)])
            .unwrap();
    }
    received.push(recording.now());
    drop(store);
    let history = recording.finish().unwrap();
    let checked = history.crash_everywhere(None, |moment, folder| {
        let text = |error: StoreError| error.to_string();
        let store = Store::open(&small(folder)).map_err(text)?;
        let next = store.upload(hash, bytes.len() as u64).map_err(text)?;
        let least = if moment >= received[0] { 16 << 20 } else { 0 };
        ensure(next.next_offset >= least, || {
            format!("{} bytes received, expected {least}", next.next_offset)
        })?;
        upload(&store, &bytes, hash).map_err(text)
    });
    checked.unwrap();
}

#[test]
fn a_restored_store_survives_a_power_failure() {
    let original = TempDir::new().unwrap();
    let (_, store) = sealed(&original);
    let (bytes, hash) = key(200_000, 3);
    upload(&store, &bytes, hash).unwrap();
    let backup = original.path().join("backup");
    back_up(&store, &backup).unwrap();
    drop(store);
    let dir = TempDir::new().unwrap();
    let recording = Recording::start(dir.path()).unwrap();
    Store::restore(&small(dir.path()), &backup, &mut |_, _| {}).unwrap();
    let restored = recording.now();
    let history = recording.finish().unwrap();
    let checked = history.crash_everywhere(Some("publish.rs"), |moment, folder| {
        let config = small(folder);
        let text = |error: StoreError| error.to_string();
        if !config.dir.join(META_FILE).exists() {
            ensure(moment < restored, || "the store is gone".into())?;
            Store::restore(&config, &backup, &mut |_, _| {}).map_err(text)?;
        }
        let promise = Promise {
            created: true,
            messages: 30,
            attempted: 30,
            steps: 0,
            key: Some(true),
        };
        check(folder, &promise, &bytes)
    });
    checked.unwrap();
}
