//! Fuzz target: a board's file, damaged or made by a stranger.

use crate::Target;
use crate::input::{ANY, CUT, choose, damaged};
use omr_store::{BOARD_FILE, Board, BoardConfig, Clues, Message, MessageHashes};
use std::cell::RefCell;
use std::fs;
use std::ops::ControlFlow;
use std::sync::LazyLock;
use tempfile::TempDir;

/// The fuzz target. The database's own panics become errors.
pub const TARGET: Target = Target::new("boards", run, seeds).catching();

/// The tag of the parameters whose hashes the board stores.
const TAG: [u8; 4] = *b"toy1";

thread_local! {
    static FOLDER: RefCell<TempDir> = RefCell::new(tempfile::tempdir().expect("a folder"));
}

pub(crate) fn config() -> BoardConfig {
    BoardConfig {
        board_id: [7; 16],
        params_id: "toy".into(),
        sealing: "none".into(),
        clue_bytes: 100,
        payload_bytes: 20,
        clues: Clues::Bound,
    }
}

pub(crate) fn message(i: u8) -> Message {
    Message {
        clue: (0..100).map(|at| at ^ i).collect(),
        payload: vec![i; 20],
    }
}

static RIGHT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let board = Board::create(folder.path(), &config()).expect("a board");
    for range in [0..9, 9..23] {
        let messages: Vec<_> = range.map(message).collect();
        let hashes = MessageHashes::new(TAG, vec![[3; 32]; messages.len()]);
        board.append_hashed(&messages, &hashes).expect("appended");
    }
    drop(board);
    fs::read(folder.path().join(BOARD_FILE)).expect("read")
});

fn run(choice: usize, rest: &[u8]) {
    let file = damaged(&RIGHT, choice, rest);
    FOLDER.with_borrow(|folder| {
        fs::write(folder.path().join(BOARD_FILE), &file).expect("a file to write to");
        if let Ok(board) = Board::open_read_only(folder.path()) {
            look(&board);
        }
        // The board is not opened for writing: redb then relies on the file's list of free pages, and with a wrong
        // list it panics during an unwinding, which cannot be caught.
    });
}

fn look(board: &Board) {
    let mut seen = 0;
    let read = board.read(0..board.len(), &mut |index, _, _| {
        assert_eq!(index, seen);
        seen += 1;
        ControlFlow::Continue(())
    });
    assert!(read.is_err() || seen == board.len());
    let end = board.len().min(board.first().saturating_add(100));
    let _ = board.kept_hashes(board.first()..end, TAG);
    let _ = board.stat();
    let _ = board.verify(&mut |_, _| {});
}

fn seeds() -> Vec<Vec<u8>> {
    vec![
        choose(0, &[]),
        choose(0, &[9, 0, 0, 1]),
        choose(0, &[0, 32, 0, 255, 0, 64, 0, 1]),
        choose(CUT + 9, &[]),
        choose(ANY, &RIGHT[..320]),
    ]
}
