//! Ternary secrets whose embeddings are bounded.

use omr_marks::published;
use omr_ring::{Basis, Eval, Poly, Ring, fixed_weight, squared_embeddings, uniform_ternary};
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// How fast the danger of an embedding falls with its size: at `|s(zeta)|^2 = u` a chain of
/// squarings escapes `exp(FALL (bound / u - 1))` times less often than at the bound. The exponent at
/// the levels' size is 33.5 (`reference/squaring_tail.py`); less is on the safe side.
const FALL: f64 = 32.0;

/// A ternary secret polynomial. Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret {
    coeffs: Vec<i64>,
}

/// A secret in the evaluation domain. Wiped when dropped.
pub struct SecretPoly(Poly<Eval>);

impl Drop for SecretPoly {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::ops::Deref for SecretPoly {
    type Target = Poly<Eval>;
    fn deref(&self) -> &Poly<Eval> {
        &self.0
    }
}

impl Secret {
    /// Coefficients uniform in {-1, 0, 1}.
    pub fn uniform_ternary(rng: &mut impl CryptoRng, n: usize) -> Self {
        Self {
            coeffs: uniform_ternary(rng, n),
        }
    }

    /// Exactly `weight` coefficients +1 or -1, drawn again until a chain of squarings is no likelier
    /// to escape at any of the complex embeddings than at a single one with
    /// `|s(zeta)|^2 = bound * weight`. No embedding then exceeds that. An infinite bound takes the first draw.
    ///
    /// With bound 12 at n = 2^16 four of five draws pass (81 %), so that the secret loses 0.3 bit of
    /// entropy; the noise bound needs it (see [`crate::noise`]).
    pub fn fixed_weight(rng: &mut impl CryptoRng, n: usize, weight: usize, bound: f64) -> Self {
        loop {
            let candidate = Self {
                coeffs: fixed_weight(rng, n, weight),
            };
            if bound.is_infinite() {
                return candidate;
            }
            // Public: how many candidates were thrown away says nothing about this one.
            if published(candidate.escapes(bound * weight as f64) <= 1.0) {
                return candidate;
            }
        }
    }

    /// Expected escapes over all embeddings, in units of those of one embedding with
    /// `|s(zeta)|^2 = bound`.
    fn escapes(&self, bound: f64) -> f64 {
        let mut values: Vec<f64> = self.coeffs.iter().map(|&c| c as f64).collect();
        let mut squares = squared_embeddings(&values);
        let sum = squares.iter().map(|u| exp(FALL * (1.0 - bound / u))).sum();
        values.zeroize();
        squares.zeroize();
        sum
    }

    /// The secret with these coefficients (each -1, 0 or 1); `None` if one is not.
    pub fn from_coeffs(coeffs: Vec<i64>) -> Option<Self> {
        let valid = coeffs.iter().fold(true, |ok, c| ok & (-1..=1).contains(c));
        let secret = Self { coeffs };
        // Public: a secret that is none is refused in the open.
        published(valid).then_some(secret)
    }

    /// The coefficients, each -1, 0 or 1.
    pub fn coeffs(&self) -> &[i64] {
        &self.coeffs
    }

    /// The number of coefficients that are not zero.
    pub fn weight(&self) -> usize {
        self.coeffs.iter().map(|c| c.unsigned_abs() as usize).sum()
    }

    /// The secret's residues modulo the primes of `basis`, in the evaluation domain.
    pub fn poly(&self, ring: &Ring, basis: &Basis) -> SecretPoly {
        SecretPoly::of(ring, basis, &self.coeffs)
    }

    /// The secret `s(X^step)` of a ring `step` times as large.
    pub fn spread(&self, step: usize) -> Secret {
        let mut coeffs = vec![0; self.coeffs.len() * step];
        for (i, &c) in self.coeffs.iter().enumerate() {
            coeffs[i * step] = c;
        }
        Secret { coeffs }
    }
}

/// `e^x` up to a relative error of 2^-40, without tables and branches, which mathematical libraries have.
///
/// Range: `x` at most 64; below -690 that of -690.
fn exp(x: f64) -> f64 {
    /// Terms of the series for arguments of at most 0.68.
    const TERMS: u32 = 16;
    /// Squarings that make `e^x` of `e^(x / 2^10)`.
    const SQUARINGS: u32 = 10;
    let part = x.max(-690.0) / f64::from(1 << SQUARINGS);
    let series = (1..=TERMS).rev();
    let power = series.fold(1.0, |sum, k| 1.0 + sum * part / f64::from(k));
    (0..SQUARINGS).fold(power, |power, _| power * power)
}

impl SecretPoly {
    /// The secret with these small coefficients. Time: constant.
    pub fn of(ring: &Ring, basis: &Basis, coeffs: &[i64]) -> Self {
        Self(ring.forward(ring.lift_signed(coeffs, basis)))
    }

    /// The product of two secrets.
    pub fn product(&self, ring: &Ring, other: &SecretPoly) -> SecretPoly {
        let mut out = self.0.clone();
        ring.mul_assign(&mut out, other);
        SecretPoly(out)
    }

    /// The image under an automorphism.
    pub fn image(&self, ring: &Ring, automorphism: &omr_ring::Automorphism) -> SecretPoly {
        SecretPoly(automorphism.apply(ring, &self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_e_are_those_of_the_library() {
        for x in [0.0, 1.0, -1.0, 0.3, 32.0, -32.0, 63.9, -200.25, -689.0] {
            let (own, library) = (exp(x), f64::exp(x));
            assert!(
                ((own - library) / library).abs() < 1e-12,
                "{x}: {own}, {library}"
            );
        }
        // An embedding of size 0.
        assert!(exp(f64::NEG_INFINITY) < 1e-299);
    }
}
