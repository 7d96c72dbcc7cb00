//! Stores in real folders: a round trip, who holds it, what is in the folder.

use std::io::Read;
use std::time::Duration;

use super::{append, board, check_content, config, message, post};
use crate::{Change, Post, Store, StoreError};

#[test]
fn round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    assert!(!Store::exists(&config.dir));
    Store::create(&config, &board()).unwrap();
    assert!(Store::exists(&config.dir));
    let store = Store::open(&config).unwrap();
    let mut lengths = store.lengths();
    assert_eq!(append(&store, 0..30).unwrap(), 0..30);
    assert!(lengths.has_changed().unwrap());
    assert_eq!(*lengths.borrow_and_update(), 30);
    let posts = [post(30..31), post(31..35), post(30..31), post(0..30)];
    let appended = store.append(&posts).unwrap();
    let ranges: Vec<_> = appended
        .iter()
        .map(|a| (a.range.clone(), a.repeated))
        .collect();
    assert_eq!(
        ranges,
        [
            (30..31, false),
            (31..35, false),
            (30..31, true),
            (0..30, true)
        ]
    );
    check_content(&store).unwrap();
    assert_eq!(store.seal().unwrap(), 4);
    assert_eq!(store.seal().unwrap(), 0);
    check_content(&store).unwrap();
    let usage = store.usage();
    assert_eq!(
        (usage.messages, usage.tail_messages, usage.segments),
        (35, 3, 4)
    );
    assert_eq!(usage.segment_bytes, 4 * (56 + 32 + 8 * 364));
    drop(store);
    let store = Store::open(&config).unwrap();
    assert_eq!(store.board(), &board());
    assert_eq!((store.len(), store.segments().unwrap().len()), (35, 4));
    check_content(&store).unwrap();
    assert!(store.append(&[post(31..35)]).unwrap()[0].repeated);
    assert_eq!(append(&store, 35..36).unwrap(), 35..36);
    check_content(&store).unwrap();
}

#[test]
fn keys_and_records_survive() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    // More than two parts of a large object.
    let key: Vec<u8> = (0..20_000_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let hash = *blake3::hash(&key).as_bytes();
    let begun = store.upload(hash, key.len() as u64).unwrap();
    assert_eq!((begun.next_offset, begun.complete), (0, false));
    let mut last = begun;
    for chunk in key.chunks(3_000_000) {
        last = store.upload_chunk(hash, last.next_offset, chunk).unwrap();
    }
    assert!(last.complete && last.next_offset == 20_000_000);
    let change = |key: &[u8], value: &[u8]| Change::Put {
        table: "jobs".into(),
        key: key.into(),
        value: value.into(),
    };
    store
        .write(&[change(b"b", b"2"), change(b"a", b"1")])
        .unwrap();
    drop(store);
    let store = Store::open(&config).unwrap();
    let mut found = Vec::new();
    store
        .open_key(hash)
        .unwrap()
        .read_to_end(&mut found)
        .unwrap();
    assert!(found == key);
    assert_eq!(store.get("jobs", b"a").unwrap().unwrap(), b"1");
    assert_eq!(store.get("job", b"sa").unwrap(), None);
    let all = [
        (b"a".to_vec(), b"1".to_vec()),
        (b"b".to_vec(), b"2".to_vec()),
    ];
    assert_eq!(store.scan("jobs").unwrap(), all);
    let delete = Change::Delete {
        table: "jobs".into(),
        key: b"a".to_vec(),
    };
    store.write(&[delete]).unwrap();
    assert_eq!(store.scan("jobs").unwrap(), all[1..]);
    store.delete_key(hash).unwrap();
    assert!(matches!(
        store.open_key(hash).err(),
        Some(StoreError::NoKey { .. })
    ));
    assert_eq!((store.usage().keys, store.usage().key_bytes), (0, 0));
    let keys = config.dir.join("objects/keys");
    assert_eq!(std::fs::read_dir(keys).unwrap().count(), 0);
}

#[test]
fn one_handle_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    assert!(matches!(
        Store::open(&config),
        Err(StoreError::Missing { .. })
    ));
    Store::create(&config, &board()).unwrap();
    assert!(matches!(
        Store::create(&config, &board()),
        Err(StoreError::Exists { .. })
    ));
    let store = Store::open(&config).unwrap();
    let error = Store::open(&config).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    append(&store, 0..3).unwrap();
    drop(store);
    assert_eq!(Store::open(&config).unwrap().len(), 3);
}

#[test]
fn posts_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    let mut long = message(1);
    long.payload.push(0);
    let bad = Post {
        id: [1; 16],
        messages: vec![message(0), long],
    };
    let error = store.append(&[post(0..2), bad]).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Size {
                post: 1,
                position: 1,
                expected: 60,
                found: 61,
                ..
            }
        ),
        "{error}"
    );
    let empty = Post {
        id: [1; 16],
        messages: Vec::new(),
    };
    let error = store.append(&[post(0..2), empty]).unwrap_err();
    assert!(
        matches!(error, StoreError::PostLength { post: 1, found: 0 }),
        "{error}"
    );
    assert_eq!(store.len(), 0);
    let error = store
        .read(0..1, &mut |_, _, _| panic!("called"))
        .unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::OutOfRange {
                expected: 0,
                end: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn ids_are_forgotten_by_uptime_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(&dir);
    config.post_id_memory = Duration::ZERO;
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    append(&store, 0..2).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    // The next append forgets it; the content comes again under the same id.
    assert!(!store.append(&[post(0..2)]).unwrap()[0].repeated);
    drop(store);
    config.post_id_memory = Duration::from_secs(3600);
    let store = Store::open(&config).unwrap();
    let appended = store.append(&[post(0..2)]).unwrap();
    assert!(appended[0].repeated && appended[0].range == (2..4));
}
