//! The running hash of the log, and the histories that restores begin.

use std::fs;

use redb::ReadableTable;

use super::{append, back_up, board, check_content, config, hash_after, message, sealed};
use crate::chain::root;
use crate::format::{LOG, TAIL, index_key};
use crate::meta::Outcome;
use crate::{Board, BoardConfig, Expiry, Store, StoreConfig, StoreError};

/// Flips a bit in the row that contains the hash after message `index`.
fn damage(store: &Store, index: u64) {
    let flipped = store.inner().meta.transact(|writing, _| {
        let mut table = writing.table(LOG)?;
        let (key, mut row) = {
            let to = index_key(index);
            let found = table.range(..=to.as_slice()).unwrap().next_back();
            let (key, row) = found.unwrap().unwrap();
            (key.value().to_vec(), row.value().to_vec())
        };
        row[3] ^= 4;
        table.insert(key.as_slice(), row.as_slice()).unwrap();
        Ok(Outcome::Commit(()))
    });
    flipped.unwrap();
}

fn rows(store: &Store) -> u64 {
    store.inner().meta.view(|view| view.count(LOG)).unwrap()
}

#[test]
fn a_hash_depends_on_everything_before_it() {
    let head = root(&board());
    let others = [
        BoardConfig {
            board_id: [1; 16],
            ..board()
        },
        BoardConfig {
            sealing: "other".into(),
            ..board()
        },
    ];
    for other in &others {
        assert_ne!(root(other), head);
    }
    // Known answers: BLAKE3 of the bytes of docs/storage.md.
    let config = BoardConfig {
        board_id: *b"0123456789abcdef",
        params_id: "toy".into(),
        sealing: "no".into(),
        clue_bytes: 3,
        payload_bytes: 2,
        clues: crate::Clues::Plain,
    };
    let body = b"0123456789abcdef\x03\0\0\0\x02\0\0\0\x03toy\x02no\x01";
    assert_eq!(root(&config), blake3::derive_key("omr v1 log root", body));
    let dir = tempfile::tempdir().unwrap();
    let local = Board::create(dir.path(), &config).unwrap();
    let message = crate::Message {
        clue: vec![1, 2, 3],
        payload: vec![4, 5],
    };
    local.append(std::slice::from_ref(&message)).unwrap();
    let expected = hash_after(&root(&config), &message);
    assert_eq!(local.hash_at(1).unwrap(), Some(expected));
    assert_eq!(local.hash_at(0).unwrap(), Some(root(&config)));
    assert_eq!(local.hash_at(2).unwrap(), None);
}

#[test]
fn sealing_joins_rows_and_damaged_ones_are_computed_again() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = sealed(&dir);
    for start in 30..46 {
        append(&store, start..start + 1).unwrap();
    }
    check_content(&store).unwrap();
    let before = rows(&store);
    store.seal().unwrap();
    assert!(
        rows(&store) < before,
        "{before} rows, then {}",
        rows(&store)
    );
    check_content(&store).unwrap();
    for index in [2, 9, 33, 44] {
        damage(&store, index);
    }
    check_content(&store).unwrap();
    let faults = store.verify(&mut |_, _| {}).unwrap().faults;
    assert!(!faults.is_empty());
    drop(store);
    let store = Store::open(&config).unwrap();
    check_content(&store).unwrap();
    // Damage prevents no append, sealing or expiry.
    append(&store, 46..60).unwrap();
    store.seal().unwrap();
    store.expire(Expiry::Keep(30)).unwrap();
    assert!(store.first() > 0);
    check_content(&store).unwrap();
    let report = store.repair(None).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    check_content(&store).unwrap();
}

#[test]
fn a_restore_begins_a_history_and_a_folder_refuses_two() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store) = sealed(&dir);
    assert_eq!(
        (store.history().id, store.history().start),
        (board().board_id, 0)
    );
    let (early, late) = (dir.path().join("early"), dir.path().join("late"));
    back_up(&store, &early).unwrap();
    append(&store, 30..50).unwrap();
    back_up(&store, &late).unwrap();
    let place = |name: &str| StoreConfig {
        dir: dir.path().join(name),
        ..config(&dir)
    };
    let restored = Store::restore(&place("two"), &early, &mut |_, _| {}).unwrap();
    let copy = Store::open(&place("two")).unwrap();
    assert_eq!(
        (copy.history().id, copy.history().start),
        (restored.history, 30)
    );
    assert_ne!(restored.history, board().board_id);
    // The logs are equal below the fork and have other messages after it.
    assert_eq!(copy.hash_at(30).unwrap(), store.hash_at(30).unwrap());
    let mut other = super::post(30..33);
    other.messages[0] = message(99);
    copy.append(&[other]).unwrap()[0].as_ref().unwrap();
    for length in 31..=33 {
        assert_ne!(
            copy.hash_at(length).unwrap(),
            store.hash_at(length).unwrap()
        );
    }
    // A folder of the restored board is continued. A folder with states that this board never had is refused before
    // anything is written.
    back_up(&copy, &early).unwrap();
    let names = |folder: &std::path::Path| -> Vec<_> {
        let names = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        names.collect()
    };
    let before = names(&late);
    let error = back_up(&copy, &late).unwrap_err();
    assert!(matches!(error, StoreError::OtherHistory { .. }), "{error}");
    assert_eq!(names(&late), before);
    // The abandoned board cannot continue in the folder of the restored board either.
    let error = back_up(&store, &early).unwrap_err();
    assert!(matches!(error, StoreError::OtherHistory { .. }), "{error}");
    // Somebody has copied files of both into one folder.
    for name in names(&late) {
        let from = late.join(&name);
        if from.is_file() {
            fs::copy(from, early.join(&name)).unwrap();
        }
    }
    let error = Store::restore(&place("three"), &early, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::OtherHistory { .. }), "{error}");
    // After two restores both histories are known.
    let again = dir.path().join("again");
    back_up(&copy, &again).unwrap();
    Store::restore(&place("four"), &again, &mut |_, _| {}).unwrap();
    let third = Store::open(&place("four")).unwrap();
    back_up(&third, &again).unwrap();
    assert_eq!(third.hash_at(33).unwrap(), copy.hash_at(33).unwrap());
}

#[test]
fn a_message_of_another_history_is_not_brought_back() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store) = sealed(&dir);
    let [early, own, other] = ["early", "own", "other"].map(|name| dir.path().join(name));
    back_up(&store, &early).unwrap();
    append(&store, 30..33).unwrap();
    back_up(&store, &own).unwrap();
    let place = StoreConfig {
        dir: dir.path().join("two"),
        ..config(&dir)
    };
    Store::restore(&place, &early, &mut |_, _| {}).unwrap();
    let copy = Store::open(&place).unwrap();
    append(&copy, 40..43).unwrap();
    back_up(&copy, &other).unwrap();
    // The second of the three messages is damaged.
    let damaged = store.inner().meta.transact(|writing, _| {
        let mut table = writing.table(TAIL)?;
        let key = index_key(30);
        let mut run = table.get(key.as_slice()).unwrap().unwrap().value().to_vec();
        let middle = run.len() / 2;
        run[middle] ^= 1;
        table.insert(key.as_slice(), run.as_slice()).unwrap();
        Ok(Outcome::Commit(()))
    });
    damaged.unwrap();
    let report = store.repair(Some(&other)).unwrap();
    assert!(!report.is_sound());
    assert!(report.repaired.is_empty(), "{:?}", report.repaired);
    let report = store.repair(Some(&own)).unwrap();
    assert_eq!(report.repaired, ["message 31"]);
    assert!(report.is_sound(), "{:?}", report.faults);
    check_content(&store).unwrap();
}
