//! Crashes at every write, sync and object: nothing acknowledged is lost, and nothing is appended twice.

use std::sync::Arc;

use object_store::ObjectStoreExt;
use object_store::memory::InMemory;

use super::disk::{Disk, Kind};
use super::{Simulated, all, check_content, key, post, read_key, upload};
use crate::{Change, Store, StoreError};

/// The posts of one run, as numbers of messages; `0` stands for a seal.
const STEPS: [u64; 14] = [3, 1, 5, 0, 1, 12, 9, 0, 1, 1, 0, 7, 16, 0];

/// The results that a run has received, and the call that it was about to make.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Progress {
    acknowledged: u64,
    attempted: u64,
    records: u64,
}

/// Runs the steps until the disk crashes.
fn run(simulated: &Simulated) -> Progress {
    let mut progress = Progress::default();
    let Ok(store) = simulated.open() else {
        return progress;
    };
    for (number, count) in (0..).zip(STEPS) {
        if count == 0 {
            if store.seal().is_err() || record(&store, number).is_err() {
                return progress;
            }
            progress.records = number;
            continue;
        }
        let start = progress.acknowledged;
        progress.attempted = start + count;
        if all(&store, &[post(start..start + count)]).is_err() {
            return progress;
        }
        progress.acknowledged = progress.attempted;
    }
    progress
}

fn record(store: &Store, number: u64) -> Result<(), StoreError> {
    store.write(&[Change::Put {
        table: "steps".into(),
        key: b"last".to_vec(),
        value: number.to_le_bytes().to_vec(),
    }])
}

/// A copy of a simulated store's objects.
fn copy(objects: &InMemory) -> Arc<InMemory> {
    Arc::new(objects.fork())
}

/// Asserts that the store is right after a crash, and that it continues to work.
fn check(survivor: &Simulated, progress: Progress, at: u64) {
    let store = survivor
        .open()
        .unwrap_or_else(|error| panic!("crash at {at}: {error}"));
    let len = store.len();
    assert!(
        len == progress.acknowledged || len == progress.attempted,
        "crash at {at}: {len} messages, {progress:?}"
    );
    check_content(&store).unwrap();
    let found = store.get("steps", b"last").unwrap();
    let found = found.map_or(0, |value| u64::from_le_bytes(value.try_into().unwrap()));
    assert!(found >= progress.records, "crash at {at}: record {found}");
    // Every acknowledged post is known. The post of the interrupted call is appended once, whatever the crash left.
    let mut start = 0;
    for count in STEPS.into_iter().filter(|count| *count > 0) {
        let range = start..start + count;
        let appended = all(&store, &[post(range.clone())]).unwrap();
        assert_eq!(appended[0].range, range, "crash at {at}");
        assert_eq!(appended[0].repeated, range.end <= len, "crash at {at}");
        start += count;
    }
    store.seal().unwrap();
    store.sweep().unwrap();
    assert_eq!(store.len(), start);
    assert_eq!(
        survivor.segment_names().len(),
        store.segments().unwrap().len()
    );
    check_content(&store).unwrap();
    let report = store.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "crash at {at}: {:?}", report.faults);
}

impl Simulated {
    fn segment_names(&self) -> Vec<String> {
        self.place()
            .list("segments")
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }
}

/// Crashes at every operation, and keeps the pending writes for which `keep` returns a number.
fn crash_everywhere(mut keep: impl FnMut() -> Option<u8>) {
    let fresh = Simulated::create();
    let bytes = fresh.disk.bytes();
    let whole = Simulated::on(Disk::from_bytes(bytes.clone()), copy(&fresh.objects));
    let done = run(&whole);
    assert_eq!((done.acknowledged, done.records), (56, 13));
    let operations = whole.disk.operations();
    assert!(operations > 100, "{operations} operations");
    for at in 0..operations {
        let simulated = Simulated::on(Disk::from_bytes(bytes.clone()), copy(&fresh.objects));
        simulated.disk.crash_at(at);
        let progress = run(&simulated);
        assert!(simulated.disk.crashed());
        let disk = simulated.disk.after_crash(&mut keep);
        check(&Simulated::on(disk, copy(&simulated.objects)), progress, at);
    }
}

#[test]
fn only_synced_writes_survive() {
    crash_everywhere(|| None);
}

#[test]
fn all_writes_survive() {
    crash_everywhere(|| Some(u8::MAX));
}

#[test]
fn torn_and_random_writes_survive() {
    for seed in 1..=3u64 {
        let mut word = seed;
        crash_everywhere(|| {
            word = word
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .wrapping_add(0x1405_7B7E_F767_814F);
            ((word >> 40) & 3 != 0).then_some((word >> 48) as u8)
        });
    }
}

#[test]
fn a_crash_between_object_and_transaction_leaves_one_object_that_is_used_again() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    all(&store, &[post(0..9)]).unwrap();
    let before = simulated.disk.operations();
    simulated.disk.fail_after_object(before);
    store.seal().unwrap_err();
    assert_eq!(
        (
            simulated.segment_names().len(),
            store.segments().unwrap().len()
        ),
        (1, 0)
    );
    simulated.disk.free();
    assert_eq!(store.seal().unwrap(), 1);
    assert_eq!(
        (
            simulated.segment_names().len(),
            store.segments().unwrap().len()
        ),
        (1, 1)
    );
    check_content(&store).unwrap();
    // A sweep removes an unnamed object with other content, and nothing else.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let stray = object_store::path::Path::from("segments/stray");
    runtime
        .block_on(simulated.objects.put(&stray, "x".into()))
        .unwrap();
    assert_eq!(store.sweep().unwrap(), 1);
    assert_eq!(store.sweep().unwrap(), 0);
    check_content(&store).unwrap();
}

/// Uploads a key, revokes it and uploads it again. Returns the number of these steps that succeeded.
fn run_key(simulated: &Simulated, bytes: &[u8], hash: [u8; 32]) -> u64 {
    let Ok(store) = simulated.open() else {
        return 0;
    };
    let steps: [&dyn Fn() -> Result<(), StoreError>; 3] = [
        &|| upload(&store, bytes, hash),
        &|| store.delete_key(hash),
        &|| upload(&store, bytes, hash),
    ];
    let done = steps.iter().take_while(|step| step().is_ok()).count();
    done as u64
}

/// Crashes and failures at every operation of an upload: an acknowledged key is there, a revoked key is not, and
/// sending the remaining bytes completes the upload.
#[test]
fn keys_survive_crashes_whole_or_not_at_all() {
    let fresh = Simulated::create();
    let disk = fresh.disk.bytes();
    let (bytes, hash) = key(1_000_000, 8);
    let again = || Simulated::on(Disk::from_bytes(disk.clone()), copy(&fresh.objects));
    let whole = again();
    assert_eq!(run_key(&whole, &bytes, hash), 3);
    let operations = whole.disk.operations();
    for at in 0..operations {
        let simulated = again();
        simulated.disk.crash_at(at);
        let done = run_key(&simulated, &bytes, hash);
        let survivor = Simulated {
            disk: simulated.disk.after_crash(&mut || None),
            objects: copy(&simulated.objects),
            dir: simulated.dir,
        };
        let store = survivor.open().unwrap();
        let there = store.key_bytes(hash).unwrap().is_some();
        assert!(done != 3 || there, "crash at {at}: lost");
        assert!(!there || read_key(&store, hash).unwrap() == bytes);
        store.sweep().unwrap();
        let objects = store.inner().place.list("keys").unwrap().len();
        assert_eq!(objects, usize::from(there), "crash at {at}");
        upload(&store, &bytes, hash).unwrap();
        assert!(read_key(&store, hash).unwrap() == bytes, "crash at {at}");
        assert_eq!(store.usage().keys, 1);
    }
}

/// Uploads a key while the disk fails once, and the same store continues.
#[test]
fn an_upload_goes_on_after_any_failure() {
    let fresh = Simulated::create();
    let disk = fresh.disk.bytes();
    let (bytes, hash) = key(1_000_000, 8);
    let again = || Simulated::on(Disk::from_bytes(disk.clone()), copy(&fresh.objects));
    let whole = again();
    assert_eq!(run_key(&whole, &bytes, hash), 3);
    for at in 0..whole.disk.operations() {
        for kind in [Kind::Write, Kind::Sync, Kind::Object] {
            let simulated = again();
            let store = simulated.open().unwrap();
            simulated.disk.fail_once(at, kind);
            // The call succeeds in spite of the failure, or at the second attempt.
            if upload(&store, &bytes, hash).is_err() {
                upload(&store, &bytes, hash).unwrap();
            }
            let usage = store.usage();
            assert_eq!((usage.keys, usage.upload_bytes), (1, 0), "{kind:?} at {at}");
            assert!(read_key(&store, hash).unwrap() == bytes);
        }
    }
}
