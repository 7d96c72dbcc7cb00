//! The header that scans and queries share, and the errors of both rounds' files.

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
    /// The header has another number of seeds than its range has pages.
    #[error("expected a seed for each of {} pages, found {} seeds", .0.expected, .0.found)]
    Seeds(Mismatch<usize>),
    /// The answer belongs to another query.
    #[error("expected the answer to query {}, found that to {}", hex(&.0.expected), hex(&.0.found))]
    OtherQuery(Mismatch<[u8; 32]>),
    /// The file is about another scan: another board, range, kind of messages, or other seeds.
    #[error("expected a file about {}, found one about {}", .0.expected, .0.found)]
    OtherScan(Mismatch<String>),
    /// The parameter set is unknown or does not serve two rounds.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The frame of the file is wrong.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

impl RoundsError {
    /// Returns the error of a file with another length, in bytes.
    pub(super) fn length(what: &'static str, expected: u64, found: usize) -> Self {
        let of = Mismatch::new(expected, found as u64);
        Self::Length { what, of }
    }
}

/// The subject of a scan and of queries.
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
    /// For each page that the range touches, in order, the seed of places in buckets, of units of payloads and of
    /// fingerprints. It was drawn after the page's messages were posted.
    pub seeds: Vec<[u8; SEED_BYTES]>,
}

/// The length in bytes of a header without its seeds.
const FIXED_BYTES: usize = 16 + 8 + 8 + 4 + 1 + 1;

/// The beginning of a file, read.
pub(super) struct Opened<'b> {
    pub(super) header: RoundsHeader,
    pub(super) plan: RoundsPlan,
    /// The body behind the header.
    pub(super) rest: &'b [u8],
}

impl RoundsHeader {
    /// Returns the plan of the range.
    ///
    /// Errors: `Plan`; `Seeds`.
    pub fn plan(&self, params: &RoundsParams) -> Result<RoundsPlan, RoundsError> {
        let plan = RoundsPlan::new(params, self.range.clone(), self.payload_bytes, self.clues)?;
        if plan.rows() != self.seeds.len() {
            let of = Mismatch::new(plan.rows(), self.seeds.len());
            return Err(RoundsError::Seeds(of));
        }
        Ok(plan)
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
                "messages {}..{} of board {} with seeds {} for key {}",
                header.range.start,
                header.range.end,
                hex(&header.board_id),
                hex(&header.seeds_hash()[..4]),
                hex(&header.key_id)
            )
        };
        let of = Mismatch::new(subject(self), subject(found));
        Err(RoundsError::OtherScan(of))
    }

    /// Returns a hash of all seeds, which stands for them in messages.
    fn seeds_hash(&self) -> [u8; 32] {
        *blake3::hash(self.seeds.as_flattened()).as_bytes()
    }

    /// Returns the bytes of the header, which begin the body of each file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED_BYTES + SEED_BYTES * self.seeds.len());
        out.extend(self.board_id);
        out.extend(self.range.start.to_le_bytes());
        out.extend(self.range.end.to_le_bytes());
        out.extend((self.payload_bytes as u32).to_le_bytes());
        out.push(self.sealing.tag());
        out.push(self.clues.tag());
        out.extend(self.seeds.as_flattened());
        out
    }

    /// Reads a header at the beginning of the body of a file of this kind.
    ///
    /// Errors: `Length`; `Sealing`; `Clues`; `Plan`.
    pub(super) fn decode<'b>(
        what: &'static str,
        params: &RoundsParams,
        key_id: [u8; 16],
        body: &'b [u8],
    ) -> Result<Opened<'b>, RoundsError> {
        let too_short = |bytes: u64| RoundsError::length(what, bytes, body.len());
        let (bytes, behind) = body
            .split_at_checked(FIXED_BYTES)
            .ok_or_else(|| too_short(FIXED_BYTES as u64))?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("in range"));
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("in range"));
        let mut header = Self {
            key_id,
            board_id: bytes[..16].try_into().expect("in range"),
            range: word(16)..word(24),
            payload_bytes: half(32) as usize,
            sealing: Sealing::try_from(bytes[36])?,
            clues: ClueKind::try_from(bytes[37])?,
            seeds: Vec::new(),
        };
        let (range, payload_bytes) = (header.range.clone(), header.payload_bytes);
        // The number of seeds follows from the range, whose length is checked here.
        let plan = RoundsPlan::new(params, range, payload_bytes, header.clues)?;
        let (seeds, rest) = behind
            .split_at_checked(SEED_BYTES * plan.rows())
            .ok_or_else(|| too_short(header_bytes(&plan)))?;
        header.seeds = seeds.as_chunks().0.to_vec();
        Ok(Opened { header, plan, rest })
    }
}

/// Returns the length in bytes of the header of a plan.
pub(super) fn header_bytes(plan: &RoundsPlan) -> u64 {
    (FIXED_BYTES + SEED_BYTES * plan.rows()) as u64
}

impl Opened<'_> {
    /// Checks the length of the rest of a file.
    ///
    /// Errors: `Length`.
    pub(super) fn check_rest(&self, what: &'static str, expected: u64) -> Result<(), RoundsError> {
        if expected == self.rest.len() as u64 {
            return Ok(());
        }
        let header = header_bytes(&self.plan);
        let found = header as usize + self.rest.len();
        Err(RoundsError::length(what, header + expected, found))
    }
}
