//! The affine transform `d = b - A s` (SophOMR, section 4.4), with diagonals shared by both
//! coordinates: `s` is packed antiperiodically, so that row i of A meets the diagonals of row 0
//! i baby steps further on.

use crate::{ClueBatch, DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator};
use omr_protocol::{DetectionKey, Params};
use omr_ring::{Basis, Buffer, Eval, Kernels, Poly, SlidingRows};
use omr_rlwe::Rlwe;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Giant steps whose diagonals are held together: the baby steps are read once for all of them.
const GIANTS_TOGETHER: usize = 4;

/// Coefficients of a piece of the multiply-add: baby steps and diagonals of a piece lie together and
/// stay in the second-level cache.
const PIECE: usize = 128;

/// Buffers of one limb of the baby steps: of the size of polynomials, which take their place in
/// the pool later.
const SHARES: usize = 4;

/// Words between the rows of a piece: rows a power of two apart would compete for cache lines.
const PAD: usize = 8;

/// Words of one share of a limb of the baby steps, and of the diagonals of several giant steps.
fn lengths(params: &Params) -> [usize; 2] {
    let (n, baby) = (params.ring.n(), params.spec().baby);
    let piece = PIECE.min(n / SHARES);
    let steps = baby + params.spec().clue.coordinates - 1;
    let words = |rows: usize| n / piece * rows * (piece + PAD);
    [words(2 * steps) / SHARES, words(GIANTS_TOGETHER * baby)]
}

/// Takes the memory of the affine transform from the system, once and for all digests.
pub(crate) fn reserve(params: &Params) {
    let limbs = params.chain.basis(0).len();
    let [baby, diagonals] = lengths(params);
    let threads = rayon::current_num_threads();
    let mut lengths = vec![baby; SHARES * limbs];
    lengths.extend(vec![diagonals; threads]);
    // Polynomials: sums of the giant steps, and the rows of a key switch.
    let poly = limbs * (params.ring.n() + PIECE);
    lengths.extend(vec![poly; 20]);
    omr_ring::reserve(&lengths);
}

/// The encrypted secret turned by 0, 1, ..., `baby` slots. Belongs to the recipient; serves every
/// batch.
pub struct BabySteps {
    /// For each limb, in [`SHARES`]: piece by piece, step by step, body and mask.
    limbs: Vec<Vec<Buffer>>,
    piece: usize,
    steps: usize,
}

impl BabySteps {
    /// Turns the secret, one step after another with one key.
    pub fn new(
        ev: &Evaluator,
        params: &Params,
        key: &DetectionKey,
        progress: &dyn Progress,
    ) -> Result<Self, DetectorError> {
        let steps = params.spec().baby + params.spec().clue.coordinates - 1;
        progress.stage("baby steps", steps as u64);
        let [words, _] = lengths(params);
        let limbs = params.chain.basis(0).len();
        let mut baby = Self {
            limbs: (0..limbs)
                .map(|_| (0..SHARES).map(|_| Buffer::any(words)).collect())
                .collect(),
            piece: PIECE.min(params.ring.n() / SHARES),
            steps,
        };
        let mut step = key.secret.clone();
        for i in 0..steps {
            if i > 0 {
                step = ev.automorphism(&step, &key.step)?;
            }
            baby.store(params.ring.kernels(), i, step.parts());
            progress.advance(1);
        }
        Ok(baby)
    }

    fn store(&mut self, kernels: &Kernels, step: usize, parts: &[Poly<Eval>]) {
        let (piece, stride) = (self.piece, self.piece + PAD);
        let tile = 2 * self.steps * stride;
        self.limbs
            .par_iter_mut()
            .enumerate()
            .for_each(|(limb, shares)| {
                for (i, part) in parts.iter().enumerate() {
                    let row = part.row(limb);
                    for (words, residues) in shares.iter_mut().zip(row.chunks(row.len() / SHARES)) {
                        let words = &mut words[(2 * step + i) * stride..];
                        kernels.spread(words, tile, residues, piece);
                    }
                }
            });
    }

    /// The rows of one piece of a limb.
    fn tile(&self, limb: usize, index: usize) -> &[u64] {
        let tile = 2 * self.steps * (self.piece + PAD);
        let shares = &self.limbs[limb];
        let in_share = shares[0].len() / tile;
        &shares[index / in_share][index % in_share * tile..][..tile]
    }
}

/// `b - A s` for both coordinates, at level 1.
pub(crate) fn transform(
    ev: &Evaluator,
    params: &Params,
    key: &DetectionKey,
    steps: &BabySteps,
    clues: &ClueBatch,
    progress: &dyn Progress,
) -> Result<Vec<Ciphertext>, DetectorError> {
    let giants = params.spec().clue.n / params.spec().baby;
    progress.stage("affine transform", giants as u64);
    let mut sums: Vec<Ciphertext> = Vec::new();
    let mut high = giants;
    // One buffer a thread, kept over all limbs and giant steps: fresh pages are dear.
    let [_, diagonals] = lengths(params);
    let mut buffers: Vec<Buffers> = (0..rayon::current_num_threads())
        .map(|_| Buffers {
            row: Buffer::any(params.ring.n()),
            diagonals: Buffer::any(diagonals),
        })
        .collect();
    while high > 0 {
        let low = high.saturating_sub(GIANTS_TOGETHER);
        let products = giant_products(params, steps, clues, low..high, &mut buffers);
        // Horner: the highest giant step is turned most often.
        for mut of_giant in products.into_iter().rev() {
            if !sums.is_empty() {
                let turned = ev.automorphism_all(&sums.iter().collect::<Vec<_>>(), &key.giant)?;
                for (product, sum) in of_giant.iter_mut().zip(&turned) {
                    ev.add_assign(product, sum)?;
                }
            }
            sums = of_giant;
            progress.advance(1);
        }
        high = low;
    }
    sums.into_iter()
        .zip(clues.b())
        .map(|(sum, b)| {
            let mut sum = ev.at_level(&sum, 1)?;
            ev.neg_assign(&mut sum);
            ev.add_plain_assign(&mut sum, &params.plain.encode(b));
            Ok(sum)
        })
        .collect()
}

/// For each giant step and coordinate: `sum_j diagonal_j * baby_(j + coordinate)`.
fn giant_products(
    params: &Params,
    steps: &BabySteps,
    clues: &ClueBatch,
    giants: std::ops::Range<usize>,
    buffers: &mut [Buffers],
) -> Vec<Vec<Ciphertext>> {
    let basis = params.chain.basis(0);
    let encoded: Vec<Vec<Vec<u32>>> = giants.map(|giant| clues.diagonals(params, giant)).collect();
    let coordinates = params.spec().clue.coordinates;
    let zero = || Rlwe::zero(&params.ring, basis);
    let mut out: Vec<Vec<Rlwe>> = encoded
        .iter()
        .map(|_| (0..coordinates).map(|_| zero()).collect())
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
    buffers.par_iter_mut().with_max_len(1).for_each(|buffer| {
        while let Some((limb, rows)) = next(&limbs) {
            limb_products(params, steps, &encoded, basis, limb, rows, buffer);
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

/// What one thread works in.
struct Buffers {
    row: Buffer,
    /// One limb of the diagonals of all giant steps, piece by piece.
    diagonals: Buffer,
}

/// One limb of all giant steps: transforms the diagonals, then multiplies and adds piece by piece.
/// `outputs`: for each giant step and coordinate, the rows of body and mask.
fn limb_products(
    params: &Params,
    steps: &BabySteps,
    encoded: &[Vec<Vec<u32>>],
    basis: &Basis,
    limb: usize,
    outputs: Vec<&mut [u64]>,
    buffers: &mut Buffers,
) {
    let (ring, p) = (&params.ring, params.p().value() as u32);
    let id = basis.ids()[limb];
    let (piece, stride) = (steps.piece, steps.piece + PAD);
    let Buffers { row, diagonals } = buffers;
    let (k, tile) = (ring.kernels(), encoded.len() * params.spec().baby * stride);
    for (i, coeffs) in encoded.iter().flatten().enumerate() {
        k.lift_centered(ring.modulus(id), row, coeffs, p);
        k.ntt_forward(ring.table(id), row);
        k.spread(&mut diagonals[i * stride..], tile, row, piece);
    }
    let mut outputs: Vec<_> = outputs
        .into_iter()
        .map(|row| row.chunks_mut(piece))
        .collect();
    for (index, tile) in diagonals.chunks(tile).enumerate().take(ring.n() / piece) {
        let mut out: Vec<&mut [u64]> = outputs.iter_mut().filter_map(Iterator::next).collect();
        let rows = SlidingRows {
            a: tile,
            b: steps.tile(limb, index),
            stride,
            len: piece,
            terms: params.spec().baby,
            groups: encoded.len(),
            shifts: params.spec().clue.coordinates,
            parts: 2,
        };
        k.sliding_dots(ring.modulus(id), &mut out, &rows);
    }
}
