//! Flipped bits and cut files: the result is an error or correct data, never wrong data or a panic.

use super::{check_content, config, create, message, messages, open};
use crate::format::BOARD_FILE;
use crate::tests::disk::Disk;
use crate::{Board, StoreError, Structure};
use std::ops::ControlFlow;

const LEN: u64 = 23;

/// Returns the bytes of a closed board of 23 messages, appended in parts; with `crashed`, of a board that was not
/// closed.
fn image(crashed: bool) -> Vec<u8> {
    let disk = Disk::default();
    let board = create(&disk, &config()).unwrap();
    for range in [0..9, 9..10, 10..22, 22..LEN] {
        board.append(&messages(&config(), range)).unwrap();
    }
    let live = disk.bytes();
    drop(board);
    if crashed { live } else { disk.bytes() }
}

/// Opens and reads `bytes`. Returns whether all messages were there. Panics on wrong data.
fn survives(bytes: Vec<u8>) -> bool {
    let Ok(board) = open(&Disk::from_bytes(bytes)) else {
        return false;
    };
    let read = check_content(&board, &config());
    // An older root gives a shorter board, whose appends are a prefix.
    read.is_ok() && board.len() == LEN
}

/// Flips each of the given bits alone. Returns those that hide messages without an error.
fn flip(bytes: &[u8], bits: impl Iterator<Item = usize>) -> Vec<usize> {
    let hides = |&bit: &usize| {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(board) = open(&Disk::from_bytes(flipped)) else {
            return false;
        };
        check_content(&board, &config()).is_ok() && board.len() != LEN
    };
    bits.filter(hides).collect()
}

fn spread(bytes: usize, count: usize, seed: u64) -> impl Iterator<Item = usize> {
    let mut word = seed;
    (0..count).map(move |_| {
        word = word
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        (word >> 20) as usize % (bytes * 8)
    })
}

#[test]
fn flips_in_the_header() {
    let bytes = image(false);
    assert!(survives(bytes.clone()));
    assert_eq!(flip(&bytes, 0..512 * 8), [0; 0]);
}

#[test]
fn flips_anywhere() {
    let bytes = image(false);
    assert_eq!(flip(&bytes, spread(bytes.len(), 4000, 1)), [0; 0]);
}

/// Bit 0 of byte 9 names the root. In a file that a crash left, this flip looks like a crash just before the last
/// commit. It can therefore hide the last append, and no reader can distinguish the two.
#[test]
fn flips_after_a_crash() {
    let bytes = image(true);
    assert!(survives(bytes.clone()));
    assert!(flip(&bytes, 0..512 * 8).iter().all(|bit| *bit == 9 * 8));
    assert_eq!(flip(&bytes, spread(bytes.len(), 2000, 2)), [0; 0]);
}

#[test]
fn cuts_are_errors() {
    let bytes = image(false);
    let cuts = (0..600)
        .chain((0..bytes.len()).step_by(4096 * 3))
        .chain([bytes.len() - 1]);
    for len in cuts {
        // The simulated disk makes a new database of an empty file; real files do not.
        let cut = open(&Disk::from_bytes(bytes[..len].to_vec()));
        assert!(cut.is_err(), "{len} bytes");
    }
    let dir = tempfile::tempdir().unwrap();
    for len in [1, 8, 9, 100, 4096, bytes.len() / 2, bytes.len() - 4096] {
        std::fs::write(dir.path().join(BOARD_FILE), &bytes[..len]).unwrap();
        for board in [Board::open(dir.path()), Board::open_read_only(dir.path())] {
            assert!(board.is_err(), "{len} bytes");
        }
    }
}

#[test]
fn a_flip_in_a_message_is_found_by_reading_and_by_verification() {
    let mut bytes = image(false);
    let clue = message(&config(), 6).clue;
    // Freed pages may contain older copies.
    let places: Vec<_> = (0..bytes.len() - 64)
        .filter(|&at| bytes[at..at + 64] == clue[..64])
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at + 33] ^= 0x10;
    }
    let board = open(&Disk::from_bytes(bytes)).unwrap();
    let (mut lost, mut clues, mut payloads) = (Vec::new(), Vec::new(), Vec::new());
    board
        .read(0..LEN, &mut |index, clue, payload| {
            let expected = message(&config(), index);
            if clue.is_empty() {
                lost.push(index)
            } else {
                assert!(clue == expected.clue && payload == expected.payload)
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(lost, [6]);
    let bulk = board.read_into(5..8, &mut clues, &mut payloads);
    assert_eq!(bulk.unwrap(), [6]);
    let clue_bytes = config().clue_bytes as usize;
    assert!(clues.len() == 3 * clue_bytes && clues[..clue_bytes] == message(&config(), 5).clue);
    assert!(
        clues[clue_bytes..2 * clue_bytes]
            .iter()
            .all(|byte| *byte == 0)
    );
    assert!(clues[2 * clue_bytes..] == message(&config(), 7).clue);
    let report = board.verify(&mut |_, _| {}).unwrap();
    assert_eq!(report.bad_messages, 1);
    assert!(matches!(
        report.faults[..],
        [StoreError::Damaged {
            first: 6,
            end: 7,
            ..
        }]
    ));
    assert!(
        !matches!(report.structure, Some(Structure::Sound)),
        "{:?}",
        report.structure
    );
    assert_eq!(board.len(), LEN);
}
