//! The range check: 1 where both coordinates lie in the window, else 0.

use crate::progress::check_stopped;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator, fermat_depth, fermat_power};
use omr_protocol::sophomr::{DetectionKey, Params};
use omr_ring::{Eval, Poly};
use rayon::prelude::*;

/// Polynomials that the range check of a coordinate takes beside those of the affine transform, as measured: both
/// coordinates are checked side by side, each with the powers of a block.
const POLYNOMIALS: usize = 27;

/// Buffers that the range check works in beside those of the affine transform, of so many words each, or longer ones
/// of `words`.
pub(super) fn buffers(params: &Params, words: usize) -> Vec<usize> {
    let poly = Poly::<Eval>::words(params.ring.n(), params.chain.basis(1));
    vec![poly.max(words); POLYNOMIALS * params.circuit().coordinates]
}

/// The pertinency vector from one or two coordinates of d.
///
/// With `g` zero exactly on the window, `N = g1^2 + g1 g2 + c g2^2` vanishes only where both do, because its
/// discriminant 1 - 4 c is no square; one Fermat power of N then serves two coordinates.
pub(crate) fn check(
    ev: &Evaluator,
    params: &Params,
    key: &DetectionKey,
    d: &[Ciphertext],
    progress: &dyn Progress,
) -> Result<Ciphertext, DetectorError> {
    let powers = fermat_depth(params.p().value());
    progress.stage("range check", (2 * d.len() - 1 + powers) as u64);
    // Side by side: one coordinate's threads need not wait at the other's steps.
    let inside: Vec<Ciphertext> = d
        .par_iter()
        .with_max_len(1)
        .map(|coordinate| {
            let inside = params.window.evaluate(ev, coordinate, &key.product);
            progress.advance(1);
            inside
        })
        .collect::<Result<_, _>>()?;
    let outside = norm(ev, params, key, &inside)?;
    progress.advance(inside.len() as u64 - 1);
    check_stopped(progress)?;
    let mut power = fermat_power(ev, &outside, &key.product, &mut || progress.advance(1))?;
    // 1 less the slots.
    ev.neg_assign(&mut power);
    ev.add_constant_assign(&mut power, 1);
    Ok(power)
}

/// Zero only where the values of a pair are, one level below; of one value, that value.
fn norm(
    ev: &Evaluator,
    params: &Params,
    key: &DetectionKey,
    inside: &[Ciphertext],
) -> Result<Ciphertext, DetectorError> {
    let level = inside[0].level() + 1;
    let [first, second] = inside else {
        return Ok(ev.at_level(&inside[0], level)?);
    };
    let mut sum = first.clone();
    ev.add_assign(&mut sum, second)?;
    let mut norm = ev.tensor(first, &sum)?;
    let mut other = ev.tensor(second, second)?;
    ev.mul_scalar_assign(&mut other, params.p().from_i64(params.norm_constant()));
    ev.add_assign(&mut norm, &other)?;
    Ok(ev.relinearise(&norm, &key.product, level)?)
}
