//! Expiry: removed messages, remaining messages, and crashes during expiry.

use std::ops::{ControlFlow, Range};

use redb::Database;

use super::{check_content, config, create, message, messages, open};
use crate::error::{Foreign, UsedKey};
use crate::format::{BOARD_FILE, KEYS_STATE, META, State, seal_row};
use crate::tests::disk::Disk;
use crate::{Board, BoardConfig, Clues, StoreError};

fn sound(board: &Board) -> u64 {
    let report = board.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{report:?}");
    report.messages
}

fn expired(board: &Board, range: Range<u64>) -> Range<u64> {
    let mut none = |_, _: &[u8], _: &[u8]| -> ControlFlow<()> { panic!("a message is read") };
    match board.read(range.clone(), &mut none) {
        Err(StoreError::Expired { start, end, first }) => {
            assert_eq!((start, first), (range.start, board.first()));
            start..end
        }
        other => panic!("expected an expired range, found {other:?}"),
    }
}

#[test]
fn the_oldest_messages_go_and_nothing_else_changes() {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    board.append(&messages(&config(), 0..203)).unwrap();
    let before = board.stat().unwrap();
    assert_eq!(before.first, 0);
    drop(board);

    let board = Board::open(dir.path()).unwrap();
    assert_eq!(board.expire(0).unwrap(), 0..0);
    // This message is in the middle of a run.
    assert_eq!(board.expire(174).unwrap(), 0..174);
    assert_eq!(board.expire(174).unwrap(), 174..174);
    assert_eq!(board.expire(3).unwrap(), 174..174);
    assert_eq!((board.first(), board.len()), (174, 203));
    let stat = board.stat().unwrap();
    assert_eq!((stat.first, stat.messages), (174, 203));
    assert_eq!(stat.message_bytes, 29 * 12_600);
    assert!(stat.file_bytes * 2 < before.file_bytes, "{stat:?}");
    drop(board);

    let board = Board::open(dir.path()).unwrap();
    assert_eq!((board.first(), board.len(), sound(&board)), (174, 203, 203));
    check_content(&board, &config()).unwrap();
    assert_eq!(expired(&board, 0..203), 0..174);
    assert_eq!(expired(&board, 173..174), 173..174);
    // The one-time key of a removed message stays used.
    let error = board.append(&[message(&config(), 7)]).unwrap_err();
    assert!(
        matches!(error, StoreError::UsedKey(UsedKey { index: 7, .. })),
        "{error}"
    );
    assert_eq!(
        board.append(&messages(&config(), 203..211)).unwrap(),
        203..211
    );
    check_content(&board, &config()).unwrap();
    assert_eq!(sound(&board), 211);
    assert_eq!(board.expire(210).unwrap(), 174..210);
    sound(&board);
    drop(board);
    let reader = Board::open_read_only(dir.path()).unwrap();
    assert!(matches!(reader.expire(211), Err(StoreError::ReadOnly)));
    check_content(&reader, &config()).unwrap();
}

/// There are more messages than one transaction removes.
#[test]
fn many_messages_expire() {
    let config = BoardConfig {
        clue_bytes: 96,
        payload_bytes: 0,
        ..config()
    };
    let board = create(&Disk::default(), &config).unwrap();
    board.append(&messages(&config, 0..40_000)).unwrap();
    assert_eq!(board.expire(39_990).unwrap(), 0..39_990);
    check_content(&board, &config).unwrap();
    sound(&board);
}

#[test]
fn a_board_may_expire_whole_and_go_on() {
    for clues in [Clues::Plain, Clues::Bound] {
        let config = BoardConfig { clues, ..config() };
        let disk = Disk::default();
        let board = create(&disk, &config).unwrap();
        assert_eq!(board.expire(9).unwrap(), 0..0);
        board.append(&messages(&config, 0..20)).unwrap();
        assert_eq!(board.expire(u64::MAX).unwrap(), 0..20);
        assert_eq!((board.first(), board.len(), sound(&board)), (20, 20, 20));
        board.append(&messages(&config, 20..27)).unwrap();
        drop(board);
        let board = open(&disk).unwrap();
        check_content(&board, &config).unwrap();
        assert_eq!((board.first(), board.len(), sound(&board)), (20, 27, 27));
    }
}

#[test]
fn a_reader_sees_an_error_when_messages_expire_meanwhile() {
    let board = create(&Disk::default(), &config()).unwrap();
    board.append(&messages(&config(), 0..200)).unwrap();
    let mut seen = 0;
    let read = board.read(0..200, &mut |index, clue, _| {
        assert_eq!(clue, message(&config(), index).clue);
        seen = index + 1;
        if index == 3 {
            assert_eq!(board.expire(u64::MAX).unwrap(), 0..200);
        }
        ControlFlow::Continue(())
    });
    match read {
        Err(StoreError::Expired {
            start,
            end: 200,
            first: 200,
        }) => assert_eq!(start, seen),
        other => panic!("{other:?}"),
    }
    assert!(seen > 3);
}

/// Damage prevents no expiry; keys are then taken from the list.
#[test]
fn damaged_messages_expire_too() {
    let disk = Disk::default();
    let board = create(&disk, &config()).unwrap();
    board.append(&messages(&config(), 0..9)).unwrap();
    drop(board);
    let clue = message(&config(), 2).clue;
    let mut bytes = disk.bytes();
    for at in 0..bytes.len() - 64 {
        if bytes[at..at + 64] == clue[..64] {
            bytes[at + 9] ^= 1;
        }
    }
    let board = open(&Disk::from_bytes(bytes)).unwrap();
    check_content(&board, &config()).unwrap_err();
    assert_eq!(board.expire(5).unwrap(), 0..5);
    check_content(&board, &config()).unwrap();
    let error = board.append(&[message(&config(), 2)]).unwrap_err();
    assert!(
        matches!(error, StoreError::UsedKey(UsedKey { index: 2, .. })),
        "{error}"
    );
}

/// A crash happens before or after a transaction; the remaining messages are whole.
#[test]
fn a_crash_at_any_point_loses_nothing_that_stays() {
    let disk = Disk::default();
    let board = create(&disk, &config()).unwrap();
    board.append(&messages(&config(), 0..33)).unwrap();
    drop(board);
    let bytes = disk.bytes();
    let whole = Disk::from_bytes(bytes.clone());
    let board = open(&whole).unwrap();
    assert_eq!(board.expire(21).unwrap(), 0..21);
    drop(board);
    let (mut gone, mut there) = (0, 0);
    for at in 0..whole.operations() {
        for keep in [None, Some(u8::MAX), Some(0x5A)] {
            let disk = Disk::from_bytes(bytes.clone());
            disk.crash_at(at);
            let done = open(&disk).and_then(|board| board.expire(21));
            let survivor = disk.after_crash(&mut || keep);
            let board = open(&survivor).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert!(
                board.first() == 0 && done.is_err() || board.first() == 21,
                "{at}"
            );
            gone += u32::from(board.first() == 21);
            there += u32::from(board.first() == 0);
            check_content(&board, &config()).unwrap();
            board.append(&messages(&config(), 33..40)).unwrap();
            board.expire(21).unwrap();
            assert_eq!((board.first(), board.len(), sound(&board)), (21, 40, 40));
        }
    }
    assert!(gone > 0 && there > 0, "{gone} gone, {there} there");
}

#[test]
fn a_beginning_that_no_board_has_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    board.append(&messages(&config(), 0..33)).unwrap();
    board.expire(20).unwrap();
    drop(board);
    let good = std::fs::read(dir.path().join(BOARD_FILE)).unwrap();
    let state = |first, sealed| State {
        len: 33,
        sealed,
        first,
        ..State::new(&config())
    };
    let seed = crc32c::crc32c(&config().board_id);
    let row = |state: State| KEYS_STATE.map(|key| seal_row(seed, "meta", key, &state.encode()));
    let mut flipped = row(state(20, 20));
    flipped.iter_mut().for_each(|row| row[33] ^= 1);
    for rows in [
        row(state(21, 20)),
        row(state(35, 35)),
        row(state(20, 21)),
        flipped,
    ] {
        std::fs::write(dir.path().join(BOARD_FILE), &good).unwrap();
        let database = Database::open(dir.path().join(BOARD_FILE)).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut meta = transaction.open_table(META).unwrap();
        for (key, row) in KEYS_STATE.into_iter().zip(&rows) {
            meta.insert(key, row.as_slice()).unwrap();
        }
        drop(meta);
        transaction.commit().unwrap();
        drop(database);
        for opened in [Board::open(dir.path()), Board::open_read_only(dir.path())] {
            let error = opened.unwrap_err();
            assert!(
                matches!(
                    error,
                    StoreError::Row { .. }
                        | StoreError::NotABoard {
                            what: Foreign::Server,
                            ..
                        }
                ),
                "{error}"
            );
        }
    }
}
