//! The range check: 1 if both coordinates are in the window, otherwise 0.

use crate::progress::check_stopped;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator, fermat_depth, fermat_power};
use omr_protocol::sophomr::{Params, ParamsSpec, Rings};
use omr_ring::{Eval, Poly};
use omr_rlwe::SwitchingKey;
use rayon::prelude::*;

/// Number of polynomials that the range check of a coordinate uses beside those of the distances, as measured. Both
/// coordinates are checked side by side, each with the powers of a block.
const POLYNOMIALS: usize = 27;

/// Returns the lengths in words of the buffers that the range check uses beside those of the distances. They have at
/// least `words` words.
pub(super) fn buffers(params: &Params, words: usize) -> Vec<usize> {
    let poly = Poly::<Eval>::words(params.ring.n(), params.chain.basis(1));
    vec![poly.max(words); POLYNOMIALS * ParamsSpec::COORDINATES]
}

/// Returns the pertinency vector, at the last level, from one or two coordinates of distances: 1 in the slots where all
/// coordinates are in the window, otherwise 0. `product` is the relinearisation key.
///
/// With `g` zero exactly on the window, `N = g1^2 + g1 g2 + c g2^2` is zero only if both are, because its discriminant
/// 1 - 4 c is no square; one Fermat power of N is then enough for two coordinates.
///
/// Errors: parameters that do not fit the circuit; `Stopped`.   Panics: without coordinates.
pub fn check(
    ev: &Evaluator,
    rings: &Rings,
    product: &SwitchingKey,
    d: &[Ciphertext],
    progress: &dyn Progress,
) -> Result<Ciphertext, DetectorError> {
    let powers = fermat_depth(rings.p().value());
    progress.stage("range check", (2 * d.len() - 1 + powers) as u64);
    // Side by side, so that threads of one coordinate need not wait at steps of the other.
    let inside: Vec<Ciphertext> = d
        .par_iter()
        .with_max_len(1)
        .map(|coordinate| {
            let inside = rings.window.evaluate(ev, coordinate, product);
            progress.advance(1);
            inside
        })
        .collect::<Result<_, _>>()?;
    let outside = norm(ev, rings, product, &inside)?;
    progress.advance(inside.len() as u64 - 1);
    check_stopped(progress)?;
    let mut power = fermat_power(ev, &outside, product, &mut || progress.advance(1))?;
    // 1 minus the slots.
    ev.neg_assign(&mut power);
    ev.add_constant_assign(&mut power, 1);
    Ok(power)
}

/// Returns values, one level below, that are zero only where both values of a pair are; for one value, returns that
/// value.
fn norm(
    ev: &Evaluator,
    rings: &Rings,
    product: &SwitchingKey,
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
    ev.mul_scalar_assign(&mut other, rings.p().from_i64(rings.norm_constant()));
    ev.add_assign(&mut norm, &other)?;
    Ok(ev.relinearise(&norm, product, level)?)
}
