//! Boards in real files: the files in the folder, and locks.

use std::fs;
use std::ops::ControlFlow;

use redb::{Database, ReadableTable};

use super::{check_content, config, message, messages};
use crate::error::{ConfigField, Foreign, Holder};
use crate::format::{BOARD_FILE, KEYS_VERSION, META, TAIL, index_key};
use crate::{Board, BoardConfig, META_FILE, Store, StoreConfig, StoreError, Structure};

#[test]
fn round_trip_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("new/board");
    let board = Board::create(&folder, &config()).unwrap();
    assert!(board.is_empty());
    assert_eq!(board.append(&messages(&config(), 0..30)).unwrap(), 0..30);
    assert_eq!(board.append(&messages(&config(), 30..33)).unwrap(), 30..33);
    assert_eq!(board.append(&[message(&config(), 33)]).unwrap(), 33..34);
    assert_eq!(board.append(&[]).unwrap(), 34..34);
    drop(board);
    let names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, [BOARD_FILE]);
    let board = Board::open(&folder).unwrap();
    assert_eq!(board.config(), &config());
    check_content(&board, &config()).unwrap();
    let stat = board.stat().unwrap();
    assert_eq!((stat.messages, stat.message_bytes), (34, 34 * 12_600));
    // The file has holes: it is longer than the space that it occupies.
    let file_bytes = fs::metadata(folder.join(BOARD_FILE)).unwrap().len();
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
    assert!(matches!(error, StoreError::Exists(_)), "{error}");
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
            matches!(error, StoreError::Config { field, found, .. }
                if field == expected && found == value),
            "{error}"
        );
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(BOARD_FILE);
    let open =
        || [Board::open(dir.path()), Board::open_read_only(dir.path())].map(Result::unwrap_err);
    for error in open() {
        assert!(matches!(error, StoreError::Missing(_)), "{error}");
    }
    let foreign = |expected: Foreign| {
        for error in open() {
            assert!(
                matches!(error, StoreError::NotABoard { what, .. } if what == expected),
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

/// The messages are in segments in other files, which a local board would not find.
#[test]
fn the_file_of_a_server_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (server, store) = crate::tests::sealed(&dir);
    drop(store);
    let board = dir.path().join("board");
    fs::create_dir(&board).unwrap();
    fs::copy(server.dir.join(META_FILE), board.join(BOARD_FILE)).unwrap();
    for opened in [Board::open(&board), Board::open_read_only(&board)] {
        let error = opened.unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::NotABoard {
                    what: Foreign::Server,
                    ..
                }
            ),
            "{error}"
        );
    }
    // A store refuses the file of a local board as well.
    let local = dir.path().join("local");
    drop(Board::create(&local, &config()).unwrap());
    let error = Store::open(&StoreConfig::new(&local)).unwrap_err();
    assert!(matches!(error, StoreError::Missing(_)), "{error}");
}

#[test]
fn another_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Board::create(dir.path(), &config()).unwrap());
    edit(dir.path(), |transaction| {
        let mut meta = transaction.open_table(META).unwrap();
        for key in KEYS_VERSION {
            meta.insert(key, 5u32.to_le_bytes().as_slice()).unwrap();
        }
    });
    for opened in [Board::open(dir.path()), Board::open_read_only(dir.path())] {
        let error = opened.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the board: an earlier development version of omr made it, or a later release: found format version 5, this \
             one reads 1; make it new with this version"
        );
    }
}

fn edit(dir: &std::path::Path, change: impl FnOnce(&redb::WriteTransaction)) {
    let database = Database::open(dir.join(BOARD_FILE)).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
}

#[test]
fn verify_lists_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    for range in [0..9, 9..10, 10..22, 22..33] {
        board.append(&messages(&config(), range)).unwrap();
    }
    drop(board);
    let key = |first: u64| index_key(first);
    edit(dir.path(), |transaction| {
        let mut tail = transaction.open_table(TAIL).unwrap();
        let run = |first: u64| {
            tail.get(key(first).as_slice())
                .unwrap()
                .unwrap()
                .value()
                .to_vec()
        };
        let mut flipped = run(0);
        flipped[12_604 * 7 + 17] ^= 4;
        let last = run(22);
        tail.insert(key(0).as_slice(), flipped.as_slice()).unwrap();
        tail.remove(key(9).as_slice()).unwrap();
        // The right bytes are in the wrong place, one record short.
        tail.insert(key(10).as_slice(), last.as_slice()).unwrap();
        tail.insert(key(22).as_slice(), &last[..last.len() - 1])
            .unwrap();
    });
    let board = Board::open(dir.path()).unwrap();
    let report = board.verify(&mut |_, _| {}).unwrap();
    assert!(!report.is_sound());
    assert!(matches!(report.structure, Some(Structure::Sound)));
    // Bytes in the wrong place belong to no message, and a record that is cut is lost.
    let lost: Vec<u64> = [7].into_iter().chain(9..22).chain([32]).collect();
    assert_eq!(report.bad_messages, lost.len() as u64);
    let places = |fault: &StoreError| match fault {
        StoreError::Damaged { first, end, .. } => *first..*end,
        other => panic!("{other}"),
    };
    let places: Vec<_> = report.faults.iter().map(places).collect();
    assert_eq!(places, [7..8, 9..22, 32..33]);
    let mut found = Vec::new();
    let read = board.read(0..33, &mut |index, clue, _| {
        if clue.is_empty() {
            found.push(index);
        } else {
            assert!(clue == messages(&config(), index..index + 1)[0].clue);
        }
        ControlFlow::Continue(())
    });
    read.unwrap();
    assert_eq!(found, lost);
}

#[test]
fn verify_never_writes() {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    board.append(&messages(&config(), 0..9)).unwrap();
    drop(board);
    let path = dir.path().join(BOARD_FILE);
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
    let writer = Board::create(dir.path(), &config()).unwrap();
    writer.append(&messages(&config(), 0..3)).unwrap();
    for error in [Board::open(dir.path()), Board::open_read_only(dir.path())] {
        let error = error.unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::Locked {
                    holder: Holder::Writer,
                    ..
                }
            ),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains("held by another process or handle, which writes: close that one first"),
            "{error}"
        );
    }
    // The refused handles released no lock.
    writer.append(&messages(&config(), 3..4)).unwrap();
    drop(writer);
    let reader = Board::open_read_only(dir.path()).unwrap();
    let second = Board::open_read_only(dir.path()).unwrap();
    check_content(&reader, &config()).unwrap();
    check_content(&second, &config()).unwrap();
    let error = Board::open(dir.path()).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Locked {
                holder: Holder::Readers,
                ..
            }
        ),
        "{error}"
    );
    assert!(matches!(
        reader.append(&messages(&config(), 4..5)),
        Err(StoreError::ReadOnly)
    ));
    drop((reader, second));
    assert_eq!(Board::open(dir.path()).unwrap().len(), 4);
}

#[test]
fn a_crashed_board_is_recovered_by_a_writer_only() {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    board.append(&messages(&config(), 0..6)).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    fs::copy(dir.path().join(BOARD_FILE), crashed.path().join(BOARD_FILE)).unwrap();
    let error = Board::open_read_only(crashed.path()).unwrap_err();
    assert!(matches!(error, StoreError::NeedsRecovery(_)), "{error}");
    let recovered = Board::open(crashed.path()).unwrap();
    assert_eq!(recovered.len(), 6);
    check_content(&recovered, &config()).unwrap();
    drop(recovered);
    check_content(&Board::open_read_only(crashed.path()).unwrap(), &config()).unwrap();
}

#[test]
fn a_board_is_read_while_it_grows() {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    board.append(&messages(&config(), 0..3)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for start in 3..20 {
                board
                    .append(&messages(&config(), start..start + 1))
                    .unwrap();
            }
        });
        for _ in 0..50 {
            let (mut clues, mut payloads) = (Vec::new(), Vec::new());
            board.read_into(0..3, &mut clues, &mut payloads).unwrap();
            assert_eq!(clues[24_000..], message(&config(), 2).clue);
        }
    });
    assert_eq!(board.len(), 20);
    check_content(&board, &config()).unwrap();
}

/// Several threads write through one handle, one at a time.
#[test]
fn appends_of_several_threads_follow_one_another() {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    let append = |thread: u64| {
        let own = (0..5).map(|i| {
            let message = message(&config(), 1000 * thread + i);
            let range = board.append(std::slice::from_ref(&message)).unwrap();
            (range, message)
        });
        own.collect::<Vec<_>>()
    };
    let appended: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..4)
            .map(|thread| scope.spawn(move || append(thread)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(board.len(), 15);
    for (range, message) in appended {
        let same = &mut |_, clue: &[u8], _: &[u8]| {
            assert_eq!(clue, message.clue);
            ControlFlow::Continue(())
        };
        board.read(range, same).unwrap();
    }
}

#[test]
fn ranges_are_checked_and_reading_can_stop() {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::create(dir.path(), &config()).unwrap();
    board.append(&messages(&config(), 0..12)).unwrap();
    let mut none = |_: u64, _: &[u8], _: &[u8]| -> ControlFlow<()> { panic!("called") };
    board.read(4..4, &mut none).unwrap();
    #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
    for range in [5..u64::MAX, 7..6, 13..13] {
        let error = board.read(range.clone(), &mut none).unwrap_err();
        assert!(
            matches!(error, StoreError::OutOfRange { start, end, expected: 12 } if (start, end) == (range.start, range.end)),
            "{error}"
        );
    }
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
