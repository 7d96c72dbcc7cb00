//! The clues of one batch, by slot, and the diagonals of their matrix.

mod reader;

use crate::clear::Params;
use omr_detector::BoundTo;
use omr_protocol::clue::OFFSET_LEN;
use omr_protocol::{ClueParser, Placement};
use omr_ring::Buffer;
use rayon::prelude::*;
use reader::Reader;
use std::sync::Arc;

/// The number of slots that are transposed from rows to diagonals at a time: a few cache lines of a diagonal.
const LINE: usize = 64;

/// The number of slots of one task.
const TASK: usize = 1024;

/// The clues of one batch, packed as they were posted, because fresh memory is expensive. For a slot without a
/// usable clue `a = 0` and b is far from the window, which is impertinent.
pub struct ClueBatch {
    bytes: Vec<u8>,
    clue_bytes: usize,
    /// The number of each slot's clue.
    clue: Vec<Option<u32>>,
    coordinates: Coordinates,
}

/// The data of the clues that is still needed after their diagonals are encoded.
pub(crate) struct Coordinates {
    /// The residues b of each coordinate, by slot.
    pub(crate) b: Vec<Vec<u32>>,
    /// The rows `h` of each coordinate, by slot; empty for plain clues.
    pub(crate) rows: Vec<Vec<[u32; OFFSET_LEN]>>,
    /// The fingerprints of bound clues, by message; empty for plain clues.
    pub(crate) fingerprints: Arc<[u32]>,
    /// The number of clues that did not parse.
    pub(crate) unusable: usize,
}

/// The largest number of coordinates for which offsets of bound clues are stored.
const COORDINATES: usize = 2;

/// The data of a bound clue that is stored in addition to its bytes and b; zeros for a plain clue.
struct Tail {
    rows: [[u32; OFFSET_LEN]; COORDINATES],
    fingerprint: u32,
}

impl ClueBatch {
    /// Builds a batch of bound clues, otherwise like [`ClueBatch::new`]. The board checks signatures.
    ///
    /// Panics: if clues have 0 bytes.
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

    /// Checks up to `slots` concatenated clues and assigns each to its slot. Clues that do not parse count as
    /// impertinent.
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
        let (spec, circuit) = (&params.spec().clue, params.circuit());
        let looked_at = circuit.coordinates;
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
                if let Some(to) = to {
                    let hashed = to.hashed(&params.clue, message, clue);
                    hashed.rows_into(&params.clue, &mut tail.rows);
                    tail.fingerprint = to.fingerprint(&hashed);
                }
                Some(tail)
            })
            .collect();
        let of_slot = |&message: &u32| parsed.get(message as usize)?.as_ref();
        let b = |i: usize| {
            let b = |message: &u32| {
                let own = |_| looked[*message as usize * looked_at + i];
                of_slot(message).map_or(circuit.nobody, own)
            };
            placement.messages().par_iter().map(b).collect()
        };
        let row = |i: usize| {
            placement
                .messages()
                .par_iter()
                .map(|message| of_slot(message).map_or([0; OFFSET_LEN], |tail| tail.rows[i]))
                .collect()
        };
        let bound = to.map_or(0, |_| COORDINATES);
        let clue = |message| of_slot(message).map(|_| *message);
        let coordinates = Coordinates {
            fingerprints: match to {
                Some(_) => parsed
                    .iter()
                    .map(|tail| tail.as_ref().map_or(0, |tail| tail.fingerprint))
                    .collect(),
                None => Arc::default(),
            },
            b: (0..looked_at).map(b).collect(),
            rows: (0..bound).map(row).collect(),
            unusable: parsed.iter().filter(|tail| tail.is_none()).count(),
        };
        Self {
            coordinates,
            clue: placement.messages().iter().map(clue).collect(),
            bytes,
            clue_bytes,
        }
    }

    /// Returns the fingerprints of bound clues, by message; 0 for clues that did not parse.
    pub fn fingerprints(&self) -> &[u32] {
        &self.coordinates.fingerprints
    }

    /// Returns the number of clues that did not parse.
    pub fn unusable(&self) -> usize {
        self.coordinates.unusable
    }

    pub(crate) fn coordinates(&self) -> &Coordinates {
        &self.coordinates
    }

    /// Writes the diagonals `giant * baby + j` for all j, rotated back by the giant step, as coefficients
    /// modulo p, one after another into `out`. Column z of slot w, whose clue is at column z - giant * baby,
    /// contains `Neg^0(a_w)[z + j]`.
    ///
    /// Panics: if `out` has another length.
    pub fn diagonals(&self, params: &Params, giant: usize, out: &mut [u32]) {
        let (n, baby) = (params.slots(), params.spec().baby);
        assert_eq!(out.len(), n * baby, "a row for each diagonal");
        let mut rows: Vec<_> = out.chunks_mut(n).map(|row| row.chunks_mut(TASK)).collect();
        let tasks: Vec<Vec<&mut [u32]>> = (0..n.div_ceil(TASK))
            .map(|_| rows.iter_mut().filter_map(Iterator::next).collect())
            .collect();
        let reader = || Reader::new(params, self);
        tasks
            .into_par_iter()
            .enumerate()
            .for_each_init(reader, |reader, (task, mut rows)| {
                reader.diagonals(giant * baby, task * TASK, &mut rows)
            });
        let scratch = || Buffer::any(n);
        out.par_chunks_mut(n)
            .for_each_init(scratch, |scratch, row| {
                params.plain.interpolate(row, scratch);
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::Clue;

    /// Compares every diagonal of a batch that is not full with its definition.
    #[test]
    fn diagonals_are_those_of_the_matrix() {
        let params = Params::named(crate::clear::Spec::TINY_SOPHOMR).unwrap();
        let (n, spec) = (params.slots(), params.spec());
        let p = params.p().value();
        let clue = |w: usize| Clue {
            a: (0..spec.clue.n)
                .map(|i| ((w * 7919 + i * i * 104_729) as u64 % p * u64::from(i % 9 > 0)) as u32)
                .collect(),
            b: vec![w as u32, 2 * w as u32],
        };
        let clues: Vec<Clue> = (0..n - 5).map(clue).collect();
        let mut bytes: Vec<Vec<u8>> = clues.iter().map(|c| c.to_bytes(&params.clue)).collect();
        bytes[3][0] = 9;
        let placement = Placement::new(&[4; 32], 0, n);
        let batch = ClueBatch::new(&params, &placement, bytes.concat(), bytes[0].len());
        assert_eq!(batch.unusable(), 1);
        let usable = |slot: usize| {
            let clue = clues.get(placement.messages()[slot] as usize);
            clue.filter(|clue| clue.b[0] != 3)
        };
        for slot in 0..n {
            let expected = usable(slot).map_or([p as u32 / 2; 2], |clue| [clue.b[0], clue.b[1]]);
            let b = &batch.coordinates.b;
            assert_eq!([b[0][slot], b[1][slot]], expected);
        }
        for giant in [0, 1, spec.clue.n / spec.baby - 1] {
            let mut diagonals = vec![0; n * spec.baby];
            batch.diagonals(&params, giant, &mut diagonals);
            for (j, diagonal) in diagonals.chunks(n).enumerate() {
                let coeffs = diagonal.iter().map(|&x| x.into()).collect();
                for (slot, found) in params.plain.decode(coeffs).into_iter().enumerate() {
                    let (row, column) = (slot / (n / 2), slot % (n / 2));
                    let from = row * n / 2 + (column + n / 2 - giant * spec.baby) % (n / 2);
                    let k = (column + j) % (2 * spec.clue.n);
                    let expected = usable(from).map_or(0, |clue| {
                        // Neg^0(a)[k] = -a_(n-k), with a_(i+n) = -a_i.
                        let at = (2 * spec.clue.n - k) % (2 * spec.clue.n);
                        let value = u64::from(clue.a[at % spec.clue.n]);
                        if at >= spec.clue.n {
                            (p - value) % p
                        } else {
                            value
                        }
                    });
                    assert_eq!(u64::from(found), expected, "diagonal {j}, slot {slot}");
                }
            }
        }
    }
}
