//! Clues and payloads of consecutive messages, as both rounds read them.

use crate::bound_to::check_kind;
use crate::error::check_len;
use crate::source::kept_hashes;
use crate::{DetectorError, MessageSource};
use omr_protocol::ClueKind;
use omr_protocol::clue::{Binding, ClueParser, Hashed, HashesOf};
use omr_protocol::rounds::RoundsParams;
use std::ops::Range;

/// The board that messages are read from, and the properties that all of them have.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) params: &'a RoundsParams,
    pub(super) board_id: &'a [u8; 16],
    pub(super) clues: ClueKind,
    pub(super) payload_bytes: usize,
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

    /// Returns the clue of a message.
    pub(super) fn clue(&self, message: usize) -> &[u8] {
        &self.clues[message * self.clue_bytes..][..self.clue_bytes]
    }

    /// Returns the hash of a message with a bound clue, which has been parsed; `None` for a plain clue.
    pub(super) fn hashed(&self, of: Of<'_>, message: usize) -> Option<Hashed<'_>> {
        if of.clues == ClueKind::Plain {
            return None;
        }
        let (params, clue) = (&of.params.clue, self.clue(message));
        Some(match &self.hashes {
            Some(hashes) => Hashed::kept(params, hashes[message], clue),
            None => {
                let payload = &self.payloads[message * of.payload_bytes..][..of.payload_bytes];
                Hashed::new(params, Binding::new(of.board_id, payload), clue)
            }
        })
    }
}
