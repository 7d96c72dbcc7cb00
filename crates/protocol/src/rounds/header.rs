//! The header that the files of both rounds share, and their errors.

use crate::clue::ClueKindError;
use crate::frame::FrameError;
use crate::rounds::{RoundsParams, RoundsPlan};
use crate::sealing::SealingError;
use crate::{ClueKind, ParamsError, PlanError, SEED_BYTES, Sealing, hex};
use omr_errors::Mismatch;
use std::ops::Range;

/// A file of one of the two rounds that was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RoundsError {
    /// The header describes a range or payloads that do not exist.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The header names a sealing that does not exist.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// The header names a kind of clues that does not exist.
    #[error(transparent)]
    Clues(#[from] ClueKindError),
    /// The length of the file differs from what its header announces.
    #[error("expected {what} of {} bytes, found {}", .of.expected, .of.found)]
    Length {
        /// The kind of file.
        what: &'static str,
        /// The numbers of bytes.
        of: Mismatch<u64>,
    },
    /// A residue of a query is not below its prime.
    #[error("expected residues of a query below {}, found {}", .0.expected, .0.found)]
    Residue(Mismatch<u64>),
    /// The answer belongs to another query.
    #[error("expected the answer to query {}, found that to {}", hex(&.0.expected), hex(&.0.found))]
    OtherQuery(Mismatch<[u8; 32]>),
    /// The file is about another scan: another board, range, seed or kind of messages.
    #[error("expected a file about {}, found one about {}", .0.expected, .0.found)]
    OtherScan(Mismatch<String>),
    /// The parameter set is unknown or does not serve two rounds.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The frame of the file is wrong.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// The subject of a scan, a query and an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundsHeader {
    /// The name of the detector's key.
    pub key_id: [u8; 16],
    /// The board.
    pub board_id: [u8; 16],
    /// The range of messages.
    pub range: Range<u64>,
    /// The length of payloads in bytes.
    pub payload_bytes: usize,
    /// The sealing of the board's payloads.
    pub sealing: Sealing,
    /// The kind of the board's clues.
    pub clues: ClueKind,
    /// The seed of places in buckets, units of payloads and fingerprints, drawn after the messages were posted.
    pub seed: [u8; SEED_BYTES],
}

/// The length in bytes of a header.
pub(super) const HEADER_BYTES: usize = 16 + 8 + 8 + 4 + 1 + 1 + SEED_BYTES;

impl RoundsHeader {
    /// Returns the plan of the range.
    ///
    /// Errors: those of [`RoundsPlan::new`].
    pub fn plan(&self, params: &RoundsParams) -> Result<RoundsPlan, PlanError> {
        RoundsPlan::new(params, self.range.clone(), self.payload_bytes, self.clues)
    }

    /// Checks that a file is about this header's subject.
    ///
    /// Errors: `OtherScan`.
    pub fn expect(&self, found: &Self) -> Result<(), RoundsError> {
        if self == found {
            return Ok(());
        }
        let subject = |header: &Self| {
            format!(
                "messages {}..{} of board {} with seed {}.. for key {}",
                header.range.start,
                header.range.end,
                hex(&header.board_id),
                hex(&header.seed[..4]),
                hex(&header.key_id)
            )
        };
        let of = Mismatch::new(subject(self), subject(found));
        Err(RoundsError::OtherScan(of))
    }

    /// Returns the bytes of the header, which begin the body of each file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend(self.board_id);
        out.extend(self.range.start.to_le_bytes());
        out.extend(self.range.end.to_le_bytes());
        out.extend((self.payload_bytes as u32).to_le_bytes());
        out.push(self.sealing.tag());
        out.push(self.clues.tag());
        out.extend(self.seed);
        out
    }

    /// Reads a header at the beginning of the body of a file of this kind; returns the rest of the body with it.
    ///
    /// Errors: `Length`; `Sealing`; `Clues`.
    pub(super) fn decode<'b>(
        what: &'static str,
        key_id: [u8; 16],
        body: &'b [u8],
    ) -> Result<(Self, &'b [u8]), RoundsError> {
        let Some((bytes, rest)) = body.split_at_checked(HEADER_BYTES) else {
            let of = Mismatch::new(HEADER_BYTES as u64, body.len() as u64);
            return Err(RoundsError::Length { what, of });
        };
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("in range"));
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("in range"));
        let header = Self {
            key_id,
            board_id: bytes[..16].try_into().expect("in range"),
            range: word(16)..word(24),
            payload_bytes: half(32) as usize,
            sealing: Sealing::try_from(bytes[36])?,
            clues: ClueKind::try_from(bytes[37])?,
            seed: bytes[38..].try_into().expect("in range"),
        };
        Ok((header, rest))
    }
}

/// Checks the length of the rest of a file.
///
/// Errors: `Length`.
pub(super) fn check_rest(what: &'static str, expected: u64, found: u64) -> Result<(), RoundsError> {
    if expected == found {
        return Ok(());
    }
    let header = HEADER_BYTES as u64;
    let of = Mismatch::new(header + expected, header + found);
    Err(RoundsError::Length { what, of })
}
