//! The affine transform `d = b - A s` (SophOMR, section 4.4), with diagonals shared by both
//! coordinates: `s` is packed antiperiodically, so that row i of A meets the diagonals of row 0
//! i baby steps further on.

use crate::{ClueBatch, DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator};
use omr_protocol::{DetectionKey, Params};
use omr_ring::{AlignedVec, Basis, Eval, Poly};
use omr_rlwe::Rlwe;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Giant steps whose diagonals are held together: the baby steps are read once for all of them.
const GIANTS_TOGETHER: usize = 2;

/// Coefficients of a piece of the multiply-add, so that baby steps and diagonals stay in cache.
const PIECE: usize = 512;

/// The encrypted secret turned by 0, 1, ..., `baby` slots. Belongs to the recipient; serves every
/// batch.
pub struct BabySteps(Vec<Ciphertext>);

impl BabySteps {
    /// Turns the secret, one step after another with one key.
    pub fn new(
        ev: &Evaluator,
        params: &Params,
        key: &DetectionKey,
        progress: &dyn Progress,
    ) -> Result<Self, DetectorError> {
        let count = params.spec().baby + params.spec().clue.coordinates - 1;
        progress.stage("baby steps", count as u64);
        let mut steps = vec![key.secret.clone()];
        while steps.len() < count {
            let next = ev.automorphism(&steps[steps.len() - 1], &key.step)?;
            steps.push(next);
            progress.advance(1);
        }
        progress.advance(1);
        Ok(Self(steps))
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
    let coordinates = params.spec().clue.coordinates;
    let mut sums: Vec<Option<Ciphertext>> = vec![None; coordinates];
    let mut high = giants;
    // One buffer a thread, kept over all limbs and giant steps: fresh pages are dear.
    let words = GIANTS_TOGETHER * params.spec().baby * params.ring.n();
    let mut buffers = vec![AlignedVec::zeroed(words); rayon::current_num_threads()];
    while high > 0 {
        let low = high.saturating_sub(GIANTS_TOGETHER);
        let products = giant_products(params, steps, clues, low..high, &mut buffers);
        // Horner: the highest giant step is turned most often.
        for of_giant in products.into_iter().rev() {
            for (sum, product) in sums.iter_mut().zip(of_giant) {
                let mut product = product;
                if let Some(sum) = sum.take() {
                    ev.add_assign(&mut product, &ev.automorphism(&sum, &key.giant)?)?;
                }
                *sum = Some(product);
            }
            progress.advance(1);
        }
        high = low;
    }
    sums.into_iter()
        .zip(clues.b())
        .map(|(sum, b)| {
            let mut sum = ev.at_level(&sum.expect("at least one giant step"), 1)?;
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
    buffers: &mut [AlignedVec],
) -> Vec<Vec<Ciphertext>> {
    let basis = params.chain.basis(0);
    let encoded: Vec<Vec<Vec<u32>>> = giants
        .map(|giant| encode_all(params, clues.diagonals(params, giant)))
        .collect();
    let coordinates = params.spec().clue.coordinates;
    let zero = || Rlwe::zero(&params.ring, basis);
    let mut out: Vec<Vec<Rlwe>> = encoded
        .iter()
        .map(|_| (0..coordinates).map(|_| zero()).collect())
        .collect();
    // Limb by limb: every output polynomial lends one row to each limb's task.
    let n = params.ring.n();
    let mut rows: Vec<Vec<&mut [u64]>> = (0..basis.len()).map(|_| Vec::new()).collect();
    for pair in out.iter_mut().flatten() {
        for poly in [&mut pair.c0, &mut pair.c1] {
            for (limb, row) in poly.data_mut().chunks_mut(n).enumerate() {
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

fn encode_all(params: &Params, diagonals: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let scratch = || vec![0u64; params.slots()];
    diagonals
        .into_par_iter()
        .map_init(scratch, |scratch, mut slots| {
            let copy = slots.clone();
            params.plain.encode_into(&copy, scratch, &mut slots);
            slots
        })
        .collect()
}

/// One limb of all giant steps: transforms the diagonals, then multiplies and adds piece by piece.
/// `outputs`: for each giant step and coordinate, the rows of body and mask.
fn limb_products(
    params: &Params,
    steps: &BabySteps,
    encoded: &[Vec<Vec<u32>>],
    basis: &Basis,
    limb: usize,
    mut outputs: Vec<&mut [u64]>,
    buffer: &mut [u64],
) {
    let (ring, n) = (&params.ring, params.ring.n());
    let (m, table) = (
        ring.modulus(basis.ids()[limb]),
        ring.table(basis.ids()[limb]),
    );
    let baby = params.spec().baby;
    for (row, coeffs) in buffer.chunks_mut(n).zip(encoded.iter().flatten()) {
        ring.kernels()
            .lift_centered(m, row, coeffs, params.p().value() as u32);
        ring.kernels().ntt_forward(table, row);
    }
    let coordinates = params.spec().clue.coordinates;
    for start in (0..n).step_by(PIECE) {
        let piece = start..(start + PIECE).min(n);
        let turned: Vec<[&[u64]; 2]> = steps
            .0
            .iter()
            .map(|step| [0, 1].map(|part| row_piece(&step.parts()[part], limb, &piece)))
            .collect();
        for (g, rows) in outputs.chunks_mut(2 * coordinates).enumerate() {
            let diagonals: Vec<&[u64]> = (g * baby..(g + 1) * baby)
                .map(|i| &buffer[i * n + piece.start..i * n + piece.end])
                .collect();
            for (i, row) in rows.iter_mut().enumerate() {
                let (coordinate, part) = (i / 2, i % 2);
                let factors: Vec<&[u64]> = turned[coordinate..coordinate + baby]
                    .iter()
                    .map(|t| t[part])
                    .collect();
                ring.kernels()
                    .dot(m, &mut row[piece.clone()], &diagonals, &factors);
            }
        }
    }
}

fn row_piece<'a>(poly: &'a Poly<Eval>, limb: usize, piece: &std::ops::Range<usize>) -> &'a [u64] {
    &poly.row(limb)[piece.clone()]
}
