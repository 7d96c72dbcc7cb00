use super::matrix::{Diagonals, Limb, Matrix, kept_words};
use super::{BabySteps, PAD, tile_words};
use crate::shared::Part;
use omr_bgv::Ciphertext;
use omr_protocol::Params;
use omr_ring::{Buffer, Encoding, Poly, SlidingRows};
use omr_rlwe::Rlwe;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// For each giant step and coordinate: `sum_j diagonal_j * baby_(j + coordinate)`.
pub(super) fn of_giants(
    params: &Params,
    steps: &BabySteps,
    matrix: &Matrix,
    giants: Range<usize>,
    buffers: &mut [Option<Buffers>],
) -> Vec<Vec<Ciphertext>> {
    let basis = params.chain.basis(0);
    let diagonals = Diagonals::new(params, matrix, giants.clone());
    let coordinates = params.spec().clue.coordinates;
    let row = || Poly::scratch(&params.ring, basis);
    let empty = || Rlwe {
        c0: row(),
        c1: row(),
    };
    let mut out: Vec<Vec<Rlwe>> = giants
        .clone()
        .map(|_| (0..coordinates).map(|_| empty()).collect())
        .collect();
    // Limb by limb: every output polynomial lends one row to each limb's task.
    let mut rows: Vec<Vec<&mut [u64]>> = (0..basis.len()).map(|_| Vec::new()).collect();
    for pair in out.iter_mut().flatten() {
        for poly in [&mut pair.c0, &mut pair.c1] {
            for (limb, row) in poly.rows_mut().enumerate() {
                rows[limb].push(row);
            }
        }
    }
    let limbs = Mutex::new(rows.into_iter().enumerate());
    buffers.par_iter_mut().with_max_len(1).for_each(|buffers| {
        while let Some((limb, rows)) = next(&limbs) {
            let work = LimbWork {
                params,
                steps,
                limb,
                giants: giants.len(),
            };
            work.run(diagonals.limb(params, limb), rows, buffers);
        }
    });
    out.into_iter()
        .map(|of_giant| {
            of_giant
                .into_iter()
                .map(|pair| Ciphertext::new(pair, 0, 1))
                .collect()
        })
        .collect()
}

fn next<T>(queue: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// What one thread encodes in.
pub(super) struct Buffers {
    row: Buffer,
    /// One limb of the diagonals of all giant steps, piece by piece.
    tiles: Buffer,
}

impl Buffers {
    fn new(params: &Params) -> Self {
        Self {
            row: Buffer::any(params.ring.n()),
            tiles: Buffer::any(kept_words(params, super::GIANTS_TOGETHER)),
        }
    }
}

/// One limb of some giant steps.
struct LimbWork<'a> {
    params: &'a Params,
    steps: &'a BabySteps,
    limb: usize,
    giants: usize,
}

impl LimbWork<'_> {
    /// Multiplies and adds piece by piece, after encoding what is not kept. `outputs`: for each
    /// giant step and coordinate, the rows of body and mask.
    fn run(&self, diagonals: Limb, outputs: Vec<&mut [u64]>, buffers: &mut Option<Buffers>) {
        let mut sums = Sums {
            work: self,
            outputs: outputs
                .into_iter()
                .map(|row| row.chunks_mut(self.steps.piece))
                .collect(),
        };
        let words = tile_words(self.params, self.giants);
        match diagonals {
            Limb::Kept(kept) => sums.add_all(kept, words),
            Limb::Coefficients(coefficients, room) => {
                let buffers = buffers.get_or_insert_with(|| Buffers::new(self.params));
                let Some(room) = room else {
                    self.encode(coefficients, &mut buffers.row, &mut buffers.tiles);
                    return sums.add_all(&buffers.tiles, words);
                };
                let mut kept = Buffer::any(kept_words(self.params, self.giants));
                self.encode(coefficients, &mut buffers.row, &mut kept);
                sums.add_all(&kept, words);
                room.fill(Part::Diagonals(Arc::new(kept)));
            }
        }
    }

    fn pieces(&self) -> usize {
        self.params.ring.n() / self.steps.piece
    }

    /// The transforms of the diagonals, piece by piece.
    fn encode(&self, coefficients: &[Buffer], row: &mut Buffer, tiles: &mut [u64]) {
        let (ring, p) = (&self.params.ring, self.params.p().value() as u32);
        let id = self.params.chain.basis(0).ids()[self.limb];
        let piece = self.steps.piece;
        let rows = coefficients
            .iter()
            .flat_map(|rows| rows.halves().chunks(ring.n()));
        for (i, coeffs) in rows.enumerate() {
            let encoding = Encoding {
                coeffs,
                p,
                out: &mut tiles[i * (piece + PAD)..],
                every: tile_words(self.params, self.giants),
                piece,
            };
            ring.kernels().encode(ring.table(id), row, encoding);
        }
    }
}

/// The outputs of one limb, of which each piece is written once.
struct Sums<'a> {
    work: &'a LimbWork<'a>,
    outputs: Vec<std::slice::ChunksMut<'a, u64>>,
}

impl Sums<'_> {
    /// All pieces, from tiles of `words` words.
    fn add_all(&mut self, tiles: &[u64], words: usize) {
        let pieces = self.work.pieces();
        for (index, tile) in tiles.chunks(words).take(pieces).enumerate() {
            self.add(index, tile);
        }
    }

    /// The next piece, number `index`, from a tile of diagonals.
    fn add(&mut self, index: usize, tile: &[u64]) {
        let LimbWork {
            params,
            steps,
            limb,
            giants,
        } = *self.work;
        let ring = &params.ring;
        let window = steps.tile(limb, index);
        let mut out: Vec<&mut [u64]> = self.outputs.iter_mut().filter_map(Iterator::next).collect();
        let rows = SlidingRows {
            a: tile,
            b: window,
            stride: steps.piece + PAD,
            len: steps.piece,
            terms: params.spec().baby,
            groups: giants,
            shifts: params.spec().clue.coordinates,
            parts: 2,
        };
        let id = params.chain.basis(0).ids()[limb];
        ring.kernels()
            .sliding_dots(ring.modulus(id), &mut out, &rows);
    }
}
