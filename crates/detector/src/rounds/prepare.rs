//! Payloads of a section, prepared for the second round.

use super::messages::{Of, Read};
use crate::{DetectorError, MessageSource};
use omr_protocol::rounds::{RoundsParams, RoundsPlan, units};
use omr_protocol::sophomr::checksum;
use omr_protocol::{ClueKind, SEED_BYTES};
use omr_rounds::fetch::{Places, Prepared};
use rayon::prelude::*;
use std::ops::Range;

/// The payloads of a section as plaintexts. They serve all recipients who scan with the same seed.
pub struct PreparedSection {
    /// The section, counted on the board.
    pub section: u64,
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

impl PreparedSection {
    /// Prepares messages of one section. Queries for others of the section are answered with zeros.
    ///
    /// Errors: those of the source; `Plan`; `ClueKind`.
    /// Panics: unless all messages lie in one section.
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
        let [own] = plan.sections() else {
            panic!("messages of one section");
        };
        let (section, size) = (own.section, params.scan.section());
        let of = Of {
            params,
            board_id: &board_id,
            clues,
            payload_bytes,
            seed: &seed,
        };
        let read = Read::new(of, source, messages.clone(), true)?;
        let bound = read.bound_to(of)?;
        let p = params.fetch.p();
        let factors = units(p.value(), &seed, section, size);
        let (code, symbols) = (plan.code(), plan.symbols());
        let first = (messages.start - section * size as u64) as usize;
        let mut values = vec![0; (first + read.messages()) * symbols];
        values[first * symbols..]
            .par_chunks_mut(symbols)
            .enumerate()
            .try_for_each(|(message, row)| -> Result<(), DetectorError> {
                let payload = &read.payloads[message * payload_bytes..][..payload_bytes];
                let fingerprint = if clue_parses(of, &read, message) {
                    read.tail(of, bound.as_ref(), message).fingerprint
                } else {
                    0
                };
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
        let places = Places::new(&params.fetch, &seed, section, size);
        Ok(Self {
            plaintexts: Prepared::new(&params.fetch, &places, symbols, &values),
            section,
            board_id,
            payload_bytes,
            clues,
            seed,
            messages,
        })
    }

    /// Returns the memory of a prepared section with payloads of this length, in bytes.
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
