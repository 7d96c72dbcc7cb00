//! Payloads of a page, prepared for the second round.

use super::messages::{Of, Read};
use crate::{DetectorError, MessageSource};
use omr_protocol::clue::FingerprintKey;
use omr_protocol::rounds::{RoundsParams, RoundsPlan, units};
use omr_protocol::sophomr::checksum;
use omr_protocol::{ClueKind, SEED_BYTES};
use omr_rounds::fetch::{Places, Prepared};
use rayon::prelude::*;
use std::ops::Range;

/// The payloads of a page as plaintexts. They serve all recipients whose scans have the page's seed.
pub struct PreparedPage {
    /// The page, counted on the board.
    pub page: u64,
    /// The board.
    pub board_id: [u8; 16],
    /// The length of payloads in bytes.
    pub payload_bytes: usize,
    /// The kind of the board's clues.
    pub clues: ClueKind,
    /// The seed of places, units and fingerprints.
    pub seed: [u8; SEED_BYTES],
    /// The messages that it contains.
    pub messages: Range<u64>,
    pub(super) plaintexts: Prepared,
}

impl PreparedPage {
    /// Prepares messages of one page, from its beginning or from the first message that the board still has. Queries for
    /// others of the page are answered with zeros.
    ///
    /// Errors: those of the source; `Plan`; `ClueKind`.
    /// Panics: unless all messages lie in one page.
    pub fn new(
        params: &RoundsParams,
        source: &mut dyn MessageSource,
        messages: Range<u64>,
        board_id: [u8; 16],
        payload_bytes: usize,
        clues: ClueKind,
        seed: [u8; SEED_BYTES],
    ) -> Result<Self, DetectorError> {
        let plan = RoundsPlan::new(params, messages.clone(), payload_bytes, clues)?;
        assert_eq!(plan.rows(), 1, "pages of messages");
        let page = plan.pages().start;
        let of = Of {
            params,
            board_id: &board_id,
            clues,
            payload_bytes,
        };
        let read = Read::new(of, source, messages.clone(), true)?;
        let fingerprints = FingerprintKey::new(&seed);
        let p = params.fetch.p();
        let factors = units(p.value(), &seed, page, params.fetch.spec().page);
        let (code, symbols) = (plan.code(), plan.symbols());
        let first = plan.number_in_page(messages.start);
        let mut values = vec![0; (first + read.messages()) * symbols];
        values[first * symbols..]
            .par_chunks_mut(symbols)
            .enumerate()
            .try_for_each(|(message, row)| -> Result<(), DetectorError> {
                let payload = &read.payloads[message * payload_bytes..][..payload_bytes];
                let mut fingerprint = 0;
                if clues == ClueKind::Bound
                    && clue_parses(of, &read, message)
                    && let Some(hashed) = read.hashed(of, message)
                {
                    fingerprint = hashed.fingerprint(&fingerprints);
                }
                let (body, sum) = row.split_at_mut(code.count());
                code.pack_marked(payload, fingerprint, body)?;
                let index = messages.start + message as u64;
                sum.copy_from_slice(&checksum(index, payload, code));
                let factor = u64::from(factors[first + message]);
                for symbol in row {
                    *symbol = p.mul((*symbol).into(), factor) as u32;
                }
                Ok(())
            })?;
        let places = Places::new(&params.fetch, &seed, page);
        Ok(Self {
            plaintexts: Prepared::new(&params.fetch, &places, symbols, &values),
            page,
            board_id,
            payload_bytes,
            clues,
            seed,
            messages,
        })
    }

    /// Returns whether both are pages of one board, prepared for one kind of messages.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        self.board_id == other.board_id
            && self.payload_bytes == other.payload_bytes
            && self.clues == other.clues
    }

    /// Returns the memory of a prepared page with payloads of this length, in bytes.
    ///
    /// Errors: `Plan` for a length of payloads that no code has.
    pub fn bytes_of(
        params: &RoundsParams,
        payload_bytes: usize,
        clues: ClueKind,
    ) -> Result<usize, DetectorError> {
        let plan = RoundsPlan::new(params, 0..1, payload_bytes, clues)?;
        Ok(Prepared::bytes_of(&params.fetch, plan.symbols()))
    }
}

/// Returns whether the clue of a message can be read.
fn clue_parses(of: Of<'_>, read: &Read, message: usize) -> bool {
    let parser = Read::parser(of);
    let mut residues = vec![0; parser.residues()];
    parser.parse_into(read.clue(message), &mut residues).is_ok()
}
