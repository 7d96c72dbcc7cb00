//! The messages of a board for a detector, and what kind they are.

use crate::commands::board;
use crate::error::{CliError, InputError};
use omr_console::Ui;
use omr_console::chain;
use omr_detector::{MessageSource, Messages};
use omr_protocol::Mismatch;
use omr_protocol::clue::{HashesOf, KeptHashes, message_hash};
use omr_protocol::{ClueKind, ClueParams, Sealing};
use omr_store::{Board, MessageHashes};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

/// Messages read ahead where fewer are asked for: opening a board takes longer than reading so many.
const AHEAD: u64 = 1024;

/// A board as the detector reads it: open only while messages are read, so that others can post between. What is on a
/// board never changes, so what is read at several times fits together.
#[derive(Debug)]
pub(super) struct BoardSource {
    dir: PathBuf,
    ui: Ui,
    board_id: [u8; 16],
    /// The parameter set, and whose hashes are kept: none of plain clues.
    set: &'static str,
    of: Option<HashesOf>,
    clue_bytes: usize,
    payload_bytes: usize,
    /// The messages that were on the board at first.
    len: u64,
    ahead: Option<Messages>,
}

/// Why a board could not be read, causes included: the detector passes on only this text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unreadable(String);

type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Which part of messages.
#[derive(Clone, Copy)]
enum Part {
    Clues,
    Payloads,
}

impl BoardSource {
    /// The messages that are on the board in folder `dir` now.
    ///
    /// Errors: `ClueSize`.
    pub(super) fn new(
        dir: &Path,
        board: &Board,
        params: &ClueParams,
        ui: &Ui,
    ) -> Result<Self, InputError> {
        let (kind, board_id) = (clues(board, params)?, board.config().board_id);
        Ok(Self {
            dir: dir.to_owned(),
            ui: ui.clone(),
            board_id,
            set: params.name(),
            of: (kind == ClueKind::Bound).then(|| HashesOf::new(params, &board_id)),
            clue_bytes: kind.bytes(params),
            payload_bytes: board.config().payload_bytes as usize,
            len: board.len(),
            ahead: None,
        })
    }

    /// Opens the board again.
    ///
    /// Errors: `Input`: the board's; `OtherBoard`.
    fn open(&self) -> Result<Board, CliError> {
        let board = board::open(&self.dir, &self.ui)?;
        match board.config().board_id == self.board_id && board.len() >= self.len {
            true => Ok(board),
            false => Err(CliError::input(&self.dir)(InputError::OtherBoard)),
        }
    }

    fn collect(&mut self, range: Range<u64>, part: Part) -> Result<Vec<u8>, SourceError> {
        let unreadable = |error: CliError| Unreadable(chain(&error));
        if let Some(ahead) = self.ahead(&range)? {
            return match part {
                Part::Clues => ahead.clues(range),
                Part::Payloads => ahead.payloads(range),
            };
        }
        let bytes = match part {
            Part::Clues => self.clue_bytes,
            Part::Payloads => self.payload_bytes,
        };
        let mut out = Vec::with_capacity((range.end - range.start) as usize * bytes);
        let mut keep = |_, clue: &[u8], payload: &[u8]| {
            out.extend_from_slice(match part {
                Part::Clues => clue,
                Part::Payloads => payload,
            });
            ControlFlow::Continue(())
        };
        let board = self.open().map_err(unreadable)?;
        let read = board.read(range, &mut keep);
        read.map_err(|error| Unreadable(chain(&error)))?;
        Ok(out)
    }

    /// Messages in memory that hold those of a range, if it is short.
    fn ahead(&mut self, range: &Range<u64>) -> Result<Option<&mut Messages>, SourceError> {
        let holds =
            |ahead: &Messages| ahead.range().start <= range.start && range.end <= ahead.range().end;
        if !self.ahead.as_ref().is_some_and(holds) && range.end - range.start < AHEAD {
            let end = range
                .end
                .max(self.len.min(range.start.saturating_add(AHEAD)));
            let read = self.read(range.start..end);
            self.ahead = Some(read.map_err(|error| Unreadable(chain(&error)))?);
        }
        Ok(self.ahead.as_mut().filter(|ahead| holds(ahead)))
    }

    /// Reads messages into memory.
    ///
    /// Errors: `Input`.
    pub(super) fn read(&self, range: Range<u64>) -> Result<Messages, CliError> {
        let (mut clues, mut payloads) = (Vec::new(), Vec::new());
        let board = self.open()?;
        let read = board.read_into(range.clone(), &mut clues, &mut payloads);
        let read = read.map_err(InputError::from);
        read.map_err(CliError::input(&self.dir))?;
        let messages = Messages::new(range.clone(), clues, payloads)?;
        Ok(match self.kept(board, range) {
            Some(hashes) => messages.with_hashes(hashes)?,
            None => messages,
        })
    }

    /// The hashes of messages of an open board: those that it keeps, and the others taken now and kept for the next
    /// digest. None where it cannot be read: the detector then reads the messages, and finds what is wrong.
    fn kept(&self, board: Board, range: Range<u64>) -> Option<KeptHashes> {
        let of = self.of?;
        let kept = board.kept_hashes(range.clone(), of.tag).ok()?;
        if let Some(hashes) = kept.into_iter().collect() {
            return Some(KeptHashes::new(of, hashes));
        }
        let params = ClueParams::named(self.set).ok()?;
        let take =
            &mut |clue: &[u8], payload: &[u8]| message_hash(&params, &of.board_id, clue, payload);
        let gathered = board.hashes(range, of.tag, take).ok()?;
        drop(board);
        if let Some((first, anew)) = gathered.anew() {
            self.keep(first, &anew);
        }
        Some(KeptHashes::new(of, gathered.hashes))
    }

    /// Keeps hashes where the board can be written and nobody else has it open. The digest does not need it.
    fn keep(&self, first: u64, hashes: &MessageHashes) {
        if let Ok(board) = Board::open(&self.dir)
            && board.config().board_id == self.board_id
        {
            let _ = board.keep_hashes(first, hashes);
        }
    }
}

impl MessageSource for BoardSource {
    fn clue_bytes(&self) -> usize {
        self.clue_bytes
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.collect(range, Part::Clues)
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.collect(range, Part::Payloads)
    }

    fn hashes(&mut self, range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        if self.of.is_none() {
            return Ok(None);
        }
        if let Some(ahead) = self.ahead(&range)? {
            return ahead.hashes(range);
        }
        let board = self.open();
        let board = board.map_err(|error| Unreadable(chain(&error)))?;
        Ok(self.kept(board, range))
    }
}

/// The kind of a board's clues, which their length tells.
///
/// Errors: `ClueSize`.
pub(super) fn clues(board: &Board, params: &ClueParams) -> Result<ClueKind, InputError> {
    let found = board.config().clue_bytes as usize;
    let mut kinds = ClueKind::ALL.into_iter();
    let kind = kinds.find(|kind| kind.bytes(params) == found);
    kind.ok_or(InputError::ClueSize(Mismatch::new(
        ClueKind::ALL.map(|kind| kind.bytes(params)),
        found,
    )))
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
    use omr_protocol::ParamSet;
    use omr_store::{BoardConfig, Clues, Message};

    fn message(number: u8, clue_bytes: usize) -> Message {
        Message {
            clue: vec![number; clue_bytes],
            payload: vec![number, number],
        }
    }

    /// Between two reads somebody posts; what is read then is what was there at first.
    #[test]
    fn others_post_while_a_board_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let set = ParamSet::named("insecure-tiny-v2").unwrap();
        let clue_bytes = ClueKind::Plain.bytes(set.clue());
        let config = BoardConfig {
            board_id: [1; 16],
            params_id: set.name().to_owned(),
            sealing: "none".into(),
            clue_bytes: clue_bytes as u32,
            payload_bytes: 2,
            clues: Clues::Plain,
        };
        let post = |numbers: Range<u8>| {
            let board = Board::open(dir.path()).unwrap();
            let messages: Vec<_> = numbers.map(|n| message(n, clue_bytes)).collect();
            board.append(&messages).unwrap();
        };
        drop(Board::create(dir.path(), &config).unwrap());
        post(0..200);
        let ui = Ui::new(true, false);
        let board = board::open(dir.path(), &ui).unwrap();
        let source = BoardSource::new(dir.path(), &board, set.clue(), &ui);
        let mut source = source.unwrap();
        drop(board);
        assert_eq!(source.payloads(0..3).unwrap(), [0, 0, 1, 1, 2, 2]);
        post(200..210);
        // Ahead of what was asked for only what was there.
        assert_eq!(source.ahead.as_ref().map(Messages::range), Some(0..200));
        assert_eq!(source.payloads(198..200).unwrap(), [198, 198, 199, 199]);
        let clues = source.clues(7..9).unwrap();
        assert_eq!(
            clues[..],
            [vec![7; clue_bytes], vec![8; clue_bytes]].concat()
        );
        source.ahead = None;
        for _ in 0..10 {
            post(0..200);
        }
        let all = source.clues(0..AHEAD).unwrap();
        assert_eq!(all.len(), AHEAD as usize * clue_bytes);
        std::fs::remove_file(dir.path().join("board.redb")).unwrap();
        let other = BoardConfig {
            board_id: [2; 16],
            ..config
        };
        drop(Board::create(dir.path(), &other).unwrap());
        source.ahead = None;
        let error = source.payloads(0..3).unwrap_err().to_string();
        assert!(error.contains("another board is in its place"), "{error}");
    }
}
