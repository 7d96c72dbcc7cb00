use crate::error::{InputError, chain};
use omr_board::{Board, Snapshot};
use omr_detector::{DetectorError, MessageSource};
use omr_protocol::{ClueKind, ClueParams, Sealing};
use std::ops::{ControlFlow, Range};

/// A board as the detector reads it.
#[derive(Debug)]
pub(super) struct BoardSource {
    snapshot: Snapshot,
    clue_bytes: usize,
    payload_bytes: usize,
}

/// Why a board could not be read, causes included: the detector passes on only this text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unreadable(String);

impl BoardSource {
    /// The messages that are on the board now.
    ///
    /// Errors: `ClueSize`, `Board`.
    pub(super) fn new(board: &Board, params: &ClueParams) -> Result<Self, InputError> {
        let clue_bytes = clues(board, params)?.bytes(params);
        let payload_bytes = board.config().payload_bytes as usize;
        Ok(Self {
            snapshot: board.snapshot()?,
            clue_bytes,
            payload_bytes,
        })
    }

    fn collect(
        &self,
        range: Range<u64>,
        bytes: usize,
        part: impl for<'a> Fn(&'a [u8], &'a [u8]) -> &'a [u8],
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let mut out = Vec::with_capacity((range.end - range.start) as usize * bytes);
        let read = self.snapshot.read(range, &mut |_, clue, payload| {
            out.extend_from_slice(part(clue, payload));
            ControlFlow::Continue(())
        });
        read.map_err(|error| Unreadable(chain(&error)))?;
        Ok(out)
    }
}

impl MessageSource for BoardSource {
    fn clue_bytes(&self) -> usize {
        self.clue_bytes
    }

    fn clues(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        self.collect(range, self.clue_bytes, |clue, _| clue)
    }

    fn payloads(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        self.collect(range, self.payload_bytes, |_, payload| payload)
    }
}

/// Messages of a board in memory, so that the board is free for others.
pub(super) struct Buffered {
    pub(super) range: Range<u64>,
    clue_bytes: usize,
    clues: Vec<u8>,
    payload_bytes: usize,
    payloads: Vec<u8>,
}

impl Buffered {
    /// Reads messages.
    ///
    /// Errors: the board's.
    pub(super) fn read(source: &mut BoardSource, range: Range<u64>) -> Result<Self, DetectorError> {
        Ok(Self {
            clue_bytes: source.clue_bytes,
            clues: source.clues(range.clone()).map_err(DetectorError::Source)?,
            payload_bytes: source.payload_bytes,
            payloads: source
                .payloads(range.clone())
                .map_err(DetectorError::Source)?,
            range,
        })
    }

    fn part(&self, range: Range<u64>, bytes: usize, of: &[u8]) -> Vec<u8> {
        let at = |index: u64| (index - self.range.start) as usize * bytes;
        of[at(range.start)..at(range.end)].to_vec()
    }
}

impl MessageSource for Buffered {
    fn clue_bytes(&self) -> usize {
        self.clue_bytes
    }

    fn clues(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.part(range, self.clue_bytes, &self.clues))
    }

    fn payloads(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.part(range, self.payload_bytes, &self.payloads))
    }
}

/// The kind of a board's clues, which their length tells.
///
/// Errors: `ClueSize`.
pub(super) fn clues(board: &Board, params: &ClueParams) -> Result<ClueKind, InputError> {
    let found = board.config().clue_bytes as usize;
    let mut kinds = ClueKind::ALL.into_iter();
    let kind = kinds.find(|kind| kind.bytes(params) == found);
    kind.ok_or(InputError::ClueSize {
        expected: ClueKind::ALL.map(|kind| kind.bytes(params)),
        found,
    })
}

/// The sealing that a board names.
///
/// Errors: `Sealing`.
pub(super) fn sealing(board: &Board) -> Result<Sealing, InputError> {
    Ok(board.config().sealing.parse()?)
}
