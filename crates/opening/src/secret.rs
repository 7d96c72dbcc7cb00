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
/// Slot (i, u) holds the value of the column's part of the secret at `omega^(2 i + 1)`. Time: constant.
pub fn secret_slots(opening: &Opening, secret: &ModuleSecret) -> Vec<u32> {
    let mut values: Vec<Vec<u64>> = (0..opening.window())
        .map(|part| {
            let (polynomial, residue) = (part / opening.of_block(), part % opening.of_block());
            let coeffs = secret.0[polynomial].coeffs();
            let mut own: Vec<u64> = coeffs
                .iter()
                .skip(residue)
                .step_by(opening.of_block())
                .map(|&s| opening.p().from_i64(s))
                .collect();
            let values = opening.values(&mut own);
            own.zeroize();
            values
        })
        .collect();
    let (half, columns, layout) = (opening.slots() / 2, opening.columns(), opening.layout());
    let slots = (0..opening.slots())
        .map(|slot| {
            let (point, u) = (slot % half / columns, slot % columns);
            layout[u].map_or(0, |part| values[part][point] as u32)
        })
        .collect();
    values.iter_mut().for_each(Zeroize::zeroize);
    slots
}
