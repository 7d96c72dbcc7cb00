//! Stores in real folders: a round trip, locks, and the files in the folder.

use std::time::Duration;

use super::{all, append, board, check_content, config, key, message, post, read_key, upload};
use crate::{BoardConfig, Change, Clues, Post, Store, StoreConfig, StoreError};

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
    let appended = all(&store, &posts).unwrap();
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
    reopened(&config);
}

/// Tests the store that `round_trip` left.
fn reopened(config: &StoreConfig) {
    let store = Store::open(config).unwrap();
    assert_eq!(store.board(), &board());
    assert_eq!((store.len(), store.segments().unwrap().len()), (35, 4));
    check_content(&store).unwrap();
    assert!(all(&store, &[post(31..35)]).unwrap()[0].repeated);
    assert_eq!(append(&store, 35..36).unwrap(), 35..36);
    check_content(&store).unwrap();
}

/// An empty store.
fn empty(dir: &tempfile::TempDir) -> (StoreConfig, Store) {
    let config = config(dir);
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    (config, store)
}

#[test]
fn keys_survive() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = empty(&dir);
    // The key has more than two parts of a large object.
    let (bytes, hash) = key(20_000_000, 4);
    upload(&store, &bytes, hash).unwrap();
    drop(store);
    let store = Store::open(&config).unwrap();
    assert!(read_key(&store, hash).unwrap() == bytes);
    store.delete_key(hash).unwrap();
    let error = store.open_key(hash).err().unwrap();
    assert!(matches!(error, StoreError::NoKey(_)), "{error}");
    assert_eq!((store.usage().keys, store.usage().key_bytes), (0, 0));
    let keys = config.dir.join("objects/keys");
    assert_eq!(std::fs::read_dir(keys).unwrap().count(), 0);
}

#[test]
fn records_survive() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = empty(&dir);
    let put = |table: &str, key: &[u8], value: &[u8]| Change::Put {
        table: table.into(),
        key: key.into(),
        value: value.into(),
    };
    let changes = [
        put("jobs", b"b", b"2"),
        put("jobs", b"a", b"1"),
        put("jobsa", b"", b""),
    ];
    store.write(&changes).unwrap();
    drop(store);
    let store = Store::open(&config).unwrap();
    assert_eq!(store.get("jobs", b"a").unwrap().unwrap(), b"1");
    assert_eq!(store.get("job", b"sa").unwrap(), None);
    assert_eq!(store.get("jobsa", b"").unwrap().unwrap(), b"");
    let all = [
        (b"a".to_vec(), b"1".to_vec()),
        (b"b".to_vec(), b"2".to_vec()),
    ];
    assert_eq!(store.scan("jobs").unwrap(), all);
    store
        .write(&[Change::Delete {
            table: "jobs".into(),
            key: b"a".to_vec(),
        }])
        .unwrap();
    assert_eq!(store.scan("jobs").unwrap(), all[1..]);
    for table in ["", &"x".repeat(256)] {
        let error = store
            .write(&[put("jobs", b"c", b""), put(table, b"", b"")])
            .unwrap_err();
        assert!(matches!(error, StoreError::TableName(_)), "{error}");
    }
    assert_eq!(store.get("jobs", b"c").unwrap(), None);
}

#[test]
fn one_handle_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    assert!(matches!(Store::open(&config), Err(StoreError::Missing(_))));
    Store::create(&config, &board()).unwrap();
    assert!(matches!(
        Store::create(&config, &board()),
        Err(StoreError::Exists(_))
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
    let (_, store) = empty(&dir);
    let mut long = message(1);
    long.payload.push(0);
    let bad = Post::new([1; 16], String::new(), vec![message(0), long]);
    let error = all(&store, &[post(0..2), bad]).unwrap_err();
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
    let empty = Post::new([1; 16], String::new(), Vec::new());
    let error = all(&store, &[post(0..2), empty]).unwrap_err();
    assert!(
        matches!(error, StoreError::PostLength { post: 1, found: 0 }),
        "{error}"
    );
    assert_eq!(store.len(), 0);
}

#[test]
fn ranges_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store) = empty(&dir);
    store.read(0..0, &mut |_, _, _| panic!("called")).unwrap();
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
    let plain = BoardConfig {
        clues: Clues::Plain,
        ..board()
    };
    Store::create(&config, &plain).unwrap();
    let store = Store::open(&config).unwrap();
    append(&store, 0..2).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    // The next append forgets the id; another post may then use it.
    assert!(!all(&store, &[post(0..2)]).unwrap()[0].repeated);
    drop(store);
    config.post_id_memory = Duration::from_secs(3600);
    let store = Store::open(&config).unwrap();
    let appended = all(&store, &[post(0..2)]).unwrap();
    assert!(appended[0].repeated && appended[0].range == (2..4));
}

#[test]
fn drafts_that_a_crash_left_go() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    Store::create(&config, &board()).unwrap();
    append(&Store::open(&config).unwrap(), 0..9).unwrap();
    let store = Store::open(&config).unwrap();
    store.seal().unwrap();
    drop(store);
    let segments = config.dir.join("objects/segments");
    std::fs::write(segments.join("00000000000000000008-ab.seg#1"), b"x").unwrap();
    check_content(&Store::open(&config).unwrap()).unwrap();
    assert_eq!(std::fs::read_dir(segments).unwrap().count(), 1);
}
