//! The part of a parameter set that concerns clues; it needs no tables of the engines.

use super::{ParamsError, SetSpec};
use omr_ring::{Kernels, Modulus, NarrowGaussian, Ring};
use omr_rlwe::noise::convolve;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// The distribution of a recipient's clue secret.
#[derive(Clone, Debug, PartialEq)]
pub enum SecretSpec {
    /// Ternary of a fixed weight.
    Ternary {
        /// Non-zero coefficients.
        weight: usize,
    },
    /// Binary, in blocks with at most one 1 each, as blind rotations need it.
    Blocks {
        /// Coefficients of a block.
        block: usize,
        /// The number of ones.
        weight: RangeInclusive<usize>,
    },
}

impl SecretSpec {
    /// Returns the largest weight.
    pub fn most(&self) -> usize {
        match self {
            Self::Ternary { weight } => *weight,
            Self::Blocks { weight, .. } => *weight.end(),
        }
    }
}

/// A second secret under the same alpha, with its own beta and its own coordinates of b. Each engine has the secret
/// that suits it best, and clues contain `a` and their randomness only once.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondSecret {
    /// The secret.
    pub secret: SecretSpec,
    /// Parameter of the errors of its beta.
    pub sigma: f64,
    /// Number of coordinates of b that belong to the secret: the last ones.
    pub coordinates: usize,
}

/// One of a recipient's clue secrets, with its coordinates in clues.
#[derive(Clone, Debug, PartialEq)]
pub struct ClueSecret<'a> {
    /// The secret.
    pub spec: &'a SecretSpec,
    /// Parameter of the errors of its beta.
    pub sigma: f64,
    /// Range of the secret's coordinates of b, which contain the first coefficients of `beta x + e2`.
    pub coordinates: Range<usize>,
}

/// Specification of clues (private signaling; SophOMR, section 3.1): ring LWE over `Z_q[X]/(X^n + 1)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClueSpec {
    /// Ring dimension.
    pub n: usize,
    /// Modulus.
    pub q: u64,
    /// The recipient's secret; with two secrets, SophOMR's.
    pub secret: SecretSpec,
    /// InstantOMR's secret, if there are two.
    pub second: Option<SecondSecret>,
    /// Weight of the sender's ternary randomness.
    pub weight: usize,
    /// Parameter of the discrete Gaussian errors (0.5: true standard deviation 0.4637).
    pub sigma: f64,
    /// Number of coordinates of b in a clue, over all secrets.
    pub coordinates: usize,
    /// The form in which residues are posted.
    pub posting: Posting,
}

/// The form in which clues contain residues modulo q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posting {
    /// All bits.
    Whole,
    /// Rounded to this modulus.
    Rounded(u64),
    /// Without the lowest bit. Rounding it off is an error that hides as much as a Gaussian one, so senders draw no
    /// other errors. A posted residue stands for the middle of two residues, so detectors compute modulo 2 q.
    Halved,
}

impl ClueSpec {
    /// Returns the secrets, in the order of their betas and coordinates.
    pub fn secrets(&self) -> Vec<ClueSecret<'_>> {
        let own = self.second.as_ref().map_or(0, |own| own.coordinates);
        let first = self.coordinates.saturating_sub(own);
        let mut secrets = vec![ClueSecret {
            spec: &self.secret,
            sigma: self.sigma,
            coordinates: 0..first,
        }];
        secrets.extend(self.second.as_ref().map(|second| ClueSecret {
            spec: &second.secret,
            sigma: second.sigma,
            coordinates: first..self.coordinates,
        }));
        secrets
    }

    /// Returns the secret that InstantOMR uses.
    pub fn instant(&self) -> ClueSecret<'_> {
        self.secrets().pop().expect("one secret at least")
    }

    /// Returns the number of residues of an address's betas.
    pub fn beta_len(&self) -> usize {
        self.n * self.secrets().len()
    }

    /// Returns the distribution of the noise of a coordinate of the first secret before rounding, with 0 in the middle:
    /// a sum of independent errors, one for each non-zero coefficient of secret and randomness, and one more.
    pub fn noise(&self) -> Vec<f64> {
        let gaussian = NarrowGaussian::new(self.sigma);
        let half = gaussian.probabilities();
        let error: Vec<f64> = half.iter().skip(1).rev().chain(half).copied().collect();
        let errors = self.weight + self.secret.most() + 1;
        (0..errors).fold(vec![1.0], |sum, _| convolve(&sum, &error))
    }

    /// Returns whether senders add errors. If they do not, posting without the lowest bit is the error.
    pub fn draws_errors(&self) -> bool {
        self.posting != Posting::Halved
    }

    /// Returns the modulus of posted residues.
    pub fn posted_modulus(&self) -> u64 {
        match self.posting {
            Posting::Whole => self.q,
            Posting::Rounded(modulus) => modulus,
            Posting::Halved => self.q.div_ceil(2),
        }
    }

    /// Returns the modulus that detectors compute with.
    pub fn modulus(&self) -> u64 {
        match self.posting {
            Posting::Halved => 2 * self.q,
            _ => self.posted_modulus(),
        }
    }

    /// Returns a residue modulo q as it is posted.
    ///
    /// Range: `q` below 2^21 if clues are rounded, as in every set.
    /// Time:  constant, as the removed part must not show.
    pub fn posted(&self, x: u64) -> u32 {
        match self.posting {
            Posting::Whole => x as u32,
            Posting::Rounded(modulus) => rounded(x, self.q, modulus),
            Posting::Halved => (x >> 1) as u32,
        }
    }

    /// Returns the value, modulo [`ClueSpec::modulus`], that a posted residue stands for: a multiple of it plus a constant.
    pub fn stands_for(&self, posted: u32) -> u32 {
        match self.posting {
            Posting::Halved => 4 * posted + 1,
            _ => posted,
        }
    }

    /// Returns the distribution of the sender's error in a residue, in halves of a unit modulo q: the weights of 0, 1,
    /// 2, .. (equal for negative values).
    pub fn sender_errors(&self) -> Vec<f64> {
        if !self.draws_errors() {
            return vec![0.0, 0.5];
        }
        let gaussian = NarrowGaussian::new(self.sigma);
        let whole = gaussian.probabilities().iter();
        whole.flat_map(|&weight| [weight, 0.0]).collect()
    }

    /// Returns the standard deviation of the noise of a coordinate of a secret, as a fraction of q. Errors of beta are
    /// multiplied by the randomness, the sender's errors by the secret.
    pub fn noise_sd(&self, secret: &ClueSecret) -> f64 {
        let variance = |sigma| NarrowGaussian::new(sigma).sd().powi(2);
        let of_sender: f64 = (0u32..)
            .zip(self.sender_errors())
            .map(|(x, weight)| f64::from(x * x) * weight / 2.0)
            .sum();
        let own = (secret.spec.most() + 1) as f64 * of_sender;
        let of_beta = self.weight as f64 * variance(secret.sigma);
        (own + of_beta).sqrt() / self.q as f64
    }
}

/// Returns a residue modulo q rounded to a smaller modulus.
///
/// Time: constant.
fn rounded(x: u64, q: u64, modulus: u64) -> u32 {
    // This is the quotient by q, exact for numbers below 2^42. The time of hardware division would depend on them.
    let reciprocal = u64::MAX / q + 1;
    let scaled = x * modulus + q / 2;
    let rounded = ((u128::from(scaled) * u128::from(reciprocal)) >> 64) as u64;
    // q rounds to the modulus, which is 0; for smaller results the difference is negative.
    let below = (rounded.wrapping_sub(modulus) as i64 >> 63) as u64;
    (rounded & below) as u32
}

/// A set's name and its clues, with their ring.
pub struct ClueParams {
    name: &'static str,
    spec: ClueSpec,
    /// The ring of clues.
    pub ring: Ring,
}

impl ClueParams {
    /// Returns the clue parameters of the published set of this name.
    ///
    /// Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Arc<Self>, ParamsError> {
        let set = SetSpec::named(name)?;
        Ok(Arc::new(Self::new(set.name, set.clue, Kernels::detect())?))
    }

    /// Makes the clue parameters of a specification.
    ///
    /// Errors: `Ring` if q is no prime that fits the dimension.
    pub fn new(
        name: &'static str,
        spec: ClueSpec,
        kernels: &'static Kernels,
    ) -> Result<Self, ParamsError> {
        let ring = Ring::with_kernels(spec.n, &[spec.q], kernels)?;
        Ok(Self { name, spec, ring })
    }

    /// Returns the set's versioned name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the specification.
    pub fn spec(&self) -> &ClueSpec {
        &self.spec
    }

    /// Returns the modulus of the ring LWE samples.
    pub fn q(&self) -> &Modulus {
        self.ring.modulus(0)
    }

    /// Returns the four bytes that identify the set in clues.
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
            let Posting::Rounded(modulus) = set.clue.posting else {
                continue;
            };
            let q = set.clue.q;
            assert!(q < 1 << 21, "{}", set.name);
            let plain = |x| (x * modulus + q / 2) / q % modulus;
            for x in 0..q {
                assert_eq!(u64::from(set.clue.posted(x)), plain(x), "{} {x}", set.name);
            }
        }
    }

    #[test]
    fn halved_residues_stand_for_the_middle_of_two() {
        let halved = |set: &SetSpec| set.clue.posting == Posting::Halved;
        for set in SetSpec::published().into_iter().filter(halved) {
            let (q, spec) = (set.clue.q, set.clue);
            for x in 0..q {
                let posted = spec.posted(x);
                assert!(u64::from(posted) < spec.posted_modulus());
                let off = i64::from(spec.stands_for(posted)) - 2 * x as i64;
                assert_eq!(off.abs(), 1, "half a residue: {} {x}", set.name);
            }
            assert!(u64::from(spec.stands_for(spec.posted(q - 1))) < spec.modulus());
        }
    }
}
