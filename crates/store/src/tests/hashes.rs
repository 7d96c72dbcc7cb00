//! Hashes of messages: stored with posts, and damaged.

use std::ops::Range;

use omr_errors::Mismatch;
use redb::{Database, ReadableTable, WriteTransaction};

use super::disk::Disk;
use super::{
    Simulated, TAG, all, append, back_up, board, check_content, hash, hash_of, message,
    plain_store, post, sealed,
};
use crate::database::{Access, Source, builder};
use crate::format::{HASHES, index_key, seal_row};
use crate::{Board, Evidence, Expiry, META_FILE, Message, MessageHashes, Post, Store, StoreError};

fn hashes(range: Range<u64>) -> MessageHashes {
    MessageHashes::new(TAG, range.map(|index| hash(&message(index))).collect())
}

/// Returns the messages of a range whose hashes are stored, and asserts that these are right.
fn kept(store: &Store, range: Range<u64>) -> Vec<u64> {
    let found = store.kept_hashes(range.clone(), TAG).unwrap();
    assert_eq!(found.len() as u64, range.end - range.start);
    let found = range.zip(found);
    let kept = found.filter_map(|(index, kept)| {
        assert!(kept.is_none_or(|kept| kept == hash(&message(index))));
        kept.map(|_| index)
    });
    kept.collect()
}

/// Gathers the hashes of a range and stores the missing ones. Returns the number of the missing ones.
fn gather(store: &Store, range: Range<u64>) -> usize {
    let mut taken = 0;
    let gathered = store.hashes(range.clone(), TAG, &mut |clue, payload| {
        taken += 1;
        hash_of(clue, payload)
    });
    let gathered = gathered.unwrap();
    assert_eq!(gathered.hashes, hashes(range).hashes);
    assert_eq!(gathered.anew().is_some(), taken > 0);
    if let Some((first, anew)) = gathered.anew() {
        store.keep_hashes(first, &anew).unwrap();
    }
    taken
}

/// Returns a post of one message without a hash.
fn bare(index: u64) -> Post {
    Post {
        hashes: None,
        ..post(index..index + 1)
    }
}

#[test]
fn hashes_are_kept_from_posting_on() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    append(&store, 0..5).unwrap();
    all(&store, &[post(5..7), bare(7), post(8..9), post(9..12)]).unwrap();
    let other = MessageHashes::new(*b"toy2", vec![[9; 32]; 3]);
    let other = post(12..15).with_hashes(other);
    all(&store, &[other, post(15..30)]).unwrap();
    let with: Vec<u64> = (0..7).chain(8..12).chain(15..30).collect();
    let check = |store: &Store| {
        assert_eq!(kept(store, 0..30), with);
        assert_eq!(kept(store, 3..17), with[3..13]);
        assert!(kept(store, 4..4).is_empty());
        // There are no hashes with another tag.
        let of_other = store.kept_hashes(11..16, *b"toy2").unwrap();
        let nine = Some([9; 32]);
        assert_eq!(of_other, [None, nine, nine, nine, None]);
        check_content(store).unwrap();
        assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
    };
    check(&store);
    store.seal().unwrap();
    check(&store);
    drop(store);
    let store = simulated.open().unwrap();
    check(&store);
    assert_eq!(gather(&store, 4..30), 4);
    assert_eq!(gather(&store, 0..30), 0);
    for outside in [28..31, 31..31] {
        let error = store.kept_hashes(outside, TAG).unwrap_err();
        assert!(matches!(error, StoreError::OutOfRange { .. }), "{error}");
    }
}

#[test]
fn a_post_has_a_hash_for_each_message_or_none() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    let error = store.append(&[post(0..3), post(3..5).with_hashes(hashes(3..6))]);
    let count = |error: &StoreError| {
        matches!(
            error,
            StoreError::HashCount(Mismatch {
                expected: 2,
                found: 3
            })
        )
    };
    assert!(error.is_err_and(|error| count(&error)));
    assert_eq!(store.len(), 0);
}

/// A refused or repeated post stores no hash.
#[test]
fn hashes_are_of_the_messages_that_were_taken() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    append(&store, 0..4).unwrap();
    let mut used = post(2..3);
    used.id = [1; 16];
    let posts = [used, post(0..4), post(4..6)];
    let appended = store.append(&posts).unwrap();
    assert!(appended[0].is_err() && appended[1].as_ref().unwrap().repeated);
    assert_eq!(kept(&store, 0..6), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn expired_messages_leave_no_hashes() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    for range in [0..7, 7..23, 23..30] {
        append(&store, range).unwrap();
    }
    store.seal().unwrap();
    // The row of hashes 7 to 22 is shortened when messages 0 to 7 expire.
    store.expire(Expiry::Keep(15)).unwrap();
    assert_eq!((store.first(), kept(&store, 8..30)), (8, (8..30).collect()));
    let keys = rows(&store).into_iter().map(|(key, _)| key);
    assert_eq!(keys.collect::<Vec<_>>(), [8, 23].map(index_key));
    let error = store.kept_hashes(7..9, TAG).unwrap_err();
    assert!(matches!(error, StoreError::Expired { .. }), "{error}");
    // Late hashes of expired messages are not stored.
    store.keep_hashes(2, &hashes(2..23)).unwrap();
    assert_eq!(rows(&store)[0].0, index_key(8));
    assert_eq!(kept(&store, 8..30), (8..30).collect::<Vec<_>>());
    store.keep_hashes(28, &hashes(28..40)).unwrap();
    assert_eq!(rows(&store).last().unwrap().0, index_key(28));
    assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
}

fn rows(store: &Store) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut out = Vec::new();
    let meta = &store.inner().meta;
    let read = meta.view(|view| {
        view.each(HASHES, &[], |key, row| {
            out.push((key.to_vec(), row.to_vec()));
            Ok(std::ops::ControlFlow::Continue(()))
        })
    });
    read.unwrap();
    out
}

#[test]
fn rows_are_what_the_document_says_and_long_ones_are_split() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    append(&store, 0..2).unwrap();
    let seed = crc32c::crc32c(&board().board_id);
    let value = [&TAG[..], hashes(0..2).hashes.as_flattened()].concat();
    let row = seal_row(seed, "hashes", &index_key(0), &value);
    assert_eq!(rows(&store), [(index_key(0).to_vec(), row)]);
    append(&store, 2..8007).unwrap();
    let found = rows(&store);
    let sizes = found.iter().map(|(_, row)| (row.len() - 8) / 32);
    assert_eq!(sizes.collect::<Vec<_>>(), [2, 4000, 4000, 5]);
    assert_eq!(kept(&store, 0..8007), (0..8007).collect::<Vec<_>>());
    assert_eq!(kept(&store, 4001..4003), [4001, 4002]);
    assert_eq!(kept(&store, 8006..8007), [8006]);
}

/// A change of a row.
type Change = fn(&mut Vec<u8>);

#[test]
fn damaged_hashes_are_missing_and_computed_again() {
    let changes: [Change; 5] = [
        |row| row[40] ^= 1,
        |row| row[0] ^= 1,
        |row| row.truncate(50),
        |row| row.clear(),
        |row| row.extend([0; 32]),
    ];
    for change in changes {
        let dir = tempfile::tempdir().unwrap();
        let (config, store) = sealed(&dir);
        // Another row lies after that of messages 0 to 29.
        append(&store, 30..33).unwrap();
        drop(store);
        edit(&config.dir.join(META_FILE), |transaction| {
            let mut table = transaction.open_table(HASHES).unwrap();
            let key = index_key(0);
            let mut row = table.get(key.as_slice()).unwrap().unwrap().value().to_vec();
            change(&mut row);
            table.insert(key.as_slice(), row.as_slice()).unwrap();
        });
        let store = Store::open(&config).unwrap();
        assert_eq!(kept(&store, 0..33), [30, 31, 32]);
        check_content(&store).unwrap();
        let faults = store.verify(&mut |_, _| {}).unwrap().faults;
        assert!(
            matches!(&faults[..], [StoreError::Row { table, .. }] if table == "hashes"),
            "{faults:?}"
        );
        // After a part of them is read, the damaged row is gone and the hashes of that part are stored.
        assert_eq!(gather(&store, 5..31), 25);
        assert_eq!(kept(&store, 0..33), (5..33).collect::<Vec<_>>());
        assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
        assert_eq!(gather(&store, 0..33), 5);
        assert_eq!(gather(&store, 0..33), 0);
        append(&store, 33..36).unwrap();
        assert_eq!(kept(&store, 0..36), (0..36).collect::<Vec<_>>());
    }
}

#[test]
fn a_repair_removes_what_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let (config, store) = sealed(&dir);
    drop(store);
    edit(&config.dir.join(META_FILE), |transaction| {
        let mut table = transaction.open_table(HASHES).unwrap();
        let row = [7; 40];
        for key in [&index_key(3)[..], &[9; 3]] {
            table.insert(key, row.as_slice()).unwrap();
        }
    });
    let store = Store::open(&config).unwrap();
    let faults = store.verify(&mut |_, _| {}).unwrap().faults;
    let checksum = |fault: &StoreError| matches!(fault, StoreError::Row { evidence, .. } if matches!(evidence.found, Evidence::Checksum(_)));
    assert!(
        faults.len() == 2 && faults.iter().all(checksum),
        "{faults:?}"
    );
    assert_eq!(kept(&store, 0..30), (0..30).collect::<Vec<_>>());
    let report = store.repair(Some(dir.path())).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    assert_eq!(report.repaired, ["hashes"]);
    assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
    assert_eq!(kept(&store, 0..30), (0..30).collect::<Vec<_>>());
}

fn edit(path: &std::path::Path, change: impl FnOnce(&WriteTransaction)) {
    let transaction = Database::open(path).unwrap().begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
}

#[test]
fn backups_leave_them_out() {
    let dir = tempfile::tempdir().unwrap();
    let (_, store) = sealed(&dir);
    let copy = dir.path().join("copy");
    back_up(&store, &copy).unwrap();
    let again = crate::StoreConfig::new(dir.path().join("again"));
    Store::restore(&again, &copy, &mut |_, _| {}).unwrap();
    let store = Store::open(&again).unwrap();
    assert!(kept(&store, 0..30).is_empty());
    assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
    assert_eq!(gather(&store, 0..30), 30);
    assert_eq!(gather(&store, 0..30), 0);
}

#[test]
fn boards_of_plain_clues_keep_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = plain_store(&dir);
    append(&store, 0..30).unwrap();
    store.seal().unwrap();
    store.keep_hashes(0, &hashes(0..3)).unwrap();
    assert!(kept(&store, 0..30).is_empty());
    store.expire(Expiry::Keep(8)).unwrap();
    let has = store.inner().meta.view(|view| view.has(HASHES));
    assert!(!has.unwrap());
    assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn a_local_board_keeps_them_too() {
    let disk = Disk::default();
    let open = |access| Board::open_source(Source::Disk(disk.clone()), access).unwrap();
    let database = builder().create_with_backend(disk.attach()).unwrap();
    crate::tables::initialise(&database, &board()).unwrap();
    drop(database);
    let messages = |range: Range<u64>| -> Vec<Message> { range.map(message).collect() };
    let own = open(Access::ReadWrite);
    own.append_hashed(&messages(0..9), &hashes(0..9)).unwrap();
    own.append(&messages(9..12)).unwrap();
    let error = own
        .append_hashed(&messages(12..14), &hashes(12..13))
        .unwrap_err();
    assert!(matches!(error, StoreError::HashCount(_)), "{error}");
    own.append_hashed(&messages(12..14), &hashes(12..14))
        .unwrap();
    drop(own);
    let reader = open(Access::ReadOnly);
    let kept = |board: &Board, range: Range<u64>| -> Vec<u64> {
        let found = board.kept_hashes(range.clone(), TAG).unwrap();
        let kept = range.zip(found).filter(|(_, hash)| hash.is_some());
        kept.map(|(index, _)| index).collect()
    };
    assert_eq!(kept(&reader, 0..14), [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13]);
    let take = &mut hash_of;
    let gathered = reader.hashes(4..14, TAG, take).unwrap();
    assert_eq!(gathered.hashes, hashes(4..14).hashes);
    let (first, anew) = gathered.anew().unwrap();
    assert_eq!((first, &anew), (9, &hashes(9..12)));
    let error = reader.keep_hashes(first, &anew).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly), "{error}");
    drop(reader);
    let own = open(Access::ReadWrite);
    own.keep_hashes(first, &anew).unwrap();
    assert_eq!(kept(&own, 0..14), (0..14).collect::<Vec<_>>());
    own.expire(11).unwrap();
    assert_eq!(kept(&own, 11..14), [11, 12, 13]);
    assert!(own.verify(&mut |_, _| {}).unwrap().is_sound());
}

/// A message and its hash are both on the disk, or neither is.
#[test]
fn a_crash_leaves_no_message_without_its_hash() {
    let whole = Simulated::create();
    append(&whole.open().unwrap(), 0..3).unwrap();
    for at in 0..whole.disk.operations() {
        let simulated = Simulated::create();
        simulated.disk.crash_at(at);
        let _ = simulated.open().and_then(|store| append(&store, 0..3));
        let disk = simulated.disk.after_crash(&mut || None);
        let store = Simulated::on(disk, simulated.objects.clone())
            .open()
            .unwrap();
        let len = store.len();
        assert_eq!(
            kept(&store, 0..len),
            (0..len).collect::<Vec<_>>(),
            "crash at {at}"
        );
    }
}
