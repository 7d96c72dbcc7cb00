//! The messages of a board for a detector, and what kind they are.

use crate::commands::board;
use crate::error::{CliError, InputError};
use omr_console::Ui;
use omr_console::chain;
use omr_local::{BoardSource, Boards, SourceError, kind_of_bytes};
use omr_protocol::{ClueKind, ClueParams, Sealing};
use omr_store::{Board, MessageHashes};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A board that is open only while messages are read, so that others can post between.
#[derive(Debug)]
pub(super) struct Folder {
    dir: PathBuf,
    ui: Ui,
    board_id: [u8; 16],
    /// The messages that were on the board at first.
    len: u64,
}

/// Why a board could not be read, causes included: the detector passes on only this text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unreadable(String);

/// The messages that are on the board in folder `dir` now.
///
/// Errors: `Local`.
pub(super) fn source(
    dir: &Path,
    board: &Board,
    params: &Arc<ClueParams>,
    ui: &Ui,
) -> Result<BoardSource<Folder>, InputError> {
    let folder = Folder {
        dir: dir.to_owned(),
        ui: ui.clone(),
        board_id: board.config().board_id,
        len: board.len(),
    };
    Ok(BoardSource::new(folder, board, params)?)
}

impl Folder {
    /// Opens the board again.
    ///
    /// Errors: `Input`: the board's; `OtherBoard`.
    fn again(&self) -> Result<Board, CliError> {
        let board = board::open(&self.dir, &self.ui)?;
        match board.config().board_id == self.board_id && board.len() >= self.len {
            true => Ok(board),
            false => Err(CliError::input(&self.dir)(InputError::OtherBoard)),
        }
    }
}

impl Boards for Folder {
    type Open = Box<Board>;

    fn open(&self) -> Result<Box<Board>, SourceError> {
        let board = self.again();
        Ok(Box::new(board.map_err(|error| Unreadable(chain(&error)))?))
    }

    /// Where nobody else has the board open.
    fn keep(&self, open: Box<Board>, first: u64, hashes: &MessageHashes) {
        drop(open);
        if let Ok(board) = Board::open(&self.dir)
            && board.config().board_id == self.board_id
        {
            let _ = board.keep_hashes(first, hashes);
        }
    }
}

/// The kind of a board's clues, which their length tells.
///
/// Errors: `Local`.
pub(super) fn clues(board: &Board, params: &ClueParams) -> Result<ClueKind, InputError> {
    Ok(kind_of_bytes(params, board.config().clue_bytes as usize)?)
}

/// The sealing that a board names.
///
/// Errors: `Sealing`.
pub(super) fn sealing(board: &Board) -> Result<Sealing, InputError> {
    Ok(board.config().sealing.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_detector::MessageSource;
    use omr_protocol::ParamSet;

    #[test]
    fn another_board_in_its_place_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let set = ParamSet::named("insecure-tiny-v2").unwrap();
        let make =
            || board::create(dir.path(), set.clue(), Sealing::None, 2, ClueKind::Plain).unwrap();
        drop(make());
        let ui = Ui::new(true, false);
        let opened = board::open(dir.path(), &ui).unwrap();
        let mut source = source(dir.path(), &opened, set.clue(), &ui).unwrap();
        drop(opened);
        std::fs::remove_file(dir.path().join("board.redb")).unwrap();
        drop(make());
        let error = source.payloads(0..3).unwrap_err().to_string();
        assert!(error.contains("another board is in its place"), "{error}");
    }
}
