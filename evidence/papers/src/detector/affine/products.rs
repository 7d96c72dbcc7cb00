//! Sums of products of diagonals with baby steps, limb by limb.

use super::matrix::{diagonals, tile_words_of_ring};
use super::{BabySteps, PAD, tile_words};
use crate::clear::Params;
use crate::detector::ClueBatch;
use omr_bgv::Ciphertext;
use omr_ring::{Buffer, Encoding, Poly, SlidingRows};
use omr_rlwe::Rlwe;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Returns `sum_j diagonal_j * baby_(j + coordinate)` for each giant step of a group, the highest first, and
/// each coordinate.
pub(super) fn of_group(
    params: &Params,
    steps: &BabySteps,
    clues: &ClueBatch,
    giants: &Range<usize>,
    buffers: &mut [Option<Buffers>],
) -> Vec<Vec<Ciphertext>> {
    let basis = params.chain.basis(0);
    let diagonals = diagonals(params, clues, giants.clone());
    let mut out: Vec<Vec<Rlwe>> = empty(params, giants.len());
    // Every output polynomial lends one row to each limb's task.
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
        while let Some((limb, outputs)) = next(&limbs) {
            let buffers = buffers.get_or_insert_with(|| Buffers::new(params));
            let work = LimbWork {
                params,
                steps,
                limb,
            };
            work.run(&diagonals, outputs, buffers);
        }
    });
    out.into_iter()
        .rev()
        .map(|of_giant| {
            of_giant
                .into_iter()
                .map(|pair| Ciphertext::new(pair, 0, 1))
                .collect()
        })
        .collect()
}

/// Returns uninitialised ciphertexts for the sums of `giants` giant steps.
fn empty(params: &Params, giants: usize) -> Vec<Vec<Rlwe>> {
    let row = || Poly::scratch(&params.ring, params.chain.basis(0));
    let pair = |_| Rlwe::new(row(), row());
    let coordinates = params.circuit().coordinates;
    (0..giants)
        .map(|_| (0..coordinates).map(pair).collect())
        .collect()
}

fn next<T>(queue: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// The buffers in which one thread encodes diagonals.
pub(super) struct Buffers {
    row: Buffer,
    /// One limb of the diagonals of all giant steps, piece by piece.
    tiles: Buffer,
}

impl Buffers {
    fn new(params: &Params) -> Self {
        Self {
            row: Buffer::any(params.ring.n()),
            tiles: Buffer::any(tile_words_of_ring(params, super::GIANTS_TOGETHER)),
        }
    }
}

/// The computation of one limb of some giant steps.
struct LimbWork<'a> {
    params: &'a Params,
    steps: &'a BabySteps,
    limb: usize,
}

impl LimbWork<'_> {
    /// Encodes the diagonals, multiplies and adds them. `outputs` are the rows of body and mask for each giant
    /// step and coordinate.
    fn run(&self, coefficients: &[Buffer], outputs: Vec<&mut [u64]>, buffers: &mut Buffers) {
        let mut group = Group::new(self, outputs);
        group.encode(coefficients, &mut buffers.row, &mut buffers.tiles);
        for index in 0..self.pieces() {
            group.add(index, &buffers.tiles);
        }
    }

    fn pieces(&self) -> usize {
        self.params.ring.n() / self.steps.piece
    }
}

/// One limb of the giant steps that are computed together. Each piece of the outputs is written once.
struct Group<'a> {
    work: &'a LimbWork<'a>,
    giants: usize,
    outputs: Vec<std::slice::ChunksMut<'a, u64>>,
}

impl<'a> Group<'a> {
    fn new(work: &'a LimbWork<'a>, outputs: Vec<&'a mut [u64]>) -> Self {
        let piece = work.steps.piece;
        Self {
            work,
            giants: outputs.len() / (2 * work.params.circuit().coordinates),
            outputs: outputs
                .into_iter()
                .map(|row| row.chunks_mut(piece))
                .collect(),
        }
    }

    /// Writes the transforms of the diagonals, piece by piece.
    fn encode(&self, coefficients: &[Buffer], row: &mut Buffer, tiles: &mut [u64]) {
        let params = self.work.params;
        let (ring, p) = (&params.ring, params.p().value() as u32);
        let id = params.chain.basis(0).ids()[self.work.limb];
        let piece = self.work.steps.piece;
        let rows = coefficients
            .iter()
            .flat_map(|rows| rows.halves().chunks(ring.n()));
        for (i, coeffs) in rows.enumerate() {
            let encoding = Encoding {
                coeffs,
                p,
                out: &mut tiles[i * (piece + PAD)..],
                every: self.words(),
                piece,
            };
            ring.kernels().encode(ring.table(id), row, encoding);
        }
    }

    /// Returns the number of words in a tile.
    fn words(&self) -> usize {
        tile_words(self.work.params, self.giants)
    }

    /// Writes the next piece, number `index`, of the sums.
    fn add(&mut self, index: usize, tiles: &[u64]) {
        let LimbWork {
            params,
            steps,
            limb,
        } = *self.work;
        let words = self.words();
        let mut out: Vec<&mut [u64]> = self.outputs.iter_mut().filter_map(Iterator::next).collect();
        let rows = SlidingRows {
            a: &tiles[index * words..][..words],
            b: steps.tile(limb, index),
            stride: steps.piece + PAD,
            len: steps.piece,
            terms: params.spec().baby,
            groups: self.giants,
            shifts: params.circuit().coordinates / params.circuit().secrets,
            parts: steps.parts,
        };
        let (ring, id) = (&params.ring, params.chain.basis(0).ids()[limb]);
        ring.kernels()
            .sliding_dots(ring.modulus(id), &mut out, &rows);
    }
}
