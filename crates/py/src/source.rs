//! A board as a detector reads it.

use omr_detector::MessageSource;
use omr_protocol::clue::{HashesOf, KeptHashes, message_hash};
use omr_protocol::{ClueKind, ParamSet};
use omr_store::Board;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// An open board.
pub(crate) struct BoardSource {
    pub(crate) board: Arc<Board>,
    pub(crate) set: Arc<ParamSet>,
    pub(crate) kind: ClueKind,
}

type SourceError = Box<dyn std::error::Error + Send + Sync>;

impl BoardSource {
    fn read(
        &self,
        range: Range<u64>,
        mut part: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), SourceError> {
        let mut visit = |_, clue: &[u8], payload: &[u8]| {
            part(clue, payload);
            ControlFlow::Continue(())
        };
        Ok(self.board.read(range, &mut visit)?)
    }
}

impl MessageSource for BoardSource {
    fn clue_bytes(&self) -> usize {
        self.board.config().clue_bytes as usize
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        let mut out = Vec::new();
        self.read(range, |clue, _| out.extend_from_slice(clue))?;
        Ok(out)
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        let mut out = Vec::new();
        self.read(range, |_, payload| out.extend_from_slice(payload))?;
        Ok(out)
    }

    /// Those that the board keeps, and the others taken now; kept for the next digest where the board is open for
    /// writing.
    fn hashes(&mut self, range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        if self.kind == ClueKind::Plain {
            return Ok(None);
        }
        let (board, params) = (&self.board, self.set.clue());
        let of = HashesOf::new(params, &board.config().board_id);
        let take =
            &mut |clue: &[u8], payload: &[u8]| message_hash(params, &of.board_id, clue, payload);
        let gathered = board.hashes(range, of.tag, take)?;
        if let Some((first, anew)) = gathered.anew() {
            // The digest does not need it.
            let _ = board.keep_hashes(first, &anew);
        }
        Ok(Some(KeptHashes::new(of, gathered.hashes)))
    }
}
