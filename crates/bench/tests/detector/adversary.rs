//! Payloads and clues chosen by strangers for the most noise, in every slot.

use crate::world::{Board, SLOTS, World, tiny};
use omr_protocol::Clue;

const PERTINENT: [u64; 5] = [0, 7, 1023, 1024, 2047];

#[test]
fn payloads_that_are_all_alike() {
    let world = World::shared();
    let pattern: Vec<u8> = (0..60).map(|i| (i * 37 + 11) as u8).collect();
    for payload in [vec![0xff; 60], vec![0; 60], vec![0x80; 60], pattern] {
        let mut board = Board::new(SLOTS, 60);
        board.payloads.fill(payload);
        world.finds_exactly(board, &PERTINENT);
    }
}

/// Strangers fill their slots with the largest symbols, the recipient's messages are as usual.
#[test]
fn strangers_with_extreme_payloads() {
    let world = World::shared();
    for byte in [0xff, 0] {
        let mut board = Board::new(SLOTS, 60);
        for (index, payload) in board.payloads.iter_mut().enumerate() {
            if !PERTINENT.contains(&(index as u64)) {
                payload.fill(byte);
            }
        }
        world.finds_exactly(board, &PERTINENT);
    }
}

/// Vectors of one value make the encoded diagonals constants, the most concentrated plaintexts.
#[test]
fn constant_clue_vectors() {
    let world = World::shared();
    let p = tiny().p().value() as u32;
    let spec = &tiny().spec().clue;
    for value in [0, 1, 2, p / 2, p / 2 + 1, p - 1] {
        let mut board = Board::new(SLOTS, 10);
        // b at the far side of the window's centre, off it by an odd amount for each value.
        let clue = Clue {
            a: vec![value; spec.n],
            b: vec![p / 2 - 1001, p / 3],
        };
        board.clues.fill(clue.to_bytes(tiny()));
        world.finds_exactly(board, &PERTINENT);
    }
}

#[test]
fn alternating_and_single_clue_vectors() {
    let world = World::shared();
    let p = tiny().p().value() as u32;
    let spec = &tiny().spec().clue;
    let alternating = (0..spec.n)
        .map(|i| if i % 2 == 0 { p / 2 } else { p / 2 + 1 })
        .collect();
    let mut single = vec![0; spec.n];
    single[spec.n - 1] = p / 2;
    for a in [alternating, single] {
        let mut board = Board::new(SLOTS, 10);
        let clue = Clue {
            a,
            b: vec![p / 5, p / 3],
        };
        board.clues.fill(clue.to_bytes(tiny()));
        world.finds_exactly(board, &PERTINENT);
    }
}

/// What the norm filter at posting is for: the zero clue is pertinent to everyone.
#[test]
fn the_zero_clue_reaches_every_recipient() {
    let world = World::shared();
    let spec = &tiny().spec().clue;
    let zero = Clue {
        a: vec![0; spec.n],
        b: vec![0; spec.coordinates],
    };
    assert!(zero.check_norm(tiny()).is_err());
    let mut board = Board::new(40, 6);
    board.post(&world.clue_key, &[3]);
    board.clues[11] = zero.to_bytes(tiny());
    let expected = board.retrieved(&[3, 11]);
    let out = world.digest(&mut board, 0..40, 4, 6).unwrap();
    assert_eq!(world.recipient().decode(&out.digest).unwrap(), expected);
}
