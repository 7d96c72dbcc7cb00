//! What senders and recipients need to know of a set; the engines' tables stay out of it.

use super::{ParamsError, SetSpec};
use omr_ring::{Kernels, Modulus, NarrowGaussian, Ring};
use omr_rlwe::noise::convolve;
use std::ops::RangeInclusive;

/// The recipient's clue secret.
#[derive(Clone, Debug, PartialEq)]
pub enum SecretSpec {
    /// Ternary, of this weight.
    Ternary {
        /// Non-zero coefficients.
        weight: usize,
    },
    /// Binary, in blocks with at most one 1 each: serves blind rotations too.
    Blocks {
        /// Coefficients of a block.
        block: usize,
        /// Ones.
        weight: RangeInclusive<usize>,
    },
}

impl SecretSpec {
    /// The largest weight.
    pub fn most(&self) -> usize {
        match self {
            Self::Ternary { weight } => *weight,
            Self::Blocks { weight, .. } => *weight.end(),
        }
    }
}

/// Private signaling (SophOMR, section 3.1): ring LWE over `Z_q[X]/(X^n + 1)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClueSpec {
    /// Ring dimension.
    pub n: usize,
    /// Modulus.
    pub q: u64,
    /// The recipient's secret.
    pub secret: SecretSpec,
    /// Weight of the sender's ternary randomness.
    pub weight: usize,
    /// Parameter of the discrete Gaussian errors (0.5: true standard deviation 0.4637).
    pub sigma: f64,
    /// Coordinates of b in a clue.
    pub coordinates: usize,
    /// Clues are rounded from q to this modulus; q itself where they are not.
    pub rounded: u64,
}

impl ClueSpec {
    /// The distribution of a coordinate's noise before rounding, its middle at 0: a sum of as many
    /// independent errors as secret and randomness have non-zero coefficients, and one more.
    pub fn noise(&self) -> Vec<f64> {
        let gaussian = NarrowGaussian::new(self.sigma);
        let half = gaussian.probabilities();
        let error: Vec<f64> = half.iter().skip(1).rev().chain(half).copied().collect();
        let errors = self.weight + self.secret.most() + 1;
        (0..errors).fold(vec![1.0], |sum, _| convolve(&sum, &error))
    }

    /// A residue modulo q as it is posted: rounded to the modulus of clues. Time: constant, as what rounding takes
    /// off must not show.
    ///
    /// Range: `q` below 2^21 where clues are rounded, as in every set.
    pub fn posted(&self, x: u64) -> u32 {
        if self.rounded == self.q {
            return x as u32;
        }
        // The quotient by q, exact for numbers below 2^42: hardware divides in a time that depends on them.
        let reciprocal = u64::MAX / self.q + 1;
        let scaled = x * self.rounded + self.q / 2;
        let rounded = ((u128::from(scaled) * u128::from(reciprocal)) >> 64) as u64;
        // q rounds to the modulus, which is 0: below it the difference is negative.
        let below = (rounded.wrapping_sub(self.rounded) as i64 >> 63) as u64;
        (rounded & below) as u32
    }

    /// The standard deviation of that noise, as a fraction of q.
    pub fn noise_sd(&self) -> f64 {
        let noise = self.noise();
        let middle = (noise.len() / 2) as f64;
        let square = |(i, p): (usize, &f64)| (i as f64 - middle).powi(2) * p;
        noise.iter().enumerate().map(square).sum::<f64>().sqrt() / self.q as f64
    }
}

/// A set's name and clues, ready to use.
pub struct ClueParams {
    name: &'static str,
    spec: ClueSpec,
    /// The ring of clues.
    pub ring: Ring,
}

impl ClueParams {
    /// Those of the published set of this name.
    ///
    /// Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Self, ParamsError> {
        let set = SetSpec::named(name)?;
        Self::new(set.name, set.clue, Kernels::detect())
    }

    /// Those of a specification.
    ///
    /// Errors: `Ring` where q is no prime that fits the dimension.
    pub fn new(
        name: &'static str,
        spec: ClueSpec,
        kernels: &'static Kernels,
    ) -> Result<Self, ParamsError> {
        let ring = Ring::with_kernels(spec.n, &[spec.q], kernels)?;
        Ok(Self { name, spec, ring })
    }

    /// The set's versioned name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The specification.
    pub fn spec(&self) -> &ClueSpec {
        &self.spec
    }

    /// The modulus of the ring LWE samples.
    pub fn q(&self) -> &Modulus {
        self.ring.modulus(0)
    }

    /// Four bytes that stand for the set in clues.
    pub fn tag(&self) -> [u8; 4] {
        let hash = blake3::derive_key("omr params tag v1", self.name.as_bytes());
        [hash[0], hash[1], hash[2], hash[3]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_division() {
        for set in SetSpec::published() {
            let spec = set.clue;
            let plain = |x| (x * spec.rounded + spec.q / 2) / spec.q % spec.rounded;
            assert!(spec.rounded == spec.q || spec.q < 1 << 21, "{}", set.name);
            for x in 0..spec.q {
                assert_eq!(u64::from(spec.posted(x)), plain(x), "{} {x}", set.name);
            }
        }
    }
}
