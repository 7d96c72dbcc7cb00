//! Predicted noise: of the phases, in units of p, and of the slots that hold them.

use crate::transform::{self, scalar};
use crate::{ClueShape, OpeningError, OpeningSpec};
use omr_ring::NarrowGaussian;
use omr_rlwe::noise::{ERROR_SD, NoiseModel, add, sum};

/// The noise that packing and narrowing add to a phase, in units of p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClueNoise {
    /// Standard deviation of the errors of both keys and of the remainders that digits leave out. Each is a sum of many
    /// terms and thus normal.
    pub normal: f64,
    /// Number of roundings, each uniform over one unit: those of masks modulo p, multiplied by the sparse secret, and that
    /// of the body.
    pub roundings: usize,
}

impl ClueNoise {
    /// Three normal parts: errors of the packing key, one for each residue of the block's clues; errors of the
    /// narrowing key, one for each digit of a mask; what the digits leave out of the mask. `norm`: mean square of the
    /// block's residues, in that of uniform ones.
    pub fn new(spec: &OpeningSpec, clue: &ClueShape, p: u64, norm: f64) -> Self {
        let (q1, q2) = (f64::from(spec.packing_bits).exp2(), spec.narrow_bits.exp2());
        let (p, n) = (p as f64, spec.n as f64);
        let uniform = |width: f64| width / 12f64.sqrt();
        let residues = (clue.n as f64 * n * norm).sqrt() * uniform(clue.q as f64);
        let packing = residues * NarrowGaussian::new(spec.packing_sigma).sd() * p / q1;
        let masks = spec.packing_rank as f64 * n;
        let digits = (masks * f64::from(spec.gadget.digits)).sqrt();
        // Balanced digits are uniform over all values of their length.
        let digit = uniform(f64::from(1u32 << spec.gadget.bits));
        let key = digits * digit * ERROR_SD * p / q2;
        // A uniform ternary secret has two of three coefficients.
        let left = q2 / f64::from(spec.gadget.bits * spec.gadget.digits).exp2();
        let lost = uniform(left.max(1.0)) * (masks * 2.0 / 3.0).sqrt() * p / q2;
        Self {
            normal: packing.hypot(key).hypot(lost),
            roundings: 1 + spec.rank * spec.weight,
        }
    }

    /// Standard deviation of all of it.
    pub fn sd(&self) -> f64 {
        self.normal.hypot((self.roundings as f64 / 12.0).sqrt())
    }
}

/// log2 of the root mean square noise of the opened slots at the embeddings: products with a plaintext, a scalar and
/// another plaintext after the turns of the secret. `turn`: what a turn adds.
///
/// The plaintexts of the first have coefficients of full size, also where few of their slots are not 0: one for each
/// turn of the secret, of what is met in a row, and one of what is met beyond its end.
///
/// Errors: `Ring` where the ring of slots has no transform of that many points.
pub fn slot_noise(
    spec: &OpeningSpec,
    model: &NoiseModel,
    turn: f64,
) -> Result<[f64; 2], OpeningError> {
    let table = transform::table(model.p, spec.points)?;
    let turns = spec.turns(model.n);
    let secret = add(model.fresh(), sum(turn, turns / 2));
    let values = add(sum(model.times_plain(secret), 2 * turns - 1), turn);
    let babies = add(values, sum(turn, spec.baby / 2));
    // There are too few scalars to count as uniform modulo p.
    let squares = (1..=spec.points).map(|turn| (scalar(&table, turn) as f64).powi(2));
    let scaled = babies + squares.sum::<f64>().log2() / 2.0;
    let giants = sum(turn, spec.giants() - 1);
    Ok([values, add(model.times_plain(scaled), giants)])
}
