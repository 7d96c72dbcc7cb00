//! Sums of products, exact in two doubles.

use std::arch::x86_64::*;

use super::float::{Factors, Field};
use crate::Modulus;
use crate::kernels::MAX_DOT_TERMS;

/// The most terms whose products are reduced one by one, each at most `0.875 q` from zero: fewer operations than a sum in
/// two doubles has.
pub(super) const FEW: usize = 4;

/// The constants of sums of products modulo `q`.
///
/// A sum of `2^t` products `|x y| < 2^b` is kept as `high + low`. `high` starts in the middle of the doubles from
/// `2^(k + 52)` to twice that, `k = b + t - 51`, and stays there, so it is a multiple of `2^k`; if no product is negative,
/// it starts at the bottom, and `k` is less by 1. What its rounding takes off a product is at most `2^(k - 1)`, and the
/// products' remainders, `2^t` of them, stay within `2^53` in `low` if `k + t <= 54`: all is exact.
pub(super) struct Chain {
    field: Field,
    terms: usize,
    start: __m256d,
    /// `2^k mod q`, scaled by `2^-k`.
    weight: Factors,
}

/// A sum under way.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    high: __m256d,
    low: __m256d,
}

impl Chain {
    /// Returns the constants for products of residues.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of_residues(m: &Modulus) -> Self {
        Self::new(m, 2.0 * bits(m), 52)
    }

    /// Returns the constants for products of integers within `2^bits` and residues within half of q.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of_centred(m: &Modulus, integer_bits: f64) -> Self {
        Self::new(m, integer_bits + bits(m) - 1.0, 51)
    }

    /// `room`: bits of `high` above its unit that sums may take.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(m: &Modulus, product_bits: f64, room: i32) -> Self {
        let field = Field::new(m);
        let most = MAX_DOT_TERMS.ilog2() as i32;
        let t = (((f64::from(54 + room) - product_bits) / 2.0) as i32).min(most);
        let k = (product_bits.ceil() as i32 + t - room).max(0);
        let bottom = power(k + 52);
        let start = if room == 52 { bottom } else { 1.5 * bottom };
        Self {
            field,
            terms: 1 << t,
            start: _mm256_set1_pd(start),
            weight: field
                .factors(_mm256_set1_pd(m.to_centered(m.pow(2, k as u64)) as f64))
                .scaled(power(-k)),
        }
    }

    #[inline]
    pub(super) fn field(&self) -> &Field {
        &self.field
    }

    /// The most products of a sum.
    #[inline]
    pub(super) fn terms(&self) -> usize {
        self.terms
    }

    /// The empty sum.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn zero(&self) -> Sum {
        Sum {
            high: self.start,
            low: _mm256_setzero_pd(),
        }
    }

    /// Adds a sum to a total. Both totals are at most `0.51 q` from zero.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn fold(&self, total: __m256d, sum: Sum) -> __m256d {
        // Within 2^52 times a weight within half of q: the product is within q.
        let high = self
            .field
            .mul(_mm256_sub_pd(sum.high, self.start), self.weight);
        let rest = _mm256_add_pd(total, self.field.reduce(sum.low));
        self.field.reduce(_mm256_add_pd(high, rest))
    }
}

impl Sum {
    /// Adds `x y`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn add(&mut self, x: __m256d, y: __m256d) {
        let next = _mm256_fmadd_pd(x, y, self.high);
        let step = _mm256_sub_pd(next, self.high);
        self.low = _mm256_add_pd(self.low, _mm256_fmsub_pd(x, y, step));
        self.high = next;
    }
}

/// Returns the binary logarithm of `q`.
#[inline]
fn bits(m: &Modulus) -> f64 {
    (m.value() as f64).log2()
}

/// Returns `2^e`, for e within normal doubles.
#[inline]
fn power(e: i32) -> f64 {
    f64::from_bits(((1023 + e) as u64) << 52)
}
