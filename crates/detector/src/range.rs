//! The range check: 1 where every coordinate lies in the window, else 0.

use crate::progress::go_on;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator, fermat_depth, fermat_power};
use omr_protocol::{DetectionKey, Params};
use rayon::prelude::*;

/// The pertinency vector from both coordinates of d.
///
/// With `g` zero exactly on the window, `N = g1^2 + g1 g2 + c g2^2` vanishes only where both do,
/// because its discriminant 1 - 4 c is no square; one Fermat power of N then serves both
/// coordinates.
pub(crate) fn check(
    ev: &Evaluator,
    params: &Params,
    key: &DetectionKey,
    d: &[Ciphertext],
    progress: &dyn Progress,
) -> Result<Ciphertext, DetectorError> {
    let powers = fermat_depth(params.p().value()) as u64;
    progress.stage("range check", 3 + powers);
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
    let mut sum = inside[0].clone();
    ev.add_assign(&mut sum, &inside[1])?;
    let mut norm = ev.tensor(&inside[0], &sum)?;
    let mut other = ev.tensor(&inside[1], &inside[1])?;
    ev.mul_scalar_assign(&mut other, params.p().from_i64(params.norm_constant()));
    ev.add_assign(&mut norm, &other)?;
    let norm = ev.relinearise(&norm, &key.product, inside[0].level() + 1)?;
    progress.advance(1);
    go_on(progress)?;
    let mut pertinent = fermat_power(ev, &norm, &key.product, &mut || progress.advance(1))?;
    ev.neg_assign(&mut pertinent);
    ev.add_constant_assign(&mut pertinent, 1);
    Ok(pertinent)
}
