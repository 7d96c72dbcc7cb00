//! Expiry: what is gone, what stays, and crashes on the way.

use std::ops::{ControlFlow, Range};

use redb::Database;

use super::disk::Disk;
use super::{check_content, config, create, message, messages, open};
use crate::format::{FILE_NAME, KEY_FIRST, KEY_VERSION, META};
use crate::{Board, BoardConfig, BoardError, Clues};

fn sound(board: &Board) -> u64 {
    let report = board.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{report:?}");
    report.messages
}

fn expired(board: &Board, range: Range<u64>) -> Range<u64> {
    let mut none = |_, _: &[u8], _: &[u8]| -> ControlFlow<()> { panic!("a message is read") };
    match board.read(range.clone(), &mut none) {
        Err(BoardError::Expired { start, end, first }) => {
            assert_eq!((start, first), (range.start, board.first()));
            start..end
        }
        other => panic!("expected an expired range, found {other:?}"),
    }
}

/// The version in the file.
fn version(dir: &std::path::Path) -> u32 {
    use redb::ReadableDatabase;
    let database = Database::open(dir.join(FILE_NAME)).unwrap();
    let meta = database.begin_read().unwrap().open_table(META).unwrap();
    let found = meta.get(KEY_VERSION).unwrap().unwrap();
    u32::from_le_bytes(found.value().try_into().unwrap())
}

#[test]
fn the_oldest_chunks_go_and_nothing_else_changes() {
    let dir = tempfile::tempdir().unwrap();
    let mut board = Board::create(dir.path(), &config()).unwrap();
    board.append(messages(&config(), 0..203)).unwrap();
    let before = board.stat().unwrap();
    assert_eq!((before.chunk_messages, before.first), (5, 0));
    drop(board);
    assert_eq!(version(dir.path()), 2);

    let mut board = Board::open(dir.path()).unwrap();
    assert_eq!(board.expire(4).unwrap(), 0..0);
    assert_eq!(board.expire(174).unwrap(), 0..170);
    assert_eq!(board.expire(174).unwrap(), 170..170);
    assert_eq!(board.expire(3).unwrap(), 170..170);
    assert_eq!((board.first(), board.len()), (170, 203));
    let stat = board.stat().unwrap();
    assert_eq!((stat.first, stat.messages), (170, 203));
    assert_eq!(stat.message_bytes, 33 * 12_600);
    assert!(stat.file_bytes * 2 < before.file_bytes, "{stat:?}");
    drop(board);
    assert_eq!(version(dir.path()), 3);

    let mut board = Board::open(dir.path()).unwrap();
    assert_eq!((board.first(), board.len(), sound(&board)), (170, 203, 33));
    check_content(&board, &config()).unwrap();
    assert_eq!(expired(&board, 0..203), 0..170);
    assert_eq!(expired(&board, 169..170), 169..170);
    // A one-time key of a message that is gone was used all the same.
    let error = board.append([message(&config(), 7)]).unwrap_err();
    assert!(
        matches!(error, BoardError::UsedKey { index: 7, .. }),
        "{error}"
    );
    assert_eq!(
        board.append(messages(&config(), 203..211)).unwrap(),
        203..211
    );
    check_content(&board, &config()).unwrap();
    assert_eq!(sound(&board), 41);
    // Of the last chunk, which is not full, nothing goes.
    assert_eq!(board.expire(u64::MAX).unwrap(), 170..210);
    assert_eq!(sound(&board), 1);
    drop(board);
    let mut reader = Board::open_read_only(dir.path()).unwrap();
    assert!(matches!(reader.expire(211), Err(BoardError::ReadOnly)));
    check_content(&reader, &config()).unwrap();
}

#[test]
fn a_board_may_expire_whole_and_go_on() {
    for clues in [Clues::Plain, Clues::Bound] {
        let config = BoardConfig { clues, ..config() };
        let disk = Disk::default();
        let mut board = create(&disk, &config).unwrap();
        assert_eq!(board.expire(9).unwrap(), 0..0);
        board.append(messages(&config, 0..20)).unwrap();
        assert_eq!(board.expire(u64::MAX).unwrap(), 0..20);
        assert_eq!((board.first(), board.len(), sound(&board)), (20, 20, 0));
        board.append(messages(&config, 20..27)).unwrap();
        drop(board);
        let board = open(&disk).unwrap();
        check_content(&board, &config).unwrap();
        assert_eq!((board.first(), board.len(), sound(&board)), (20, 27, 7));
    }
}

#[test]
fn a_reader_keeps_what_it_sees() {
    let disk = Disk::default();
    let mut board = create(&disk, &config()).unwrap();
    board.append(messages(&config(), 0..30)).unwrap();
    let earlier = board.snapshot().unwrap();
    board.expire(30).unwrap();
    let mut seen = 0;
    let mut count = |index, clue: &[u8], _: &[u8]| {
        assert_eq!(clue, message(&config(), index).clue);
        seen += 1;
        ControlFlow::Continue(())
    };
    earlier.read(0..30, &mut count).unwrap();
    assert_eq!(seen, 30);
    assert_eq!(expired(&board, 0..30), 0..30);
}

/// Before, or after; what stays is whole.
#[test]
fn a_crash_at_any_point_loses_nothing_that_stays() {
    let disk = Disk::default();
    let mut board = create(&disk, &config()).unwrap();
    board.append(messages(&config(), 0..33)).unwrap();
    drop(board);
    let bytes = disk.bytes();
    let whole = Disk::from_bytes(bytes.clone());
    let mut board = open(&whole).unwrap();
    assert_eq!(board.expire(21).unwrap(), 0..20);
    drop(board);
    let (mut gone, mut there) = (0, 0);
    for at in 0..whole.operations() {
        for keep in [None, Some(u8::MAX), Some(0x5A)] {
            let disk = Disk::from_bytes(bytes.clone());
            disk.crash_at(at);
            let done = open(&disk).and_then(|mut board| board.expire(21));
            let survivor = disk.after_crash(&mut || keep);
            let mut board = open(&survivor).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert!(
                board.first() == 0 && done.is_err() || board.first() == 20,
                "{at}"
            );
            gone += u32::from(board.first() == 20);
            there += u32::from(board.first() == 0);
            check_content(&board, &config()).unwrap();
            board.append(messages(&config(), 33..40)).unwrap();
            board.expire(21).unwrap();
            assert_eq!((board.first(), board.len(), sound(&board)), (20, 40, 20));
        }
    }
    assert!(gone > 0 && there > 0, "{gone} gone, {there} there");
}

#[test]
fn a_beginning_that_no_board_has_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut board = Board::create(dir.path(), &config()).unwrap();
    board.append(messages(&config(), 0..33)).unwrap();
    board.expire(20).unwrap();
    drop(board);
    let good = std::fs::read(dir.path().join(FILE_NAME)).unwrap();
    let layout = crate::format::Layout::choose(&config());
    let mut flipped = layout.encode_first(20);
    flipped[0] ^= 1;
    for first in [layout.encode_first(21), layout.encode_first(35), flipped] {
        std::fs::write(dir.path().join(FILE_NAME), &good).unwrap();
        let database = Database::open(dir.path().join(FILE_NAME)).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut meta = transaction.open_table(META).unwrap();
        meta.insert(KEY_FIRST, first.as_slice()).unwrap();
        drop(meta);
        transaction.commit().unwrap();
        drop(database);
        let error = Board::open(dir.path()).unwrap_err();
        assert!(
            matches!(error, BoardError::Meta { key: KEY_FIRST, .. }),
            "{error}"
        );
    }
}
