//! One message for each key of a board of bound clues.

use omr_errors::Mismatch;
use redb::{Database, ReadableTable};

use super::{check_content, config, create, message, messages, open};
use crate::error::UsedKey;
use crate::format::{BOARD_FILE, ONCE, SPENT, TAIL, index_key, seal_row};
use crate::tests::disk::Disk;
use crate::{Board, BoardConfig, Clues, Evidence, Message, StoreError};

/// Returns message `index` with the key of message `of`.
fn with_key(index: u64, of: u64) -> Message {
    let mut out = message(&config(), index);
    let at = out.clue.len() - 96..out.clue.len() - 64;
    out.clue[at.clone()].copy_from_slice(&message(&config(), of).clue[at]);
    out
}

#[test]
fn a_used_key_is_refused_with_all_of_its_append() {
    let disk = Disk::default();
    let board = create(&disk, &config()).unwrap();
    board.append(&messages(&config(), 0..7)).unwrap();
    for (batch, expected) in [
        // Another message has a key of the board.
        (vec![message(&config(), 7), with_key(8, 3)], (1, 3)),
        // A message of the board is appended again.
        (vec![message(&config(), 6)], (0, 6)),
        // One key occurs twice in one append.
        (
            vec![message(&config(), 7), message(&config(), 8), with_key(9, 7)],
            (2, 7),
        ),
    ] {
        let error = board.append(&batch).unwrap_err();
        assert!(
            matches!(error, StoreError::UsedKey(UsedKey { position, index }) if (position, index) == expected),
            "{error}"
        );
        assert_eq!(board.len(), 7);
    }
    // The keys of a refused append stay free.
    assert_eq!(board.append(&messages(&config(), 7..9)).unwrap(), 7..9);
    drop(board);
    let board = open(&disk).unwrap();
    let error = board.append(&[with_key(9, 8)]).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::UsedKey(UsedKey {
                position: 0,
                index: 8
            })
        ),
        "{error}"
    );
    check_content(&board, &config()).unwrap();
    assert!(board.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn only_the_key_is_looked_at() {
    let board = create(&Disk::default(), &config()).unwrap();
    let first = message(&config(), 0);
    let mut copied = first.clone();
    let at = copied.clue.len() - 96;
    copied.clue[at] ^= 1;
    // Otherwise a copy of a clue or payload with another key could prevent the original from being posted.
    assert_eq!(board.append(&[copied, first]).unwrap(), 0..2);
    let plain = BoardConfig {
        clues: Clues::Plain,
        ..config()
    };
    let board = create(&Disk::default(), &plain).unwrap();
    assert_eq!(
        board
            .append(&[message(&plain, 0), message(&plain, 0)])
            .unwrap(),
        0..2
    );
}

#[test]
fn the_key_stands_before_the_signature() {
    let clue: Vec<u8> = (0..200).collect();
    let key: Vec<u8> = (104..136).collect();
    assert_eq!(Clues::Bound.post_key(&clue).unwrap()[..], key);
    assert_eq!(Clues::Bound.post_key(&clue[..96]).unwrap()[..], clue[..32]);
    assert_eq!(Clues::Bound.post_key(&clue[..95]), None);
    assert_eq!(Clues::Plain.post_key(&clue), None);
    let short = BoardConfig {
        clue_bytes: 95,
        ..config()
    };
    let error = create(&Disk::default(), &short).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Config {
                least: 96,
                found: 95,
                ..
            }
        ),
        "{error}"
    );
}

/// Creates a board of eight messages, three of them expired, and changes its file.
fn tampered(change: impl FnOnce(&redb::WriteTransaction)) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    board.append(&messages(&config(), 0..8)).unwrap();
    assert_eq!(board.expire(3).unwrap(), 0..3);
    drop(board);
    let database = Database::open(dir.path().join(BOARD_FILE)).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
    dir
}

fn key(index: u64) -> Vec<u8> {
    let clue = message(&config(), index).clue;
    Clues::Bound.post_key(&clue).unwrap().to_vec()
}

fn faults(dir: &tempfile::TempDir) -> Vec<StoreError> {
    let board = Board::open_read_only(dir.path()).unwrap();
    let report = board.verify(&mut |_, _| {}).unwrap();
    assert_eq!((report.messages, report.first), (8, 3));
    report.faults
}

fn lose(transaction: &redb::WriteTransaction, index: u64) {
    let mut table = transaction.open_table(ONCE).unwrap();
    table.remove(key(index).as_slice()).unwrap();
}

/// With missing keys a used key would be accepted, so the list is made again before anything is appended.
#[test]
fn a_missing_key_is_found_and_listed_again() {
    let dir = tampered(|transaction| lose(transaction, 4));
    let found = faults(&dir);
    assert!(
        matches!(
            &found[..],
            [
                StoreError::KeyCount(Mismatch {
                    expected: 5,
                    found: 4
                }),
                StoreError::Row {
                    evidence: Mismatch {
                        expected: Evidence::Number(4),
                        found: Evidence::Missing,
                    },
                    ..
                },
            ]
        ),
        "{found:?}"
    );
    let board = Board::open(dir.path()).unwrap();
    let error = board.append(&[message(&config(), 4)]).unwrap_err();
    assert!(
        matches!(error, StoreError::UsedKey(UsedKey { index: 4, .. })),
        "{error}"
    );
    assert!(board.verify(&mut |_, _| {}).unwrap().is_sound());
    assert_eq!(board.append(&messages(&config(), 8..9)).unwrap(), 8..9);
}

#[test]
fn keys_that_nothing_can_list_again_stop_appends() {
    // One key is of an expired message, and one of a damaged message.
    let spent = |transaction: &redb::WriteTransaction| {
        let mut table = transaction.open_table(SPENT).unwrap();
        table.remove(key(1).as_slice()).unwrap();
    };
    let damaged = |transaction: &redb::WriteTransaction| {
        lose(transaction, 4);
        let mut tail = transaction.open_table(TAIL).unwrap();
        let row = index_key(3);
        let mut run = tail.get(row.as_slice()).unwrap().unwrap().value().to_vec();
        run[12_604 + 50] ^= 1;
        tail.insert(row.as_slice(), run.as_slice()).unwrap();
    };
    // The key of a lost message is lost, too: the list is made without it, and posts continue.
    let dir = tampered(damaged);
    assert!(!faults(&dir).is_empty());
    let board = Board::open(dir.path()).unwrap();
    assert_eq!(board.append(&messages(&config(), 8..9)).unwrap(), 8..9);
    drop(board);
    {
        let dir = tampered(spent);
        assert!(!faults(&dir).is_empty());
        let board = Board::open(dir.path()).unwrap();
        for _ in 0..2 {
            let error = board.append(&messages(&config(), 8..9)).unwrap_err();
            assert!(
                matches!(error, StoreError::Row { .. } | StoreError::Damaged { .. }),
                "{error}"
            );
            assert_eq!(board.len(), 8);
        }
    }
}

#[test]
fn a_key_listed_for_another_message_is_found() {
    let dir = tampered(|transaction| {
        let seed = crc32c::crc32c(&config().board_id);
        let row = seal_row(seed, "once", &key(4), &6u64.to_le_bytes());
        let mut table = transaction.open_table(ONCE).unwrap();
        table.insert(key(4).as_slice(), row.as_slice()).unwrap();
    });
    let found = faults(&dir);
    assert!(
        matches!(
            &found[..],
            [StoreError::Row {
                evidence: Mismatch {
                    expected: Evidence::Number(4),
                    found: Evidence::Number(6),
                },
                ..
            }]
        ),
        "{found:?}"
    );
    // The key expires with its own message, and stays used.
    let board = Board::open(dir.path()).unwrap();
    assert_eq!(board.expire(6).unwrap(), 3..6);
    let error = board.append(&messages(&config(), 4..5)).unwrap_err();
    assert!(
        matches!(error, StoreError::UsedKey(UsedKey { index: 4, .. })),
        "{error}"
    );
    assert_eq!(board.append(&messages(&config(), 8..9)).unwrap(), 8..9);
}
