//! The ring of digests, which is small and has one mask for several ciphertexts.

use super::Params;
use crate::ParamsError;
use crate::params::dimension;
use crate::sophomr::{BODY_BITS, MASK_BITS};
use omr_ring::{Kernels, Ring, primes_below};
use omr_rlwe::{SharedShape, rounding_noise};

/// Specification of the ring to which packed ciphertexts are switched before they are rounded.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalRingSpec {
    /// Dimension.
    pub n: usize,
    /// Number of secrets, and thus of bodies, that share a mask.
    pub bodies: usize,
    /// Bits of the modulus, which is the largest prime below 2 to this power.
    pub modulus_bits: u32,
    /// Digits of a mask in the switching key.
    pub digits: usize,
    /// Bits of a digit.
    pub digit_bits: u32,
}

impl FinalRingSpec {
    pub(super) fn check(&self, small_n: usize) -> Result<(), ParamsError> {
        dimension(
            self.n.is_power_of_two() && (32..=small_n).contains(&self.n),
            "a final dimension that is a power of two from 32 up to the small dimension",
            self.n,
        )?;
        dimension(
            self.bodies > 0 && self.bodies.is_multiple_of(small_n / self.n),
            "bodies for whole ciphertexts of the small ring",
            self.bodies,
        )?;
        let (modulus, digit) = (self.modulus_bits as usize, self.digit_bits as usize);
        // The recipient multiplies a mask by a ternary secret in exact arithmetic.
        let product = (MASK_BITS + self.n.ilog2() + 1) as usize;
        dimension(
            (product + 1..=50).contains(&modulus),
            "a final modulus that holds a mask times a secret, of at most 50 bits",
            modulus,
        )?;
        dimension(
            digit > 0 && self.digits > 0 && self.digits.saturating_mul(digit) <= 48,
            "digits of at most 48 bits in all",
            self.digits,
        )
    }

    pub(super) fn shape(&self, small_n: usize) -> SharedShape {
        let components = small_n / self.n;
        SharedShape {
            components,
            parts: self.bodies / components,
            digits: self.digits,
            digit_bits: self.digit_bits,
        }
    }

    pub(super) fn ring(&self, kernels: &'static Kernels) -> Result<Ring, ParamsError> {
        let primes = primes_below(self.modulus_bits, self.n, 1, &[])?;
        Ok(Ring::with_kernels(self.n, &primes, kernels)?)
    }
}

/// Errors that the last steps add to a coefficient of a digest, in units of a symbol's step. An error of half a step
/// makes the symbol wrong.
#[derive(Clone, Copy, Debug)]
pub struct FinalNoise {
    /// Standard deviation from rounding the small ring's mask to the key's digits.
    pub decomposed: f64,
    /// Standard deviation from the errors of the switching key.
    pub key: f64,
    /// Standard deviation from rounding the mask.
    pub mask: f64,
    /// Largest value from rounding the body.
    pub body: f64,
}

impl FinalNoise {
    /// Computes the noise of a set. Roundings are taken as uniform and independent, secrets as uniform ternary.
    pub fn new(params: &Params) -> Self {
        let (p, n) = (params.p().value() as f64, params.final_ring.n());
        let shape = &params.final_shape;
        Self {
            decomposed: p * shape.mask_noise(n),
            key: p * shape.key_noise(n, params.final_ring.modulus(0).value()),
            mask: p * rounding_noise(n, MASK_BITS),
            body: p / f64::from(BODY_BITS + 1).exp2(),
        }
    }

    /// Returns the standard deviation of the unbounded errors together with `before`, that of the packed ciphertext.
    pub fn sd(&self, before: f64) -> f64 {
        let parts = [self.decomposed, self.key, self.mask, before];
        parts.iter().map(|sd| sd * sd).sum::<f64>().sqrt()
    }

    /// Returns log2 of a bound on the probability that any of `count` coefficients is wrong: Gaussian tails beyond half
    /// a step less the largest error of the body's rounding.
    pub fn failure_log2(&self, before: f64, count: usize) -> f64 {
        let deviations = (0.5 - self.body) / self.sd(before);
        (count as f64).log2() + 1.0 - deviations * deviations / 2.0 * std::f64::consts::LOG2_E
    }
}
