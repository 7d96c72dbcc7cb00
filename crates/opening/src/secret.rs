//! The secrets of packing and of opening, and the slots in which the latter is encrypted.

use crate::{ModuleSecret, Opening};
use omr_rlwe::Secret;
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// A secret that clues are packed under: uniform ternary.
pub fn packing_secret(opening: &Opening, rng: &mut impl CryptoRng) -> ModuleSecret {
    let spec = opening.spec();
    let part = |_| Secret::uniform_ternary(rng, spec.n);
    ModuleSecret((0..spec.packing_rank).map(part).collect())
}

/// A secret that clues are opened from: as many coefficients +1 or -1 in each of its polynomials.
pub fn sparse_secret(opening: &Opening, rng: &mut impl CryptoRng) -> ModuleSecret {
    let spec = opening.spec();
    let part = |_| Secret::fixed_weight(rng, spec.n, spec.weight, f64::INFINITY);
    ModuleSecret((0..spec.rank).map(part).collect())
}

/// The slots that [`crate::Turned`] takes encrypted.
///
/// Every `window`-th column holds the same part of the secret, slot (i, u) its value at `omega^(2 i + 1)`, all turned
/// to the right by one less than the window: turns to the left then reach as far to either side. Time: constant.
pub fn secret_slots(opening: &Opening, secret: &ModuleSecret) -> Vec<u32> {
    let mut values: Vec<Vec<u64>> = (0..opening.window())
        .map(|part| {
            let (polynomial, residue) = (part / opening.of_block(), part % opening.of_block());
            let coeffs = secret.0[polynomial].coeffs();
            let own = coeffs.iter().skip(residue).step_by(opening.of_block());
            let mut own: Vec<u64> = own.map(|&s| opening.p().from_i64(s)).collect();
            let values = opening.values(&mut own);
            own.zeroize();
            values
        })
        .collect();
    let half = opening.slots() / 2;
    let slots = (0..opening.slots()).map(|slot| {
        let column = (slot % half + half - (opening.window() - 1)) % half;
        let (point, u) = (column / opening.columns(), column % opening.columns());
        values[u % opening.window()][point] as u32
    });
    let slots = slots.collect();
    values.iter_mut().for_each(Zeroize::zeroize);
    slots
}
