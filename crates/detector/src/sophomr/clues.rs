//! The clues of one batch, by slot.

use crate::BoundTo;
use omr_protocol::clue::{HEAD_BYTES, OFFSET_LEN, residue_bits};
use omr_protocol::sophomr::{Params, ParamsSpec};
use omr_protocol::{ClueParser, Placement};
use omr_ring::{PackedRow, PackedRows};
use rayon::prelude::*;
use std::sync::Arc;

/// The clues of one batch, packed as they were posted, because fresh memory is expensive. A slot without a usable clue
/// has `a = 0` and a b far from the window, so it is impertinent.
pub struct ClueBatch {
    bytes: Vec<u8>,
    clue_bytes: usize,
    /// For each slot, the number of its clue.
    clue: Vec<Option<u32>>,
    coordinates: Coordinates,
    /// For each slot, whether its clue is negated before it is packed.
    negated: Vec<bool>,
}

/// The parsed parts of clues other than a.
pub(crate) struct Coordinates {
    /// For each coordinate, b by slot.
    pub(crate) b: Vec<Vec<u32>>,
    /// For each coordinate of bound clues, the row `h` by slot.
    pub(crate) rows: Vec<Vec<[u32; OFFSET_LEN]>>,
    /// The fingerprints of bound clues, by message.
    pub(crate) fingerprints: Arc<[u32]>,
    /// Number of clues that did not parse.
    pub(crate) unusable: usize,
}

const COORDINATES: usize = ParamsSpec::COORDINATES;

/// The parts of a bound clue beside its bytes and b.
struct Tail {
    rows: [[u32; OFFSET_LEN]; COORDINATES],
    fingerprint: u32,
}

impl ClueBatch {
    /// Checks up to `slots` bound clues, as [`ClueBatch::new`] checks plain ones. Signatures are not verified; the
    /// board has done that.
    ///
    /// Panics: if clues or payloads have 0 bytes.
    pub fn bound(
        params: &Params,
        placement: &Placement,
        bytes: Vec<u8>,
        clue_bytes: usize,
        to: &BoundTo,
    ) -> Self {
        let parser = ClueParser::bound(&params.clue);
        Self::parsed(params, placement, bytes, clue_bytes, &parser, Some(to))
    }

    /// Checks up to `slots` plain clues, which follow one another, and assigns each its slot. Clues that do not parse
    /// count as impertinent.
    ///
    /// Panics: if clues have 0 bytes.
    pub fn new(params: &Params, placement: &Placement, bytes: Vec<u8>, clue_bytes: usize) -> Self {
        let parser = ClueParser::new(&params.clue);
        Self::parsed(params, placement, bytes, clue_bytes, &parser, None)
    }

    fn parsed(
        params: &Params,
        placement: &Placement,
        bytes: Vec<u8>,
        clue_bytes: usize,
        parser: &ClueParser,
        to: Option<&BoundTo>,
    ) -> Self {
        let (spec, looked_at, nobody) = (&params.spec().clue, COORDINATES, params.nobody());
        let scratch = || vec![0; parser.residues()];
        let mut looked = vec![0; bytes.len().div_ceil(clue_bytes) * looked_at];
        let parsed: Vec<Option<Tail>> = bytes
            .par_chunks(clue_bytes)
            .zip(looked.par_chunks_mut(looked_at))
            .enumerate()
            .map_init(scratch, |row, (message, (clue, b))| {
                parser.parse_into(clue, row).ok()?;
                b.copy_from_slice(&row[spec.n..][..looked_at]);
                let mut tail = Tail {
                    rows: Default::default(),
                    fingerprint: 0,
                };
                if let Some(bound_to) = to {
                    let hashed = bound_to.hashed(&params.clue, message, clue);
                    hashed.rows_into(&params.clue, &mut tail.rows);
                    tail.fingerprint = bound_to.fingerprint(&hashed);
                }
                Some(tail)
            })
            .collect();
        let of_slot = |&message: &u32| parsed.get(message as usize)?.as_ref();
        let b = |i: usize| {
            let b = |message: &u32| {
                let own = |_| looked[*message as usize * looked_at + i];
                of_slot(message).map_or(nobody, own)
            };
            placement.messages().par_iter().map(b).collect()
        };
        let row = |i: usize| {
            let row = |message| of_slot(message).map_or([0; OFFSET_LEN], |tail| tail.rows[i]);
            placement.messages().par_iter().map(row).collect()
        };
        let bound = to.map_or(0, |_| COORDINATES);
        let clue = |message| of_slot(message).map(|_| *message);
        let fingerprint = |tail: &Option<Tail>| tail.as_ref().map_or(0, |bound| bound.fingerprint);
        let coordinates = Coordinates {
            fingerprints: match to {
                Some(_) => parsed.iter().map(fingerprint).collect(),
                None => Arc::default(),
            },
            b: (0..looked_at).map(b).collect(),
            rows: (0..bound).map(row).collect(),
            unusable: parsed.iter().filter(|tail| tail.is_none()).count(),
        };
        Self {
            coordinates,
            negated: placement.negated(),
            clue: placement.messages().iter().map(clue).collect(),
            bytes,
            clue_bytes,
        }
    }

    /// Returns the fingerprints of bound clues, by message; 0 for clues that did not parse.
    pub fn fingerprints(&self) -> &Arc<[u32]> {
        &self.coordinates.fingerprints
    }

    /// Returns the number of clues that did not parse.
    pub fn unusable(&self) -> usize {
        self.coordinates.unusable
    }

    /// Returns whether the clue of a slot is negated before it is packed.
    pub(crate) fn is_negated(&self, slot: usize) -> bool {
        self.negated[slot]
    }

    pub(crate) fn coordinates(&self) -> &Coordinates {
        &self.coordinates
    }

    /// Returns the clues as they were posted, one after another.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns where the residues a of the clues in these slots are in [`ClueBatch::bytes`], with their signs.
    pub(crate) fn packed_rows(&self, params: &Params, slots: &[usize]) -> PackedRows {
        let spec = &params.spec().clue;
        let row = |&slot: &usize| {
            self.clue[slot].map(|clue| PackedRow {
                first: clue as usize * self.clue_bytes + HEAD_BYTES,
                is_negated: self.negated[slot],
            })
        };
        let constant = spec.stands_for(0);
        PackedRows {
            bits: residue_bits(spec.posted_modulus()),
            width: spec.n,
            factor: spec.stands_for(1) - constant,
            constant,
            rows: slots.iter().map(row).collect(),
        }
    }

    /// Copies the residues a of the clues in these slots, one row after another; zeros for slots without a usable clue.
    pub(crate) fn rows_into(&self, params: &Params, slots: &[usize], out: &mut [u32]) {
        let parser = if self.coordinates.rows.is_empty() {
            ClueParser::new(&params.clue)
        } else {
            ClueParser::bound(&params.clue)
        };
        let mut residues = vec![0; parser.residues()];
        let width = params.spec().clue.n;
        for (&slot, row) in slots.iter().zip(out.chunks_mut(width)) {
            let Some(clue) = self.clue[slot] else {
                row.fill(0);
                continue;
            };
            let bytes = &self.bytes[clue as usize * self.clue_bytes..][..self.clue_bytes];
            let parsed = parser.parse_into(bytes, &mut residues);
            parsed.expect("clues in slots have been parsed");
            row.copy_from_slice(&residues[..width]);
        }
    }
}
