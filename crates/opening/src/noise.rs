//! Predicted noise: of the phases, in units of p, and of the slots that hold them.

use crate::Opening;
use omr_ring::NarrowGaussian;
use omr_rlwe::noise::{ERROR_SD, NoiseModel, add, sum};

/// Standard deviation that packing and narrowing add to a phase, in units of p, for clues of uniform residues.
///
/// Three parts: errors of the packing key, one for each residue of the block's clues; errors of the narrowing key,
/// one for each digit of a mask, and what the digits leave out of the mask; the rounding of masks modulo p, which meets
/// the sparse secret.
pub fn clue_noise(opening: &Opening) -> f64 {
    let spec = opening.spec();
    let p = opening.p().value() as f64;
    let (q1, q2) = (
        opening.packing.modulus(0).value() as f64,
        opening.narrow.modulus(0).value() as f64,
    );
    let n = spec.n as f64;
    let uniform = |width: f64| width / 12f64.sqrt();
    let residues = (spec.clue_n as f64 * n).sqrt() * uniform(spec.clue_q as f64);
    let packing = residues * NarrowGaussian::new(spec.packing_sigma).sd() * p / q1;
    let masks = spec.packing_rank as f64 * n;
    let digits = (masks * f64::from(spec.gadget.digits)).sqrt();
    // Balanced digits are uniform over all values of so many bits.
    let digit = uniform(f64::from(1u32 << spec.gadget.bits));
    let key = digits * digit * ERROR_SD * p / q2;
    // A uniform ternary secret has two of three coefficients.
    let left = q2 / f64::from(spec.gadget.bits * spec.gadget.digits).exp2();
    let lost = uniform(left.max(1.0)) * (masks * 2.0 / 3.0).sqrt() * p / q2;
    let weight = (spec.rank * spec.weight) as f64;
    let rounded = uniform((1.0 + weight).sqrt());
    [packing, key, lost, rounded]
        .iter()
        .map(|x| x * x)
        .sum::<f64>()
        .sqrt()
}

/// log2 of the root mean square noise of the opened slots at the embeddings: two products with plaintexts after the
/// turns of the secret. `turn`: what a turn adds.
///
/// The plaintexts of the first are uniform; one in `window` of the factors of a column is met by each turn.
pub fn slot_noise(opening: &Opening, model: &NoiseModel, turn: f64) -> [f64; 2] {
    let window = opening.window();
    // As many turns before the middle of those that meet most slots.
    let before = window + window / 2;
    let secret = add(model.fresh(), sum(turn, before));
    let values = sum(model.times_plain(secret), window);
    let babies = add(values, sum(turn, opening.spec().baby / 2));
    let coefficients = sum(model.times_plain(babies), opening.spec().points);
    let giants = sum(turn, opening.giants() - 1);
    [values, add(coefficients, giants)]
}
