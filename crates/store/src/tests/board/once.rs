//! One message for each key of a board of bound clues.

use redb::Database;

use super::disk::Disk;
use super::{check_content, config, create, message, messages, open};
use crate::format::{FILE_NAME, KEY_CONFIG, KEY_VERSION, META, ONCE};
use crate::{Board, BoardConfig, BoardError, Clues, Message};

/// Message `index` with the key of message `of`.
fn with_key(index: u64, of: u64) -> Message {
    let mut out = message(&config(), index);
    let at = out.clue.len() - 96..out.clue.len() - 64;
    out.clue[at.clone()].copy_from_slice(&message(&config(), of).clue[at]);
    out
}

#[test]
fn a_used_key_is_refused_with_all_of_its_append() {
    let disk = Disk::default();
    let mut board = create(&disk, &config()).unwrap();
    board.append(messages(&config(), 0..7)).unwrap();
    for (batch, expected) in [
        // Another message under a key of the board.
        (vec![message(&config(), 7), with_key(8, 3)], (1, 3)),
        // The same message again.
        (vec![message(&config(), 6)], (0, 6)),
        // Twice in one append.
        (
            vec![message(&config(), 7), message(&config(), 8), with_key(9, 7)],
            (2, 7),
        ),
    ] {
        let error = board.append(&batch).unwrap_err();
        assert!(
            matches!(error, BoardError::UsedKey { position, index } if (position, index) == expected),
            "{error}"
        );
        assert_eq!(board.len(), 7);
    }
    // A refused append leaves its keys free.
    assert_eq!(board.append(messages(&config(), 7..9)).unwrap(), 7..9);
    drop(board);
    let mut board = open(&disk).unwrap();
    let error = board.append([with_key(9, 8)]).unwrap_err();
    assert!(
        matches!(
            error,
            BoardError::UsedKey {
                position: 0,
                index: 8
            }
        ),
        "{error}"
    );
    check_content(&board, &config()).unwrap();
    assert!(board.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn only_the_key_is_looked_at() {
    let mut board = create(&Disk::default(), &config()).unwrap();
    let first = message(&config(), 0);
    let mut copied = first.clone();
    let at = copied.clue.len() - 96;
    copied.clue[at] ^= 1;
    // Else whoever copies a clue or a payload under a key of her own would keep the first from being posted.
    assert_eq!(board.append([copied, first]).unwrap(), 0..2);
    let plain = BoardConfig {
        clues: Clues::Plain,
        ..config()
    };
    let mut board = create(&Disk::default(), &plain).unwrap();
    assert_eq!(
        board
            .append([message(&plain, 0), message(&plain, 0)])
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
            BoardError::Config {
                least: 96,
                found: 95,
                ..
            }
        ),
        "{error}"
    );
}

/// Changes the file of a board of five messages behind its back.
fn tampered(change: impl FnOnce(&Database)) -> (tempfile::TempDir, Board) {
    let dir = tempfile::tempdir().unwrap();
    let mut board = Board::create(dir.path(), &config()).unwrap();
    board.append(messages(&config(), 0..5)).unwrap();
    drop(board);
    change(&Database::open(dir.path().join(FILE_NAME)).unwrap());
    let board = Board::open(dir.path()).unwrap();
    (dir, board)
}

fn key(index: u64) -> [u8; 32] {
    let clue = message(&config(), index).clue;
    *Clues::Bound.post_key(&clue).unwrap()
}

#[test]
fn a_missing_key_is_found_and_stops_appends() {
    let (_dir, mut board) = tampered(|database| {
        let transaction = database.begin_write().unwrap();
        transaction
            .open_table(ONCE)
            .unwrap()
            .remove(&key(2))
            .unwrap();
        transaction.commit().unwrap();
    });
    let error = board.append([message(&config(), 2)]).unwrap_err();
    let counted = |error: &BoardError| {
        matches!(
            error,
            BoardError::KeyCount {
                expected: 5,
                found: 4
            }
        )
    };
    assert!(counted(&error), "{error}");
    let report = board.verify(&mut |_, _| {}).unwrap();
    assert!(
        matches!(&report.faults[..], [count, BoardError::Key { index: 2, found: None }] if counted(count)),
        "{report:?}"
    );
    assert_eq!(report.bad_messages, 0);
}

#[test]
fn a_key_listed_for_another_message_is_found() {
    let (_dir, board) = tampered(|database| {
        let transaction = database.begin_write().unwrap();
        transaction
            .open_table(ONCE)
            .unwrap()
            .insert(&key(2), 4)
            .unwrap();
        transaction.commit().unwrap();
    });
    let report = board.verify(&mut |_, _| {}).unwrap();
    assert!(
        matches!(
            &report.faults[..],
            [BoardError::Key {
                index: 2,
                found: Some(4)
            }]
        ),
        "{report:?}"
    );
}

#[test]
fn boards_of_version_1_have_plain_clues() {
    let dir = tempfile::tempdir().unwrap();
    let plain = BoardConfig {
        clues: Clues::Plain,
        ..config()
    };
    drop(Board::create(dir.path(), &plain).unwrap());
    let database = Database::open(dir.path().join(FILE_NAME)).unwrap();
    let transaction = database.begin_write().unwrap();
    let mut meta = transaction.open_table(META).unwrap();
    let config = meta.remove(KEY_CONFIG).unwrap().unwrap().value().to_vec();
    // Kind and checksum go, and a checksum comes.
    let mut old = config[..config.len() - 5].to_vec();
    old.extend(crc32c::crc32c(&old).to_le_bytes());
    meta.insert(KEY_CONFIG, &old[..]).unwrap();
    meta.insert(KEY_VERSION, &1u32.to_le_bytes()[..]).unwrap();
    drop(meta);
    transaction.commit().unwrap();
    drop(database);
    let mut board = Board::open(dir.path()).unwrap();
    assert_eq!(board.config(), &plain);
    board
        .append([message(&plain, 0), message(&plain, 0)])
        .unwrap();
    assert!(board.verify(&mut |_, _| {}).unwrap().is_sound());
}
