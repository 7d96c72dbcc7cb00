//! Boards of format 1 to 3: refused without harm, and converted.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use redb::{Database, TableDefinition};

use super::{check_content, config, message, messages};
use crate::error::UsedKey;
use crate::format::Layout;
use crate::{BOARD_FILE, Board, BoardConfig, Clues, EARLIER_FILE, StoreError};

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("omr.meta");
const MESSAGES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("omr.messages");
const ONCE: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("omr.once");
/// Messages of a chunk.
const CHUNK: u64 = 5;

fn crc(parts: &[&[u8]]) -> [u8; 4] {
    crc32c::crc32c(&parts.concat()).to_le_bytes()
}

/// The row of a number, with its checksum.
fn number(config: &BoardConfig, key: &str, number: u64) -> Vec<u8> {
    let number = number.to_le_bytes();
    let crc = crc(&[&config.board_id, key.as_bytes(), &number]);
    [&number[..], &crc].concat()
}

/// The row of the configuration.
fn config_row(config: &BoardConfig, version: u32) -> Vec<u8> {
    let mut out = config.board_id.to_vec();
    for field in [config.clue_bytes, config.payload_bytes, CHUNK as u32] {
        out.extend(field.to_le_bytes());
    }
    for text in [&config.params_id, &config.sealing] {
        out.push(text.len() as u8);
        out.extend(text.bytes());
    }
    if version > 1 {
        out.push(config.clues.tag());
    }
    let crc = crc(&[&out]);
    [out, crc.to_vec()].concat()
}

/// Writes a board of an earlier version into `dir`, as builds of that time did.
fn earlier(dir: &Path, config: &BoardConfig, version: u32, there: Range<u64>) {
    let database = Database::create(dir.join(BOARD_FILE)).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut meta = transaction.open_table(META).unwrap();
        let mut put = |key: &str, value: &[u8]| drop(meta.insert(key, value).unwrap());
        put("version", &version.to_le_bytes());
        put("config", &config_row(config, version));
        put("state", &number(config, "state", there.end));
        if version == 3 {
            put("first", &number(config, "first", there.start));
        }
        let layout = Layout::new(config);
        let mut table = transaction.open_table(MESSAGES).unwrap();
        for chunk in there.start / CHUNK..there.end.div_ceil(CHUNK) {
            let mut records = Vec::new();
            for index in chunk * CHUNK..there.end.min((chunk + 1) * CHUNK) {
                let message = message(config, index);
                layout.push_record(index, &message.clue, &message.payload, &mut records);
            }
            table.insert(chunk, records.as_slice()).unwrap();
        }
        if config.clues == Clues::Bound {
            let mut once = transaction.open_table(ONCE).unwrap();
            for index in 0..there.end {
                let clue = message(config, index).clue;
                once.insert(Clues::Bound.post_key(&clue).unwrap(), index)
                    .unwrap();
            }
        }
    }
    transaction.commit().unwrap();
}

fn plain() -> BoardConfig {
    BoardConfig {
        clues: Clues::Plain,
        ..config()
    }
}

fn names(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().file_name().into())
        .collect();
    names.sort();
    names
}

#[test]
fn every_earlier_version_becomes_this_one() {
    for (version, config, there) in [
        (1, plain(), 0..33),
        (2, plain(), 0..0),
        (2, config(), 0..33),
        (3, config(), 20..33),
        (3, plain(), 30..30),
    ] {
        let dir = tempfile::tempdir().unwrap();
        earlier(dir.path(), &config, version, there.clone());
        // Neither opened nor written over.
        for opened in [Board::open(dir.path()), Board::open_read_only(dir.path())] {
            let error = opened.unwrap_err();
            assert!(matches!(error, StoreError::EarlierBoard(_)), "{error}");
            assert!(error.to_string().contains("`omr board convert`"), "{error}");
        }
        let error = Board::create(dir.path(), &config).unwrap_err();
        assert!(matches!(error, StoreError::Exists(_)), "{error}");

        let board = Board::convert(dir.path()).unwrap();
        assert_eq!((board.first(), board.len()), (there.start, there.end));
        assert_eq!(board.config(), &config);
        check_content(&board, &config).unwrap();
        assert!(board.verify(&mut |_, _| {}).unwrap().is_sound());
        if config.clues == Clues::Bound {
            for used in [0, there.end - 1] {
                let error = board.append(&[message(&config, used)]).unwrap_err();
                assert!(
                    matches!(error, StoreError::UsedKey(UsedKey { index, .. }) if index == used),
                    "{error}"
                );
            }
        }
        let more = there.end..there.end + 3;
        assert_eq!(
            board.append(&messages(&config, more.clone())).unwrap(),
            more
        );
        drop(board);
        check_content(&Board::open_read_only(dir.path()).unwrap(), &config).unwrap();
        assert_eq!(
            names(dir.path()),
            [EARLIER_FILE, BOARD_FILE].map(PathBuf::from)
        );
        let kept = tempfile::tempdir().unwrap();
        fs::copy(dir.path().join(EARLIER_FILE), kept.path().join(BOARD_FILE)).unwrap();
        assert_eq!(Board::convert(kept.path()).unwrap().len(), there.end);
        // Once is enough.
        let error = Board::convert(dir.path()).unwrap_err();
        assert!(matches!(error, StoreError::Exists(_)), "{error}");
    }
}

#[test]
fn more_messages_than_one_transaction_has() {
    let config = BoardConfig {
        clue_bytes: 100,
        payload_bytes: 4,
        ..config()
    };
    let dir = tempfile::tempdir().unwrap();
    earlier(dir.path(), &config, 2, 0..9001);
    let board = Board::convert(dir.path()).unwrap();
    check_content(&board, &config).unwrap();
    assert!(board.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn what_is_damaged_stays_as_it_is() {
    let changes: [&dyn Fn(&redb::WriteTransaction); 5] = [
        &|transaction| drop(transaction.open_table(MESSAGES).unwrap().remove(3).unwrap()),
        &|transaction| {
            let mut table = transaction.open_table(MESSAGES).unwrap();
            table.insert(2, [7u8; 5 * 12_604].as_slice()).unwrap();
        },
        &|transaction| {
            let clue = message(&config(), 8).clue;
            let key = *Clues::Bound.post_key(&clue).unwrap();
            drop(transaction.open_table(ONCE).unwrap().remove(&key).unwrap());
        },
        &|transaction| {
            let mut meta = transaction.open_table(META).unwrap();
            let state = number(&plain(), "start", 33);
            meta.insert("state", state.as_slice()).unwrap();
        },
        &|transaction| {
            let mut meta = transaction.open_table(META).unwrap();
            meta.insert("version", [4u8, 0, 0, 0].as_slice()).unwrap();
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        earlier(dir.path(), &config(), 2, 0..33);
        let database = Database::open(dir.path().join(BOARD_FILE)).unwrap();
        let transaction = database.begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
        drop(database);
        let error = Board::convert(dir.path()).unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::Damaged { .. }
                    | StoreError::Row { .. }
                    | StoreError::KeyCount(_)
                    | StoreError::Version { found: 4, .. }
            ),
            "{number}: {error}"
        );
        assert_eq!(names(dir.path()), [PathBuf::from(BOARD_FILE)], "{number}");
        let error = Board::open(dir.path()).unwrap_err();
        assert!(matches!(error, StoreError::EarlierBoard(_)), "{error}");
    }
}

#[test]
fn a_conversion_that_broke_off_is_finished() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    earlier(dir.path(), &config(), 2, 0..33);
    // While the new file is written.
    fs::write(path("board-converted.redb"), b"the beginning of").unwrap();
    drop(Board::convert(dir.path()).unwrap());
    // After the first of two renamings.
    fs::rename(path(BOARD_FILE), path("board-converted.redb")).unwrap();
    let error = Board::open(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::Missing(_)), "{error}");
    let board = Board::convert(dir.path()).unwrap();
    check_content(&board, &config()).unwrap();
    assert_eq!(board.len(), 33);
}

#[test]
fn only_an_earlier_board_is_converted() {
    let dir = tempfile::tempdir().unwrap();
    let convert = || Board::convert(dir.path()).unwrap_err();
    assert!(matches!(convert(), StoreError::Missing(_)));
    drop(Database::create(dir.path().join(BOARD_FILE)).unwrap());
    assert!(matches!(convert(), StoreError::NotABoard { .. }));
    fs::remove_file(dir.path().join(BOARD_FILE)).unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    assert!(matches!(convert(), StoreError::Locked { .. }));
    drop(board);
    assert!(matches!(convert(), StoreError::Exists(_)));
    assert_eq!(names(dir.path()), [PathBuf::from(BOARD_FILE)]);
}
