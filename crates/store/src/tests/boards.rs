//! Local boards over a simulated disk and over real files.

mod crash;
mod damage;
mod expire;
mod files;
mod full;
mod model;
mod once;

use std::ops::ControlFlow;

use super::{disk::Disk, message_of as message};
use crate::database::{Access, Guarded, Source, builder, guarded};
use crate::error::Redb;
use crate::tables::initialise;
use crate::{Board, BoardConfig, Message, StoreError};

/// Returns a configuration with messages large enough for several runs of several messages in a small file.
fn config() -> BoardConfig {
    BoardConfig {
        clue_bytes: 12_000,
        payload_bytes: 600,
        ..super::board()
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
        initialise(Guarded::new(database).get()?, config)
    })?;
    open(disk)
}

fn open(disk: &Disk) -> Result<Board, StoreError> {
    Board::open_source(Source::Disk(disk.clone()), Access::ReadWrite)
}

/// Asserts that every readable message of `board` is the one that `message` makes. Returns the first error, or
/// `Stopped` if a message is lost.
fn check_content(board: &Board, config: &BoardConfig) -> Result<(), StoreError> {
    for index in board.first()..board.len() {
        let expected = message(config, index);
        let mut lost = false;
        board.read(index..index + 1, &mut |found, clue, payload| {
            assert_eq!(found, index);
            lost = clue.is_empty();
            let right = clue == expected.clue && payload == expected.payload;
            assert!(lost || right, "wrong data at {index}");
            ControlFlow::Continue(())
        })?;
        if lost {
            return Err(StoreError::Stopped);
        }
    }
    Ok(())
}

#[test]
fn handles_cross_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Board>();
    shared::<StoreError>();
}
