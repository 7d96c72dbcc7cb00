//! Local boards over a simulated disk and over real files.

mod convert;
mod crash;
mod damage;
mod expire;
mod files;
mod full;
mod model;
mod once;

use std::ops::ControlFlow;

use super::disk::Disk;
use crate::database::{Access, Guarded, Source, builder, guarded};
use crate::error::Redb;
use crate::format::State;
use crate::tables::initialise;
use crate::{Board, BoardConfig, Clues, Message, StoreError};

/// Large enough for several runs of several messages in a small file.
fn config() -> BoardConfig {
    BoardConfig {
        board_id: [0xA5; 16],
        params_id: "toy-v1".into(),
        sealing: "none".into(),
        clue_bytes: 12_000,
        payload_bytes: 600,
        clues: Clues::Bound,
    }
}

/// Message `index` of `config`, different for every index.
fn message(config: &BoardConfig, index: u64) -> Message {
    let bytes = |len: u32, salt: u64| {
        let mut word = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt;
        (0..len)
            .map(|_| {
                word = word.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                (word >> 56) as u8
            })
            .collect()
    };
    Message {
        clue: bytes(config.clue_bytes, 1),
        payload: bytes(config.payload_bytes, 2),
    }
}

fn messages(config: &BoardConfig, range: std::ops::Range<u64>) -> Vec<Message> {
    range.map(|index| message(config, index)).collect()
}

/// Creates a board on `disk`.
fn create(disk: &Disk, config: &BoardConfig) -> Result<Board, StoreError> {
    config.check()?;
    guarded(|| {
        let database = builder().create_with_backend(disk.attach()).map_err(Redb)?;
        initialise(Guarded::new(database).get()?, config, &State::default())
    })?;
    open(disk)
}

fn open(disk: &Disk) -> Result<Board, StoreError> {
    Board::open_source(Source::Disk(disk.clone()), Access::ReadWrite)
}

/// Asserts that every readable message of `board` is what `message` makes; gives the first error.
fn check_content(board: &Board, config: &BoardConfig) -> Result<(), StoreError> {
    for index in board.first()..board.len() {
        let expected = message(config, index);
        board.read(index..index + 1, &mut |found, clue, payload| {
            assert_eq!(found, index);
            assert!(
                clue == expected.clue && payload == expected.payload,
                "wrong data at {index}"
            );
            ControlFlow::Continue(())
        })?;
    }
    Ok(())
}

#[test]
fn handles_cross_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Board>();
    shared::<StoreError>();
}
