//! Boards in real files: what is in the folder, who holds it.

use std::fs;
use std::ops::ControlFlow;

use redb::{Database, ReadableTable};

use super::{check_content, config, message, messages};
use crate::error::{ConfigField, Foreign, Holder};
use crate::format::{FILE_NAME, KEY_VERSION, MESSAGES, META};
use crate::{Board, BoardConfig, BoardError, Structure};

#[test]
fn round_trip_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("new/board");
    let mut board = Board::create(&folder, &config()).unwrap();
    assert!(board.is_empty());
    assert_eq!(board.append(messages(&config(), 0..30)).unwrap(), 0..30);
    assert_eq!(
        board
            .append(messages(&config(), 30..33).as_slice())
            .unwrap(),
        30..33
    );
    assert_eq!(board.append([message(&config(), 33)]).unwrap(), 33..34);
    assert_eq!(board.append([] as [crate::Message; 0]).unwrap(), 34..34);
    drop(board);
    let names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, [FILE_NAME]);
    let board = Board::open(&folder).unwrap();
    assert_eq!(board.config(), &config());
    check_content(&board, &config()).unwrap();
    let stat = board.stat().unwrap();
    assert_eq!((stat.messages, stat.message_bytes), (34, 34 * 12_600));
    // The file is sparse: longer than what it takes.
    let file_bytes = fs::metadata(folder.join(FILE_NAME)).unwrap().len();
    assert!(
        (stat.message_bytes..=file_bytes).contains(&stat.bytes_on_disk),
        "{stat:?}"
    );
    let mut last = (0, 0);
    let report = board
        .verify(&mut |done, total| last = (done, total))
        .unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.messages, last), (34, (34, 34)));
}

#[test]
fn a_second_board_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Board::create(dir.path(), &config()).unwrap());
    let other = BoardConfig {
        board_id: [1; 16],
        ..config()
    };
    let error = Board::create(dir.path(), &other).unwrap_err();
    assert!(matches!(error, BoardError::Exists { .. }), "{error}");
    assert_eq!(Board::open(dir.path()).unwrap().config(), &config());
}

#[test]
fn configurations_out_of_range_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let bad = [
        (
            BoardConfig {
                params_id: "x".repeat(65),
                ..config()
            },
            ConfigField::ParamsId,
            65,
        ),
        (
            BoardConfig {
                sealing: "x".repeat(33),
                ..config()
            },
            ConfigField::Sealing,
            33,
        ),
        (
            BoardConfig {
                clue_bytes: 0,
                ..config()
            },
            ConfigField::ClueBytes,
            0,
        ),
        (
            BoardConfig {
                payload_bytes: 1 << 27,
                ..config()
            },
            ConfigField::PayloadBytes,
            1 << 27,
        ),
    ];
    for (config, expected, value) in bad {
        let error = Board::create(dir.path(), &config).unwrap_err();
        assert!(
            matches!(error, BoardError::Config { field, found, .. }
                if field == expected && found == value),
            "{error}"
        );
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    let open =
        || [Board::open(dir.path()), Board::open_read_only(dir.path())].map(Result::unwrap_err);
    for error in open() {
        assert!(matches!(error, BoardError::Missing { .. }), "{error}");
    }
    let foreign = |expected: Foreign| {
        for error in open() {
            assert!(
                matches!(error, BoardError::NotABoard { what, .. } if what == expected),
                "{error}"
            );
        }
    };
    fs::write(&path, b"").unwrap();
    foreign(Foreign::Empty);
    fs::write(&path, "Dear diary, today I kept no log. ".repeat(400)).unwrap();
    foreign(Foreign::NotRedb);
    fs::remove_file(&path).unwrap();
    drop(Database::create(&path).unwrap());
    foreign(Foreign::OtherDatabase);
}

#[test]
fn another_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Board::create(dir.path(), &config()).unwrap());
    edit(dir.path(), |transaction| {
        let mut meta = transaction.open_table(META).unwrap();
        meta.insert(KEY_VERSION, 4u32.to_le_bytes().as_slice())
            .unwrap();
    });
    let error = Board::open(dir.path()).unwrap_err();
    assert!(matches!(
        error,
        BoardError::Version {
            expected: 3,
            found: 4
        }
    ));
    assert_eq!(
        error.to_string(),
        "board format version: expected 3, found 4"
    );
}

fn edit(dir: &std::path::Path, change: impl FnOnce(&redb::WriteTransaction)) {
    let database = Database::open(dir.join(FILE_NAME)).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
}

#[test]
fn verify_lists_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let mut board = Board::create(dir.path(), &config()).unwrap();
    let chunk = board.stat().unwrap().chunk_messages;
    assert_eq!(chunk, 5);
    board.append(messages(&config(), 0..33)).unwrap();
    drop(board);
    edit(dir.path(), |transaction| {
        let mut table = transaction.open_table(MESSAGES).unwrap();
        let mut bytes = table.get(1).unwrap().unwrap().value().to_vec();
        bytes[12_604 * 2 + 17] ^= 4;
        table.insert(1, bytes.as_slice()).unwrap();
        // Right bytes in the wrong place.
        let bytes = table.get(2).unwrap().unwrap().value().to_vec();
        table.insert(3, bytes.as_slice()).unwrap();
        table.insert(4, &bytes[1..]).unwrap();
        table.remove(5).unwrap();
    });
    let board = Board::open(dir.path()).unwrap();
    let report = board.verify(&mut |_, _| {}).unwrap();
    assert!(!report.is_sound());
    assert!(matches!(report.structure, Structure::Sound));
    assert_eq!(report.bad_messages, 1 + 5 + 5 + 5);
    assert_eq!(report.faults.len(), 1 + 1 + 5 + 1 + 1);
    assert!(matches!(
        report.faults[0],
        BoardError::ChunkCount {
            expected: 7,
            found: 6
        }
    ));
    assert!(matches!(
        report.faults[1],
        BoardError::Corrupt { index: 7, .. }
    ));
    let error = board.read(0..33, &mut |index, _, _| {
        assert!(index < 7);
        ControlFlow::Continue(())
    });
    assert!(matches!(error, Err(BoardError::Corrupt { index: 7, .. })));
    let (mut clues, mut payloads) = (vec![1], vec![1]);
    let error = board
        .read_into(27..29, &mut clues, &mut payloads)
        .unwrap_err();
    assert!(
        matches!(&error, BoardError::Chunk { messages, found: None, .. } if *messages == (25..30)),
        "{error}"
    );
    assert!(clues.is_empty() && payloads.is_empty());
    let error = board
        .read_into(20..21, &mut clues, &mut payloads)
        .unwrap_err();
    assert!(
        matches!(
            error,
            BoardError::Chunk {
                found: Some(63_019),
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn verify_never_writes() {
    let dir = tempfile::tempdir().unwrap();
    let mut board = Board::create(dir.path(), &config()).unwrap();
    board.append(messages(&config(), 0..9)).unwrap();
    drop(board);
    let path = dir.path().join(FILE_NAME);
    let bytes = fs::read(&path).unwrap();
    let board = Board::open_read_only(dir.path()).unwrap();
    assert!(board.verify(&mut |_, _| {}).unwrap().is_sound());
    assert!(
        fs::read(&path).unwrap() == bytes,
        "verification wrote to the file"
    );
}

#[test]
fn handles_exclude_one_another_by_role() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Board::create(dir.path(), &config()).unwrap();
    writer.append(messages(&config(), 0..3)).unwrap();
    for error in [Board::open(dir.path()), Board::open_read_only(dir.path())] {
        let error = error.unwrap_err();
        assert!(
            matches!(
                error,
                BoardError::Locked {
                    holder: Holder::Writer,
                    ..
                }
            ),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains("held by a writer: close the writer"),
            "{error}"
        );
    }
    // The refused handles took no lock away.
    writer.append(messages(&config(), 3..4)).unwrap();
    drop(writer);
    let mut reader = Board::open_read_only(dir.path()).unwrap();
    let second = Board::open_read_only(dir.path()).unwrap();
    check_content(&reader, &config()).unwrap();
    check_content(&second, &config()).unwrap();
    let error = Board::open(dir.path()).unwrap_err();
    assert!(
        matches!(
            error,
            BoardError::Locked {
                holder: Holder::Readers,
                ..
            }
        ),
        "{error}"
    );
    assert!(matches!(
        reader.append(messages(&config(), 4..5)),
        Err(BoardError::ReadOnly)
    ));
    drop((reader, second));
    assert_eq!(Board::open(dir.path()).unwrap().len(), 4);
}

#[test]
fn a_crashed_board_is_recovered_by_a_writer_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut board = Board::create(dir.path(), &config()).unwrap();
    board.append(messages(&config(), 0..6)).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    fs::copy(dir.path().join(FILE_NAME), crashed.path().join(FILE_NAME)).unwrap();
    let error = Board::open_read_only(crashed.path()).unwrap_err();
    assert!(matches!(error, BoardError::NeedsRecovery { .. }), "{error}");
    let recovered = Board::open(crashed.path()).unwrap();
    assert_eq!(recovered.len(), 6);
    check_content(&recovered, &config()).unwrap();
    drop(recovered);
    check_content(&Board::open_read_only(crashed.path()).unwrap(), &config()).unwrap();
}

#[test]
fn a_snapshot_stays_while_the_board_grows() {
    let dir = tempfile::tempdir().unwrap();
    let mut board = Board::create(dir.path(), &config()).unwrap();
    board.append(messages(&config(), 0..3)).unwrap();
    let snapshot = board.snapshot().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for start in 3..20 {
                board.append(messages(&config(), start..start + 1)).unwrap();
            }
        });
        for _ in 0..50 {
            let (mut clues, mut payloads) = (Vec::new(), Vec::new());
            snapshot.read_into(0..3, &mut clues, &mut payloads).unwrap();
            assert_eq!(clues[24_000..], message(&config(), 2).clue);
        }
    });
    let error = snapshot
        .read(0..4, &mut |_, _, _| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(matches!(
        error,
        BoardError::OutOfRange {
            expected: 3,
            found: 4
        }
    ));
    assert_eq!(board.len(), 20);
}

#[test]
fn ranges_are_checked_and_reading_can_stop() {
    let dir = tempfile::tempdir().unwrap();
    let mut board = Board::create(dir.path(), &config()).unwrap();
    board.append(messages(&config(), 0..12)).unwrap();
    let mut none = |_: u64, _: &[u8], _: &[u8]| -> ControlFlow<()> { panic!("called") };
    let error = board.read(4..4, &mut none).unwrap_err();
    assert!(matches!(error, BoardError::EmptyRange { start: 4, end: 4 }));
    let error = board.read(5..u64::MAX, &mut none).unwrap_err();
    assert!(matches!(
        error,
        BoardError::OutOfRange {
            expected: 12,
            found: u64::MAX
        }
    ));
    let mut seen = Vec::new();
    let mut until_seven = |index, _: &[u8], _: &[u8]| {
        seen.push(index);
        if index == 7 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    board.read(3..12, &mut until_seven).unwrap();
    assert_eq!(seen, [3, 4, 5, 6, 7]);
}
