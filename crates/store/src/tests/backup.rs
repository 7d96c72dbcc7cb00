//! Backups during posts, restores, incremental backups and repair.

use std::fs;

use super::rot::check_message;
use super::{
    all, append, back_up, board, check_content, config, key, post, read_key, sealed, upload,
};
use crate::{Change, Store, StoreConfig, StoreError};

/// Creates a store with data in all tables: 30 messages in 3 segments and a tail, a key, records.
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
fn a_restored_store_equals_the_original() {
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
    // The newest of the two backups is restored.
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
    // A backup that is damaged itself cannot repair anything.
    let error = back_up(&store, &dir.path().join("bad")).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let spoilt = folder.join(segments[0].strip_prefix(&objects).unwrap());
    let good = fs::read(&spoilt).unwrap();
    fs::write(&spoilt, &bytes).unwrap();
    let report = store.repair(Some(&folder)).unwrap();
    assert_eq!(
        (report.faults.len(), report.repaired.len()),
        (2, 2),
        "{report:?}"
    );
    fs::write(&spoilt, &good).unwrap();
    let report = store.repair(Some(&folder)).unwrap();
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
        .step_by(290)
        .map(|len| bytes[..len].to_vec())
        .collect();
    for at in (0..bytes.len()).step_by(67).chain(0..64) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        cases.push(flipped);
    }
    cases.push([bytes.as_slice(), &[0]].concat());
    let mut salvaged = 0;
    for (number, case) in cases.iter().enumerate() {
        fs::write(&file, case).unwrap();
        match Store::restore(&config, &folder, &mut |_, _| {}) {
            Err(_) => assert!(!Store::exists(&config.dir)),
            Ok(found) => {
                assert!(!found.faults.is_empty(), "case {number}");
                let copy = Store::open(&config).unwrap();
                assert!(copy.verify(&mut |_, _| {}).unwrap().is_sound());
                let lost = |index: &u64| found.lost.contains(index);
                let whole = (0..30).filter(|index| !lost(index));
                whole.for_each(|index| check_message(&copy, index));
                salvaged += 1;
                drop(copy);
                fs::remove_dir_all(&config.dir).unwrap();
            }
        }
    }
    // Nothing is restored from a file that was cut; most of a file with a flip is.
    assert!(salvaged > cases.len() / 3, "{salvaged} of {}", cases.len());
    fs::write(&file, &bytes).unwrap();
    Store::restore(&config, &folder, &mut |_, _| {}).unwrap();
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let error = Store::restore(&restored(&dir, "no"), &empty, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::NoBackup(_)), "{error}");
}

#[test]
fn backups_are_checked_and_thinned_out() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store, hash) = full_store(&dir);
    let folder = dir.path().join("backup");
    let first = back_up(&store, &folder).unwrap().pop().unwrap();
    store.delete_key(hash).unwrap();
    store.expire(crate::Expiry::Keep(10)).unwrap();
    append(&store, 30..40).unwrap();
    let second = back_up(&store, &folder).unwrap().pop().unwrap();
    append(&store, 40..44).unwrap();
    let third = back_up(&store, &folder).unwrap().pop().unwrap();
    let check = || Store::verify_backups(&folder, &mut |_, _| {}).unwrap();
    let report = check();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(
        (report.messages, report.first, report.segments, report.keys),
        (44, 16, 1, 0)
    );
    // Damage is named, and nothing that a kept backup names is removed.
    let segment = folder.join(store.segments().unwrap()[0].name());
    let good = fs::read(&segment).unwrap();
    fs::write(&segment, &good[1..]).unwrap();
    assert_eq!(check().faults.len(), 1);
    fs::write(&segment, &good).unwrap();
    let tables = fs::read(folder.join(&second)).unwrap();
    fs::write(folder.join(&second), &tables[..99]).unwrap();
    assert_eq!(check().faults.len(), 1);
    assert!(Store::prune_backups(&folder, 2).is_err());
    assert!(folder.join(&first).exists());
    fs::write(folder.join(&second), &tables).unwrap();

    let pruned = Store::prune_backups(&folder, 2).unwrap();
    assert_eq!((pruned.backups, pruned.objects), (1, 3));
    assert!(!folder.join(&first).exists() && folder.join(&second).exists());
    assert!(!folder.join(crate::store::objects::key_name(&hash)).exists());
    assert_eq!(check().messages, 44);
    let pruned = Store::prune_backups(&folder, 1).unwrap();
    assert_eq!((pruned.backups, pruned.objects), (1, 0));
    assert!(folder.join(third).exists());
    let copy = restored(&dir, "again");
    assert_eq!(
        Store::restore(&copy, &folder, &mut |_, _| {})
            .unwrap()
            .messages,
        44
    );
    check_content(&Store::open(&copy).unwrap()).unwrap();
}

#[test]
fn a_backup_that_cannot_be_read_gives_way_to_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store, _) = full_store(&dir);
    let folder = dir.path().join("backup");
    let first = back_up(&store, &folder).unwrap().pop().unwrap();
    append(&store, 30..33).unwrap();
    let second = back_up(&store, &folder).unwrap().pop().unwrap();
    let bytes = fs::read(folder.join(&second)).unwrap();
    fs::write(folder.join(&second), &bytes[..bytes.len() / 2]).unwrap();
    let copy = restored(&dir, "again");
    let restored = Store::restore(&copy, &folder, &mut |_, _| {}).unwrap();
    assert_eq!((restored.messages, restored.file), (30, folder.join(first)));
    assert!(
        matches!(&restored.faults[..], [StoreError::Backup { path, .. }] if path.ends_with(&second)),
        "{:?}",
        restored.faults
    );
    assert_eq!(restored.lost, [0; 0]);
}

#[test]
fn a_segment_that_a_backup_lacks_comes_from_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir);
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    append(&store, 0..12).unwrap();
    let folder = dir.path().join("backup");
    back_up(&store, &folder).unwrap();
    append(&store, 12..20).unwrap();
    store.seal().unwrap();
    back_up(&store, &folder).unwrap();
    for segment in store.segments().unwrap() {
        fs::remove_file(folder.join(segment.name())).unwrap();
    }
    let copy = restored(&dir, "again");
    let restored = Store::restore(&copy, &folder, &mut |_, _| {}).unwrap();
    assert_eq!((restored.messages, restored.faults.len()), (20, 2));
    // The first backup has messages up to 12 in its tail.
    assert_eq!(restored.lost, [12, 13, 14, 15]);
    let copy = Store::open(&copy).unwrap();
    (0..12)
        .chain(16..20)
        .for_each(|index| check_message(&copy, index));
    assert!(copy.verify(&mut |_, _| {}).unwrap().is_sound());
}
