//! Clues and payloads of consecutive messages, as both rounds read them.

use crate::bound_to::check_kind;
use crate::error::check_len;
use crate::source::kept_hashes;
use crate::{BoundTo, DetectorError, MessageSource};
use omr_protocol::clue::{ClueParser, Hashed, HashesOf, OFFSET_LEN};
use omr_protocol::rounds::RoundsParams;
use omr_protocol::{ClueKind, SEED_BYTES};
use std::ops::Range;

/// The board that messages are read from, and the properties that all of them have.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) params: &'a RoundsParams,
    pub(super) board_id: &'a [u8; 16],
    pub(super) clues: ClueKind,
    pub(super) payload_bytes: usize,
    pub(super) seed: &'a [u8; SEED_BYTES],
}

/// The bytes of consecutive messages.
pub(super) struct Read {
    pub(super) clues: Vec<u8>,
    pub(super) clue_bytes: usize,
    /// Payloads, if they were needed.
    pub(super) payloads: Vec<u8>,
    /// The stored hashes of bound clues.
    hashes: Option<Vec<[u8; 32]>>,
}

/// A clue's part beside its residues a and b.
#[derive(Clone, Copy, Default)]
pub(super) struct Tail {
    /// The rows `h` of a bound clue.
    pub(super) rows: [[u32; OFFSET_LEN]; 2],
    /// The fingerprint of a bound clue.
    pub(super) fingerprint: u32,
}

impl Read {
    /// Reads clues, and payloads if they are wanted or if there are no stored hashes of bound clues.
    ///
    /// Errors: those of the source; `SourceLength`; `ClueKind`.
    pub(super) fn new(
        of: Of<'_>,
        source: &mut dyn MessageSource,
        range: Range<u64>,
        with_payloads: bool,
    ) -> Result<Self, DetectorError> {
        let clue_bytes = source.clue_bytes().max(1);
        check_kind(&of.params.clue, of.clues, clue_bytes)?;
        let messages = (range.end - range.start) as usize;
        let clues = source.clues(range.clone()).map_err(DetectorError::Source)?;
        check_len("clues", clue_bytes * messages, clues.len())?;
        let hashes = match of.clues {
            ClueKind::Plain => None,
            ClueKind::Bound => {
                let hashes_of = HashesOf::new(&of.params.clue, of.board_id);
                kept_hashes(source, hashes_of, range.clone())?
            }
        };
        let needs_payloads = with_payloads || (of.clues == ClueKind::Bound && hashes.is_none());
        let mut payloads = Vec::new();
        if needs_payloads {
            payloads = source.payloads(range).map_err(DetectorError::Source)?;
            check_len("payloads", of.payload_bytes * messages, payloads.len())?;
        }
        Ok(Self {
            clues,
            clue_bytes,
            payloads,
            hashes,
        })
    }

    /// Returns the number of messages.
    pub(super) fn messages(&self) -> usize {
        self.clues.len() / self.clue_bytes
    }

    /// Returns a reader of the clues' residues.
    pub(super) fn parser<'p>(of: Of<'p>) -> ClueParser<'p> {
        match of.clues {
            ClueKind::Plain => ClueParser::new(&of.params.clue),
            ClueKind::Bound => ClueParser::bound(&of.params.clue),
        }
    }

    /// Returns what bound clues are read with; `None` for plain ones.
    ///
    /// Errors: `SourceLength`.
    pub(super) fn bound_to<'r>(&'r self, of: Of<'r>) -> Result<Option<BoundTo<'r>>, DetectorError> {
        if of.clues == ClueKind::Plain {
            return Ok(None);
        }
        if let Some(hashes) = &self.hashes {
            return Ok(Some(BoundTo::kept(of.board_id, of.seed, hashes)));
        }
        let (messages, bytes) = (self.messages(), Some(of.payload_bytes));
        let bound = BoundTo::new(of.board_id, of.seed, &self.payloads, messages, bytes)?;
        Ok(Some(bound))
    }

    /// Returns the clue of a message.
    pub(super) fn clue(&self, message: usize) -> &[u8] {
        &self.clues[message * self.clue_bytes..][..self.clue_bytes]
    }

    /// Returns the tail of the clue of a message, which has been parsed.
    pub(super) fn tail(&self, of: Of<'_>, bound: Option<&BoundTo<'_>>, message: usize) -> Tail {
        let mut tail = Tail::default();
        if let Some(bound_to) = bound {
            let params = &of.params.clue;
            let hashed: Hashed<'_> = bound_to.hashed(params, message, self.clue(message));
            hashed.rows_into(params, &mut tail.rows);
            tail.fingerprint = bound_to.fingerprint(&hashed);
        }
        tail
    }
}
