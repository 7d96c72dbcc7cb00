//! Backups while posts go on, restoring, increments, repair.

use std::fs;

use super::{
    all, append, back_up, board, check_content, config, key, post, read_key, sealed, upload,
};
use crate::{Change, Store, StoreConfig, StoreError};

/// A store with everything in it: 30 messages in 3 segments and a tail, a key, records.
fn full_store(dir: &tempfile::TempDir) -> (StoreConfig, Store, [u8; 32]) {
    let (config, store) = sealed(dir);
    let (bytes, hash) = key(2_500_000, 1);
    upload(&store, &bytes, hash).unwrap();
    let puts: Vec<_> = (0..3u8)
        .map(|i| Change::Put {
            table: "jobs".into(),
            key: vec![i],
            value: vec![i; 100],
        })
        .collect();
    store.write(&puts).unwrap();
    (config, store, hash)
}

fn restored(dir: &tempfile::TempDir, name: &str) -> StoreConfig {
    StoreConfig {
        dir: dir.path().join(name),
        ..config(dir)
    }
}

#[test]
fn what_is_restored_is_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store, hash) = full_store(&dir);
    let folder = dir.path().join("backup");
    let names = back_up(&store, &folder).unwrap();
    assert_eq!(names.len(), 3 + 1 + 1);
    assert!(names[4].starts_with("meta-"), "{names:?}");
    let config = restored(&dir, "again");
    let (mut last, mut total) = (0, 0);
    let restored = Store::restore(&config, &folder, &mut |done, all| {
        (last, total) = (done, all)
    })
    .unwrap();
    assert!(last == total && total > 2_500_000);
    assert_eq!(
        (
            restored.messages,
            restored.segments,
            restored.keys,
            restored.records
        ),
        (30, 3, 1, 3)
    );
    let copy = Store::open(&config).unwrap();
    check_content(&copy).unwrap();
    assert_eq!(copy.segments().unwrap(), store.segments().unwrap());
    assert_eq!(copy.scan("jobs").unwrap(), store.scan("jobs").unwrap());
    assert!(read_key(&copy, hash).unwrap() == key(2_500_000, 1).0);
    assert!(all(&copy, &[post(0..30)]).unwrap()[0].repeated);
    assert_eq!(append(&copy, 30..40).unwrap(), 30..40);
    assert!(copy.verify(&mut |_, _| {}).unwrap().is_sound());
    let error = Store::restore(&config, &folder, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::Exists(_)), "{error}");
}

#[test]
fn a_second_backup_brings_what_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store, _) = full_store(&dir);
    let folder = dir.path().join("backup");
    back_up(&store, &folder).unwrap();
    append(&store, 30..50).unwrap();
    store.seal().unwrap();
    let names = back_up(&store, &folder).unwrap();
    assert_eq!(names.len(), 3 + 1, "{names:?}");
    let config = restored(&dir, "again");
    // The newest of the two.
    assert_eq!(
        Store::restore(&config, &folder, &mut |_, _| {})
            .unwrap()
            .messages,
        50
    );
    check_content(&Store::open(&config).unwrap()).unwrap();
}

#[test]
fn a_backup_during_appends_is_of_one_moment() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    append(&store, 0..20).unwrap();
    let folder = dir.path().join("backup");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for start in (20..400).step_by(4) {
                append(&store, start..start + 4).unwrap();
                store.seal().unwrap();
            }
        });
        for round in 0..6 {
            back_up(&store, &folder).unwrap();
            let config = restored(&dir, &format!("copy-{round}"));
            let found = Store::restore(&config, &folder, &mut |_, _| {}).unwrap();
            assert!(found.messages.is_multiple_of(4) && found.messages >= 20);
            let copy = Store::open(&config).unwrap();
            check_content(&copy).unwrap();
            assert!(copy.verify(&mut |_, _| {}).unwrap().is_sound());
        }
    });
    assert_eq!(store.len(), 400);
}

#[test]
fn damage_is_repaired_from_a_backup() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store, hash) = full_store(&dir);
    let folder = dir.path().join("backup");
    back_up(&store, &folder).unwrap();
    let objects = config.dir.join("objects");
    let segments: Vec<_> = store
        .segments()
        .unwrap()
        .iter()
        .map(|s| objects.join(s.name()))
        .collect();
    let mut bytes = fs::read(&segments[0]).unwrap();
    bytes[100] ^= 1;
    fs::write(&segments[0], &bytes).unwrap();
    fs::remove_file(&segments[1]).unwrap();
    let key_file = objects.join(crate::store::objects::key_name(&hash));
    fs::write(&key_file, b"other").unwrap();
    drop(store);
    let store = Store::open(&config).unwrap();
    assert_eq!(store.verify(&mut |_, _| {}).unwrap().faults.len(), 3);
    // A backup that is damaged itself is no help.
    let error = back_up(&store, &dir.path().join("bad")).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let spoilt = folder.join(segments[0].strip_prefix(&objects).unwrap());
    let good = fs::read(&spoilt).unwrap();
    fs::write(&spoilt, &bytes).unwrap();
    let report = store.repair(&folder).unwrap();
    assert_eq!(
        (report.faults.len(), report.repaired.len()),
        (2, 2),
        "{report:?}"
    );
    fs::write(&spoilt, &good).unwrap();
    let report = store.repair(&folder).unwrap();
    assert_eq!(
        (report.faults.len(), report.repaired.len()),
        (0, 1),
        "{report:?}"
    );
    check_content(&store).unwrap();
    assert!(read_key(&store, hash).is_ok());
}

#[test]
fn every_flip_in_the_tables_of_a_backup_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store, _) = full_store(&dir);
    let folder = dir.path().join("backup");
    let names = back_up(&store, &folder).unwrap();
    let file = folder.join(names.last().unwrap());
    let bytes = fs::read(&file).unwrap();
    let config = restored(&dir, "again");
    let mut cases: Vec<Vec<u8>> = (0..bytes.len())
        .step_by(29)
        .map(|len| bytes[..len].to_vec())
        .collect();
    for at in (0..bytes.len()).step_by(7).chain(0..64) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        cases.push(flipped);
    }
    cases.push([bytes.as_slice(), &[0]].concat());
    for (number, case) in cases.iter().enumerate() {
        fs::write(&file, case).unwrap();
        assert!(
            Store::restore(&config, &folder, &mut |_, _| {}).is_err(),
            "case {number}"
        );
        assert!(!Store::exists(&config.dir));
    }
    fs::write(&file, &bytes).unwrap();
    Store::restore(&config, &folder, &mut |_, _| {}).unwrap();
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let error = Store::restore(&restored(&dir, "no"), &empty, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::NoBackup(_)), "{error}");
}
