//! The affine transform `d = b - A s` (SophOMR, section 4.4). All coordinates share diagonals: `s` is packed
//! antiperiodically, so that row i of A is aligned with the diagonals of row 0, i baby steps further. If each
//! coordinate has its own secret, all of them are aligned with row 0.

mod baby_steps;
mod matrix;
mod offset;
mod products;

pub use baby_steps::BabySteps;

use super::batch::ClueBatch;
use super::check_stopped;
use crate::clear::{DetectionKey, Params};
use offset::Offset;
use omr_bgv::{Ciphertext, Evaluator};
use omr_detector::{DetectorError, Progress};
use omr_ring::{Eval, Poly, Reservation};
use products::Buffers;
use std::ops::Range;

/// The number of giant steps whose diagonals are kept in memory together, so that the baby steps are read once
/// for all of them.
const GIANTS_TOGETHER: usize = 4;

/// The number of coefficients in a piece of the multiply-add. Baby steps and diagonals of a piece are adjacent
/// and stay in the second-level cache.
const PIECE: usize = 128;

/// The number of words between the rows of a piece. Rows at a distance of a power of two would compete for
/// cache lines.
const PAD: usize = 8;

/// Returns the number of coefficients in a piece.
fn piece(params: &Params) -> usize {
    PIECE.min(params.ring.n())
}

/// Returns the number of words in a piece of the diagonals of `giants` giant steps.
fn tile_words(params: &Params, giants: usize) -> usize {
    giants * params.spec().baby * (piece(params) + PAD)
}

/// Allocates the memory that transforms use, for the lifetime of the reservation.
pub(super) fn reserve(params: &Params, threads: usize) -> Reservation {
    let mut lengths = BabySteps::buffers(params);
    lengths.extend(buffers(params, threads));
    // Each step begins after the previous one has ended.
    let most = buffers_of_steps(params)
        .into_iter()
        .max_by_key(|step| step.iter().sum::<usize>());
    lengths.extend(most.into_iter().flatten());
    omr_ring::reserve(&lengths)
}

/// Returns the lengths, in words, of the buffers that the transform uses in addition to the baby steps.
pub(super) fn buffers(params: &Params, threads: usize) -> Vec<usize> {
    // The sums of the giant steps, and the sums so far.
    let sums = 2 * params.circuit().coordinates * (GIANTS_TOGETHER + 1);
    let mut lengths = vec![poly_words(params, 0); sums];
    lengths.extend(vec![
        matrix::tile_words_of_ring(params, GIANTS_TOGETHER);
        threads
    ]);
    lengths
}

/// Returns the lengths, in words, of the buffers of each of the transform's three steps, which run one after
/// another, in addition to [`buffers`]: coefficients of diagonals; rotated sums; results with their summands.
pub(super) fn buffers_of_steps(params: &Params) -> [Vec<usize>; 3] {
    let coordinates = params.circuit().coordinates;
    let basis = params.chain.basis(0);
    [
        vec![matrix::coefficient_words(params); GIANTS_TOGETHER],
        params.giant_shape.buffers(&params.ring, basis, coordinates),
        vec![poly_words(params, 1); 2 * coordinates + 1],
    ]
}

/// Returns the number of words of a polynomial at a level.
fn poly_words(params: &Params, level: usize) -> usize {
    Poly::<Eval>::words(params.ring.n(), params.chain.basis(level))
}

/// Returns the giant steps whose diagonals are kept in memory together, in the order of the computation, which
/// is Horner's: the highest giant step is rotated most often.
fn groups(params: &Params) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
    let giants = params.spec().clue.n / params.spec().baby;
    let highs = (1..=giants).rev().step_by(GIANTS_TOGETHER);
    highs.map(|high| high.saturating_sub(GIANTS_TOGETHER)..high)
}

/// Returns `b - A s`, or `b - A s - <h, w>` for bound clues, for all coordinates, at level 1.
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
    // One buffer for each thread, reused for all limbs and giant steps, because fresh pages are expensive.
    let threads = 0..rayon::current_num_threads();
    let mut buffers: Vec<Option<Buffers>> = threads.map(|_| None).collect();
    let coordinates = clues.coordinates();
    let offset = Offset::new(ev, params, key, &coordinates.rows);
    let mut giant = giants;
    for group in groups(params) {
        let products = products::of_group(params, steps, clues, &group, &mut buffers);
        for mut of_giant in products {
            giant -= 1;
            offset.add(giant, &mut of_giant)?;
            if !sums.is_empty() {
                let turned = ev.automorphism_all(&sums.iter().collect::<Vec<_>>(), &key.giant)?;
                for (product, sum) in of_giant.iter_mut().zip(&turned) {
                    ev.add_assign(product, sum)?;
                }
            }
            sums = of_giant;
            progress.advance(1);
            check_stopped(progress)?;
        }
    }
    sums.into_iter()
        .zip(&coordinates.b)
        .map(|(sum, b)| {
            let mut sum = ev.at_level(&sum, 1)?;
            ev.neg_assign(&mut sum);
            ev.add_plain_assign(&mut sum, &params.plain.encode(b));
            Ok(sum)
        })
        .collect()
}
