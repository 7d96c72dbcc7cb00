//! The messages of a board for a detector, and their kind of clues.

use crate::commands::board;
use crate::error::{CliError, InputError};
use omr_board::{BoardSource, Boards, SourceError, clue_kind};
use omr_console::{Ui, chain};
use omr_protocol::{ClueKind, ClueParams, Sealing};
use omr_store::{Board, MessageHashes};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A board that is open only while messages are read, so that other processes can post meanwhile.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    dir: PathBuf,
    ui: Ui,
    board_id: [u8; 16],
    /// The number of messages that the board had at first.
    len: u64,
    /// The running hash of the log at that length.
    log_hash: Option<[u8; 32]>,
}

/// An error of reading a board, with its causes: the detector passes on only this text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unreadable(String);

/// Returns the messages that are on the board in folder `dir` now.
///
/// Errors: `Local`.
pub(super) fn source(
    dir: &Path,
    board: &Board,
    params: &Arc<ClueParams>,
    ui: &Ui,
) -> Result<BoardSource<Folder>, InputError> {
    let folder = Folder::new(dir, board, ui)?;
    Ok(BoardSource::new(folder, board, params)?)
}

impl Folder {
    /// Returns the board in folder `dir`, as it is now.
    ///
    /// Errors: `Board`.
    pub(super) fn new(dir: &Path, board: &Board, ui: &Ui) -> Result<Self, InputError> {
        let len = board.len();
        Ok(Self {
            dir: dir.to_owned(),
            ui: ui.clone(),
            board_id: board.config().board_id,
            len,
            log_hash: board.hash_at(len)?,
        })
    }

    /// Opens the board again.
    ///
    /// Errors: `Input`, with those of the board or `OtherBoard`.
    pub(super) fn again(&self) -> Result<Board, CliError> {
        let board = board::open(&self.dir, &self.ui)?;
        let is_same = self.is_same(&board).map_err(CliError::input(&self.dir))?;
        if is_same {
            Ok(board)
        } else {
            Err(CliError::input(&self.dir)(InputError::OtherBoard))
        }
    }

    /// Returns whether a board still begins with the messages that it had at first.
    ///
    /// Errors: `Board`.
    fn is_same(&self, board: &Board) -> Result<bool, InputError> {
        if board.config().board_id != self.board_id || board.len() < self.len {
            return Ok(false);
        }
        // `None` if these messages have expired, or if damage removed the hash.
        let both = self.log_hash.zip(board.hash_at(self.len)?);
        Ok(both.is_none_or(|(first, now)| first == now))
    }
}

impl Boards for Folder {
    type Open = Box<Board>;

    fn open(&self) -> Result<Box<Board>, SourceError> {
        let board = self.again();
        Ok(Box::new(board.map_err(|error| Unreadable(chain(&error)))?))
    }

    /// Keeps hashes in the board, if no other process has it open.
    fn keep(&self, open: Box<Board>, first: u64, hashes: &MessageHashes) {
        drop(open);
        if let Ok(board) = Board::open(&self.dir)
            && self.is_same(&board).is_ok_and(|is_same| is_same)
        {
            let _ = board.keep_hashes(first, hashes);
        }
    }
}

/// Returns the kind of a board's clues.
///
/// Errors: `Local`.
pub(super) fn clues(board: &Board, params: &ClueParams) -> Result<ClueKind, InputError> {
    Ok(clue_kind(params, board.config())?)
}

/// Returns the sealing of a board.
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

    fn make(dir: &Path) -> Board {
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        board::create(dir, set.clue(), Sealing::None, 2, ClueKind::Plain).unwrap()
    }

    /// Posts a message to the board in a folder.
    fn post(dir: &Path, byte: u8) {
        let board = Board::open(dir).unwrap();
        let message = omr_store::Message {
            clue: vec![byte; board.config().clue_bytes as usize],
            payload: vec![byte; 2],
        };
        board.append(&[message]).unwrap();
    }

    /// Returns the result of reading the first message of a board after `change`.
    fn read_after(dir: &Path, change: impl Fn()) -> Result<Vec<u8>, SourceError> {
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        let ui = Ui::new(true, false);
        let opened = board::open(dir, &ui).unwrap();
        let mut source = source(dir, &opened, set.clue(), &ui).unwrap();
        drop(opened);
        change();
        source.payloads(0..1)
    }

    #[test]
    fn another_board_in_its_place_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        drop(make(dir.path()));
        post(dir.path(), 1);
        let other = || {
            std::fs::remove_file(dir.path().join("board.redb")).unwrap();
            drop(make(dir.path()));
            post(dir.path(), 1);
        };
        let error = read_after(dir.path(), other).unwrap_err().to_string();
        assert!(error.contains("another board is in its place"), "{error}");
    }

    #[test]
    fn an_older_copy_in_its_place_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, copy) = (dir.path().join("board.redb"), dir.path().join("copy"));
        drop(make(dir.path()));
        post(dir.path(), 1);
        std::fs::copy(&path, &copy).unwrap();
        post(dir.path(), 2);
        // The board only grew.
        let found = read_after(dir.path(), || post(dir.path(), 3)).unwrap();
        assert_eq!(found, [1, 1]);
        let put_back = |bytes: &[u8]| {
            std::fs::copy(&copy, &path).unwrap();
            bytes.iter().for_each(|byte| post(dir.path(), *byte));
        };
        // The board has the same messages again.
        let found = read_after(dir.path(), || put_back(&[2, 3, 4])).unwrap();
        assert_eq!(found, [1, 1]);
        for others in [&[2][..], &[2, 3, 5], &[2, 3, 5, 6]] {
            put_back(&[2, 3, 4]);
            let error = read_after(dir.path(), || put_back(others)).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("another board is in its place"), "{text}");
        }
    }
}
