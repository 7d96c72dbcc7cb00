//! Expiry: whole segments are removed from the front and nothing else, whatever fails.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::disk::Disk;
use super::{Simulated, all, append, back_up, check_content, message, plain_store, post, sealed};
use crate::meta::Outcome;
use crate::{Expiry, Post, Refusal, Store, StoreError};

/// Returns a post of message `index` alone, under a new id.
fn again(index: u64) -> Post {
    Post::new(
        [index as u8 ^ 0x80; 16],
        String::new(),
        vec![message(index)],
    )
}

/// Returns the messages that have the key of message `index`, when it is posted again.
fn used(store: &Store, index: u64) -> Vec<u64> {
    match &store.append(&[again(index)]).unwrap()[0] {
        Err(Refusal::UsedKeys(keys)) => keys.iter().map(|key| key.index).collect(),
        other => panic!("message {index} was taken again: {other:?}"),
    }
}

fn assert_sound(store: &Store) {
    check_content(store).unwrap();
    let report = store.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
}

fn assert_expired(store: &Store, range: std::ops::Range<u64>) {
    let error = store.read(range.clone(), &mut |_, _, _| ControlFlow::Continue(()));
    let first = store.first();
    assert!(
        matches!(error, Err(StoreError::Expired { first: at, .. }) if at == first),
        "{error:?}"
    );
}

#[test]
fn the_oldest_segments_go_and_indices_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = sealed(&dir);
    // The segments are 0..8, 8..16 and 16..24. The second contains one of the last 15 messages.
    let nothing = store.expire(Expiry::Keep(30)).unwrap();
    assert_eq!((nothing.range, nothing.bytes), (0..0, 0));
    let gone = store.expire(Expiry::Keep(15)).unwrap();
    assert_eq!((gone.range, store.first(), store.len()), (0..8, 8, 30));
    assert!(gone.bytes > 0);
    assert_sound(&store);
    assert_expired(&store, 0..1);
    assert_expired(&store, 7..30);
    assert!(
        store
            .read(3..3, &mut |_, _, _| ControlFlow::Continue(()))
            .is_ok()
    );
    // Their keys stay used.
    assert_eq!(
        (used(&store, 3), used(&store, 12), used(&store, 29)),
        (vec![3], vec![12], vec![29])
    );
    append(&store, 30..34).unwrap();
    store.seal().unwrap();
    drop(store);

    let store = Store::open(&config).unwrap();
    assert_eq!(
        (store.first(), store.len(), store.usage().first),
        (8, 34, 8)
    );
    let gone = store.expire(Expiry::Keep(0)).unwrap();
    assert_eq!((gone.range, store.first()), (8..32, 32));
    assert_sound(&store);
    assert_eq!(store.usage().segments, 0);
    assert_eq!(store.inner().place.list("segments").unwrap(), []);
    assert_eq!(used(&store, 31), [31]);
    assert_eq!(append(&store, 34..36).unwrap(), 34..36);
}

#[test]
fn young_messages_stay() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    append(&store, 0..30).unwrap();
    store.seal().unwrap();
    let hour = Expiry::OlderThan(Duration::from_secs(3600));
    assert_eq!(store.expire(hour).unwrap().range, 0..0);
    // The store's clock is an hour ahead.
    let late = |state: &mut crate::format::State| state.clock += 3_600_001;
    store
        .inner()
        .meta
        .transact(|_, state| {
            late(state);
            Ok(Outcome::Commit(()))
        })
        .unwrap();
    drop(store);
    let store = simulated.open().unwrap();
    append(&store, 30..40).unwrap();
    store.seal().unwrap();
    // The segment 24..32 was sealed just now.
    assert_eq!(store.expire(hour).unwrap().range, 0..24);
    assert_eq!(store.expire(hour).unwrap().range, 24..24);
    assert_sound(&store);
}

#[test]
fn a_damaged_segment_expires_too() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    append(&store, 0..30).unwrap();
    store.seal().unwrap();
    let name = store.segments().unwrap()[0].name();
    store
        .inner()
        .place
        .put(&name, bytes::Bytes::from_static(b"junk"))
        .unwrap();
    assert_eq!(store.expire(Expiry::Keep(20)).unwrap().range, 0..8);
    assert_eq!(used(&store, 3), [3]);
    assert_sound(&store);
}

#[test]
fn plain_clues_expire() {
    let dir = tempfile::tempdir().unwrap();
    let store = plain_store(&dir);
    append(&store, 0..30).unwrap();
    store.seal().unwrap();
    assert_eq!(store.expire(Expiry::Keep(0)).unwrap().range, 0..24);
    assert_sound(&store);
}

#[test]
fn a_backup_knows_what_expired() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = sealed(&dir);
    let backup = dir.path().join("backup");
    // An earlier backup left its segments in the folder.
    back_up(&store, &backup).unwrap();
    store.expire(Expiry::Keep(10)).unwrap();
    back_up(&store, &backup).unwrap();
    drop(store);
    let restored = crate::StoreConfig {
        dir: dir.path().join("restored"),
        ..config
    };
    Store::restore(&restored, &backup, &mut |_, _| {}).unwrap();
    let store = Store::open(&restored).unwrap();
    assert_eq!((store.first(), store.len()), (16, 30));
    assert_sound(&store);
    assert_eq!((used(&store, 3), used(&store, 20)), (vec![3], vec![20]));
    append(&store, 30..33).unwrap();
}

#[test]
fn a_reader_sees_an_error_when_messages_expire_meanwhile() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    append(&store, 0..30).unwrap();
    store.seal().unwrap();
    let mut seen = 0;
    let read = store.read(0..30, &mut |index, _, _| {
        seen = index + 1;
        if index == 3 {
            store.expire(Expiry::Keep(0)).unwrap();
        }
        ControlFlow::Continue(())
    });
    assert!(
        matches!(
            read,
            Err(StoreError::Expired {
                start: 8,
                first: 24,
                ..
            })
        ),
        "{read:?}"
    );
    assert_eq!(seen, 8);
}

/// Expires twice, with appends in between. Returns the number of steps that succeeded.
fn run(simulated: &Simulated) -> u64 {
    let Ok(store) = simulated.open() else {
        return 0;
    };
    let steps: [&dyn Fn() -> Result<(), StoreError>; 4] = [
        &|| store.expire(Expiry::Keep(16)).map(drop),
        &|| append(&store, 30..43).map(drop),
        &|| store.seal().map(drop),
        &|| store.expire(Expiry::Keep(10)).map(drop),
    ];
    steps.iter().take_while(|step| step().is_ok()).count() as u64
}

/// Kills the store at every operation. The remaining messages are whole, nothing is removed that should stay, no key
/// can be used again, and the next call completes the expiry.
#[test]
fn expiry_survives_crashes_anywhere() {
    let fresh = Simulated::create();
    let store = fresh.open().unwrap();
    append(&store, 0..30).unwrap();
    store.seal().unwrap();
    drop(store);
    let disk = fresh.disk.bytes();
    let again = || {
        let objects = Arc::new(fresh.objects.fork());
        Simulated::on(Disk::from_bytes(disk.clone()), objects)
    };
    let whole = again();
    assert_eq!(run(&whole), 4);
    for at in 0..whole.disk.operations() {
        for keep in [None, Some(u8::MAX)] {
            let simulated = again();
            simulated.disk.crash_at(at);
            let done = run(&simulated);
            let survivor = Simulated::on(
                simulated.disk.after_crash(&mut || keep),
                Arc::new(simulated.objects.fork()),
            );
            let store = survivor.open().unwrap();
            let (first, len) = (store.first(), store.len());
            assert!(
                first.is_multiple_of(8) && first <= 32,
                "crash at {at}: {first}"
            );
            assert!(done < 1 || first >= 8, "crash at {at}: {first}");
            assert!(
                len - first >= 10 && (done < 2 || len == 43),
                "crash at {at}"
            );
            assert_sound(&store);
            assert!(
                (0..len).all(|index| used(&store, index) == [index]),
                "crash at {at}"
            );
            assert_eq!(all(&store, &[post(30..43)]).unwrap()[0].range, 30..43);
            store.seal().unwrap();
            store.expire(Expiry::Keep(10)).unwrap();
            store.sweep().unwrap();
            assert_eq!((store.first(), store.len()), (32, 43), "crash at {at}");
            assert_eq!(store.inner().place.list("segments").unwrap().len(), 1);
            assert_sound(&store);
        }
    }
}
