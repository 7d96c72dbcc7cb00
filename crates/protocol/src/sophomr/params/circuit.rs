//! The shape of a detector's circuit, from clues to the pertinency vector.

use super::{ParamsSpec, chain};
use crate::params::{ParamsError, dimension};

/// All of a circuit that keys and the modulus chain depend on, beside the rings of a [`ParamsSpec`].
///
/// [`Circuit::sophomr`] is SophOMR's. A scheme with another circuit on the same rings states its own and makes its
/// parameters by [`Params::with_circuit`](super::Params::with_circuit).
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    /// The name that clues are posted under.
    pub clue_name: &'static str,
    /// Coordinates of a clue that are looked at.
    pub coordinates: usize,
    /// Clue secrets: one of a ring for all coordinates, or one vector for each.
    pub secrets: usize,
    /// The residue b, in every coordinate, of a slot without a clue: with `a = 0` it is impertinent.
    pub nobody: u32,
    /// Bits that each level below the affine transform drops, in their order.
    pub drops: Vec<f64>,
    /// Fewest coefficients that detection keys merge into one ciphertext, or split it into: a power of two.
    pub least_width: usize,
}

impl Circuit {
    /// SophOMR's circuit: two coordinates of one secret, a window polynomial, a norm and a Fermat power.
    ///
    /// Errors: dimensions that do not fit; `Ring` where p is no modulus.
    pub fn sophomr(spec: &ParamsSpec) -> Result<Self, ParamsError> {
        spec.check()?;
        let circuit = Self {
            clue_name: spec.name,
            coordinates: ParamsSpec::COORDINATES,
            secrets: 1,
            nobody: (spec.clue.modulus() / 2) as u32,
            drops: chain::window_drops(spec)?,
            least_width: omr_compress::MIN_WIDTH,
        };
        circuit.check(spec)?;
        Ok(circuit)
    }

    pub(super) fn check(&self, spec: &ParamsSpec) -> Result<(), ParamsError> {
        let found = spec.clue.secrets()[0].coordinates.len();
        let expected = "as many clue coordinates as are looked at";
        dimension(found >= self.coordinates, expected, found)
    }

    /// Rotations of the secrets that the affine transform holds: coordinates of one secret are a step apart.
    pub fn baby_steps(&self, spec: &ParamsSpec) -> usize {
        spec.baby + self.coordinates / self.secrets - 1
    }

    /// Levels of merging that any digest may need. Oblivious expansion goes the same way back.
    pub fn merge_levels(&self, spec: &ParamsSpec) -> std::ops::RangeInclusive<u32> {
        omr_compress::merge_levels(spec.small_n, self.least_width)
    }
}
