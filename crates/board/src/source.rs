//! The messages of a board as a source for a detector.

use crate::{LocalError, clue_kind};
use omr_detector::{MessageSource, Messages};
use omr_protocol::clue::{HashesOf, KeptHashes, message_hash};
use omr_protocol::{ClueKind, ClueParams};
use omr_store::{Board, MessageHashes};
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Deref, Range};
use std::sync::Arc;

/// Number of messages that are read ahead if fewer are requested: opening a board takes longer than reading as many.
const AHEAD: u64 = 1024;

/// An error of reading a board.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Access to a board while messages are read: a board that stays open, or one that is opened for each read, so that
/// others can post in between. Messages on a board never change, so messages that were read at different times fit
/// together.
pub trait Boards {
    /// The open board.
    type Open: Deref<Target = Board>;

    /// Opens the board.
    ///
    /// Errors: any reason why it is not the board that it was.
    fn open(&self) -> Result<Self::Open, SourceError>;

    /// Stores hashes for the next digest if the board can be written. This digest does not need it.
    fn keep(&self, open: Self::Open, first: u64, hashes: &MessageHashes);
}

impl Boards for Arc<Board> {
    type Open = Self;

    fn open(&self) -> Result<Self, SourceError> {
        Ok(self.clone())
    }

    fn keep(&self, open: Self, first: u64, hashes: &MessageHashes) {
        let _ = open.keep_hashes(first, hashes);
    }
}

/// A board as a detector's source.
pub struct BoardSource<B> {
    boards: B,
    params: Arc<ClueParams>,
    /// The parameter set and board of stored hashes; `None` for plain clues.
    of: Option<HashesOf>,
    clue_bytes: usize,
    payload_bytes: usize,
    /// Number of messages that were on the board at first.
    len: u64,
    ahead: Option<Messages>,
    /// The lost messages among those that were read.
    lost: BTreeSet<u64>,
}

/// A part of messages.
#[derive(Clone, Copy)]
enum Part {
    Clues,
    Payloads,
}

impl<B: Boards> BoardSource<B> {
    /// Makes a source of the messages that are on the board now.
    ///
    /// Errors: `ClueSize`.
    pub fn new(boards: B, board: &Board, params: &Arc<ClueParams>) -> Result<Self, LocalError> {
        let config = board.config();
        let kind = clue_kind(params, config)?;
        let of = || HashesOf::new(params, &config.board_id);
        Ok(Self {
            boards,
            params: params.clone(),
            of: (kind == ClueKind::Bound).then(of),
            clue_bytes: kind.bytes(params),
            payload_bytes: config.payload_bytes as usize,
            len: board.len(),
            ahead: None,
            lost: BTreeSet::new(),
        })
    }

    /// Returns the messages of a range that are lost by damage, in order, among those that were read so far.
    pub fn lost(&self, range: Range<u64>) -> Vec<u64> {
        self.lost.range(range).copied().collect()
    }

    /// Reads messages into memory. Lost messages are replaced by zeros, which the detector ignores.
    ///
    /// Errors: those of [`Boards::open`], of the board and of the detector.
    pub fn read(&mut self, range: Range<u64>) -> Result<Messages, SourceError> {
        let (mut clues, mut payloads) = (Vec::new(), Vec::new());
        let board = self.boards.open()?;
        let lost = board.read_into(range.clone(), &mut clues, &mut payloads)?;
        self.lost.extend(lost);
        let messages = Messages::new(range.clone(), clues, payloads)?;
        Ok(match self.kept(board, range) {
            Some(hashes) => messages.with_hashes(hashes)?,
            None => messages,
        })
    }

    fn collect(&mut self, range: Range<u64>, part: Part) -> Result<Vec<u8>, SourceError> {
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
        let lost = &mut self.lost;
        let mut keep = |index, clue: &[u8], payload: &[u8]| {
            if clue.is_empty() {
                lost.insert(index);
                // The message is lost. No kind of clue begins with zero, so the detector ignores it.
                out.resize(out.len() + bytes, 0);
            } else {
                out.extend_from_slice(match part {
                    Part::Clues => clue,
                    Part::Payloads => payload,
                });
            }
            ControlFlow::Continue(())
        };
        self.boards.open()?.read(range, &mut keep)?;
        Ok(out)
    }

    /// Returns messages in memory that include those of a range, if the range is short.
    fn ahead(&mut self, range: &Range<u64>) -> Result<Option<&mut Messages>, SourceError> {
        let holds =
            |ahead: &Messages| ahead.range().start <= range.start && range.end <= ahead.range().end;
        if !self.ahead.as_ref().is_some_and(holds) && range.end - range.start < AHEAD {
            let end = range
                .end
                .max(self.len.min(range.start.saturating_add(AHEAD)));
            self.ahead = Some(self.read(range.start..end)?);
        }
        Ok(self.ahead.as_mut().filter(|ahead| holds(ahead)))
    }

    /// Returns the hashes of messages of an open board. Hashes that the board has not stored are computed now and
    /// stored for the next digest. Returns `None` if the board cannot be read; the detector then reads the messages and
    /// reports the error.
    fn kept(&self, board: B::Open, range: Range<u64>) -> Option<KeptHashes> {
        let of = self.of?;
        let params = &self.params;
        let take =
            &mut |clue: &[u8], payload: &[u8]| message_hash(params, &of.board_id, clue, payload);
        let gathered = board.hashes(range, of.tag, take).ok()?;
        if let Some((first, anew)) = gathered.anew() {
            self.boards.keep(board, first, &anew);
        }
        Some(KeptHashes::new(of, gathered.hashes))
    }
}

impl<B: Boards> MessageSource for BoardSource<B> {
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
        let board = self.boards.open()?;
        Ok(self.kept(board, range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::ParamSet;
    use omr_store::{BoardConfig, Clues, Message};
    use std::path::{Path, PathBuf};

    /// A board that is open only while messages are read.
    struct Folder(PathBuf);

    impl Boards for Folder {
        type Open = Box<Board>;

        fn open(&self) -> Result<Box<Board>, SourceError> {
            Ok(Box::new(Board::open_read_only(&self.0)?))
        }

        fn keep(&self, _: Box<Board>, _: u64, _: &MessageHashes) {}
    }

    fn config(set: &ParamSet) -> BoardConfig {
        BoardConfig {
            board_id: [1; 16],
            params_id: set.name().to_owned(),
            sealing: "none".into(),
            clue_bytes: ClueKind::Plain.bytes(set.clue()) as u32,
            payload_bytes: 2,
            clues: Clues::Plain,
        }
    }

    fn post(dir: &Path, clue_bytes: usize, numbers: Range<u8>) {
        let message = |number| Message {
            clue: vec![number; clue_bytes],
            payload: vec![number, number],
        };
        let messages: Vec<_> = numbers.map(message).collect();
        Board::open(dir).unwrap().append(&messages).unwrap();
    }

    /// Somebody posts between two reads; the messages that are read are those that were there at first.
    #[test]
    fn others_post_while_a_board_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        let bytes = ClueKind::Plain.bytes(set.clue());
        drop(Board::create(dir.path(), &config(&set)).unwrap());
        post(dir.path(), bytes, 0..200);
        let boards = Folder(dir.path().to_owned());
        let board = boards.open().unwrap();
        let mut source = BoardSource::new(boards, &board, set.clue()).unwrap();
        drop(board);
        assert_eq!(source.payloads(0..3).unwrap(), [0, 0, 1, 1, 2, 2]);
        post(dir.path(), bytes, 200..210);
        // Reading ahead stops at the messages that were there at first.
        assert_eq!(source.ahead.as_ref().map(Messages::range), Some(0..200));
        assert_eq!(source.payloads(198..200).unwrap(), [198, 198, 199, 199]);
        let clues = source.clues(7..9).unwrap();
        assert_eq!(clues[..], [vec![7; bytes], vec![8; bytes]].concat());
        source.ahead = None;
        for _ in 0..10 {
            post(dir.path(), bytes, 0..200);
        }
        let all = source.clues(0..AHEAD).unwrap();
        assert_eq!(all.len(), AHEAD as usize * bytes);
    }
}
