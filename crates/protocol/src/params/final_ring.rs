//! The ring of digests: small, with one mask for several ciphertexts.

use super::{ParamsError, ParamsSpec};
use crate::digest::{BODY_BITS, MASK_BITS};
use omr_ring::{Kernels, Ring, primes_below};
use omr_rlwe::SharedShape;
use omr_rlwe::noise::ERROR_SD;

/// The ring that packed ciphertexts are switched to before they are rounded.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalRingSpec {
    /// Dimension.
    pub n: usize,
    /// Secrets, and so bodies, that share a mask.
    pub bodies: usize,
    /// The modulus is the largest prime below 2 to this.
    pub modulus_bits: u32,
    /// Digits of a mask in the switching key.
    pub digits: usize,
    /// Bits of a digit.
    pub digit_bits: u32,
}

impl FinalRingSpec {
    pub(super) fn check(&self, small_n: usize) -> Result<(), ParamsError> {
        let dimension = |ok: bool, expected, found| match ok {
            true => Ok(()),
            false => Err(ParamsError::Dimension { expected, found }),
        };
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
        // The recipient multiplies a mask by a ternary secret and reads it exactly.
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

/// What the last steps add to a coefficient of a digest, in units of a symbol's step: at half a
/// step the symbol is wrong.
#[derive(Clone, Copy, Debug)]
pub struct FinalNoise {
    /// Standard deviation from rounding the small ring's mask for the gadget.
    pub decomposed: f64,
    /// Standard deviation from the errors of the switching key.
    pub key: f64,
    /// Standard deviation from rounding the mask.
    pub mask: f64,
    /// Largest value from rounding the body.
    pub body: f64,
}

impl FinalNoise {
    /// The noise of a set whose small modulus is exact. Every rounding is uniform and independent;
    /// secrets are uniform ternary.
    pub fn new(spec: &ParamsSpec) -> Self {
        let (p, last) = (spec.p as f64, &spec.final_ring);
        let power = |bits: u32| f64::from(bits).exp2();
        // Uniform of width 1 times a secret of n coefficients.
        let rounded = |n: usize| (n as f64 * (2.0 / 3.0) / 12.0).sqrt();
        let terms = (last.bodies * last.digits * last.n) as f64;
        let digit = power(last.digit_bits) / 12f64.sqrt();
        Self {
            decomposed: p * rounded(spec.small_n) / power(last.digits as u32 * last.digit_bits),
            key: p * terms.sqrt() * digit * ERROR_SD / power(last.modulus_bits),
            mask: p * rounded(last.n) / power(MASK_BITS),
            body: p / 2.0 / power(BODY_BITS),
        }
    }

    /// Standard deviation of all that is not bounded, with `before`, that of the packed ciphertext.
    pub fn sd(&self, before: f64) -> f64 {
        let parts = [self.decomposed, self.key, self.mask, before];
        parts.iter().map(|sd| sd * sd).sum::<f64>().sqrt()
    }

    /// log2 of a bound on the probability that any of `count` coefficients is wrong: Gaussian
    /// tails beyond what the body's rounding leaves at its worst.
    pub fn failure_log2(&self, before: f64, count: usize) -> f64 {
        let deviations = (0.5 - self.body) / self.sd(before);
        (count as f64).log2() + 1.0 - deviations * deviations / 2.0 * std::f64::consts::LOG2_E
    }
}
