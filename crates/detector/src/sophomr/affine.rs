//! The affine transform `d = b - A s` (SophOMR, section 4.4), with diagonals shared by all
//! coordinates: `s` is packed antiperiodically, so that row i of A meets the diagonals of row 0
//! i baby steps further on. Where each coordinate has a secret of its own, all meet row 0.

mod baby_steps;
mod matrix;
mod offset;
mod products;

pub(crate) use baby_steps::BabySteps;
pub(crate) use matrix::{Kept, Matrix};

use crate::progress::check_stopped;
use crate::{DetectorError, Progress};
use offset::Offset;
use omr_bgv::{Ciphertext, Evaluator};
use omr_protocol::sophomr::{DetectionKey, Params};
use omr_ring::{Eval, Poly};
use products::Buffers;
use std::ops::Range;

/// Giant steps whose diagonals are held together: the baby steps are read once for all of them.
const GIANTS_TOGETHER: usize = 4;

/// Times [`GIANTS_TOGETHER`] whose products are made in one reading of the baby steps when all
/// diagonals are kept: their memory is in use anyway.
const KEPT_TOGETHER: usize = 2;

/// Coefficients of a piece of the multiply-add: baby steps and diagonals of a piece lie together and
/// stay in the second-level cache.
const PIECE: usize = 128;

/// Words between the rows of a piece: rows a power of two apart would compete for cache lines.
const PAD: usize = 8;

/// Coefficients of a piece.
fn piece(params: &Params) -> usize {
    PIECE.min(params.ring.n())
}

/// Words of a piece of the diagonals of some giant steps.
fn tile_words(params: &Params, giants: usize) -> usize {
    giants * params.spec().baby * (piece(params) + PAD)
}

/// Giant steps whose sums are made in one reading of the baby steps.
fn giants_at_once(kept: bool) -> usize {
    GIANTS_TOGETHER * if kept { KEPT_TOGETHER } else { 1 }
}

/// Buffers that the transform holds beside the baby steps, of so many words each. `kept`: where diagonals come from a
/// cache.
pub(super) fn buffers(params: &Params, threads: usize, kept: bool) -> Vec<usize> {
    // Sums of the giant steps, and those so far.
    let sums = 2 * params.circuit().coordinates * (giants_at_once(kept) + 1);
    let mut lengths = vec![poly_words(params, 0); sums];
    lengths.extend(vec![matrix::kept_words(params, GIANTS_TOGETHER); threads]);
    lengths
}

/// Buffers that its steps work in one after another beside [`buffers`]: coefficients of diagonals, turned sums, and
/// results with what is added to them.
pub(super) fn buffers_of_steps(params: &Params) -> [Vec<usize>; 3] {
    let coordinates = params.circuit().coordinates;
    let basis = params.chain.basis(0);
    [
        vec![matrix::coefficient_words(params); GIANTS_TOGETHER],
        params.giant_shape.buffers(&params.ring, basis, coordinates),
        vec![poly_words(params, 1); 2 * coordinates + 1],
    ]
}

/// Words of a polynomial of a level.
fn poly_words(params: &Params, level: usize) -> usize {
    Poly::<Eval>::words(params.ring.n(), params.chain.basis(level))
}

/// Giant steps whose diagonals are held together, in the order in which they are worked on: Horner,
/// the highest giant step is turned most often.
fn groups(params: &Params) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
    let giants = params.spec().clue.n / params.spec().baby;
    let highs = (1..=giants).rev().step_by(GIANTS_TOGETHER);
    highs.map(|high| high.saturating_sub(GIANTS_TOGETHER)..high)
}

/// `b - A s`, and `b - A s - <h, w>` for bound clues, for all coordinates, at level 1.
pub(crate) fn transform(
    ev: &Evaluator,
    params: &Params,
    key: &DetectionKey,
    steps: &BabySteps,
    matrix: &Matrix,
    progress: &dyn Progress,
) -> Result<Vec<Ciphertext>, DetectorError> {
    let giants = params.spec().clue.n / params.spec().baby;
    progress.stage("affine transform", giants as u64);
    let mut sums: Vec<Ciphertext> = Vec::new();
    // One buffer a thread, kept over all limbs and giant steps: fresh pages are dear.
    let threads = 0..rayon::current_num_threads();
    let mut buffers: Vec<Option<Buffers>> = threads.map(|_| None).collect();
    let groups: Vec<Range<usize>> = groups(params).collect();
    let together = if matrix.kept.is_complete() {
        KEPT_TOGETHER
    } else {
        1
    };
    let offset = Offset::new(ev, params, key, &matrix.coordinates.rows);
    let mut giant = giants;
    for groups in groups.chunks(together) {
        let products = products::of_groups(params, steps, matrix, groups, &mut buffers);
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
        .zip(&matrix.coordinates.b)
        .map(|(sum, b)| {
            let mut sum = ev.at_level(&sum, 1)?;
            ev.neg_assign(&mut sum);
            ev.add_plain_assign(&mut sum, &params.plain.encode(b));
            Ok(sum)
        })
        .collect()
}
