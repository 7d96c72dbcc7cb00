//! Negacyclic transforms with Harvey's lazy butterflies.

use crate::{modulus::Factor, table::NttTable};

/// A factor of butterflies.
pub(crate) trait Lazy: Copy {
    fn new(factor: Factor) -> Self;

    /// `w x` in `[0, 2q)`, for `x < 2^52`.
    fn mul(self, q: u64, x: u64) -> u64;
}

impl Lazy for Factor {
    #[inline]
    fn new(factor: Factor) -> Self {
        factor
    }

    /// Shoup's.
    #[inline]
    fn mul(self, q: u64, x: u64) -> u64 {
        let quotient = ((u128::from(x << 12) * u128::from(self.quotient)) >> 64) as u64;
        x.wrapping_mul(self.w)
            .wrapping_sub(quotient.wrapping_mul(q))
    }
}

/// Natural order in, bit-reversed out (Cooley-Tukey).
pub(crate) fn forward(t: &NttTable, row: &mut [u64]) {
    forward_by::<Factor>(t, row);
}

/// Bit-reversed in, natural order out (Gentleman-Sande), times the first of `last`.
pub(crate) fn inverse(t: &NttTable, row: &mut [u64], last: [Factor; 2]) {
    inverse_by::<Factor>(t, row, last);
}

/// [`forward`] with factors of this kind.
#[inline]
pub(crate) fn forward_by<L: Lazy>(t: &NttTable, row: &mut [u64]) {
    let q = t.modulus().value();
    let mut half = row.len() / 2;
    while half > 0 {
        let blocks = row.len() / (2 * half);
        for (i, block) in row.chunks_exact_mut(2 * half).enumerate() {
            let factor = L::new(t.forward().at(blocks + i));
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                (*x, *y) = forward_butterfly(q, *x, *y, factor);
            }
        }
        half /= 2;
    }
    for x in row {
        *x = fold(fold(*x, 2 * q), q);
    }
}

/// [`inverse`] with factors of this kind.
#[inline]
pub(crate) fn inverse_by<L: Lazy>(t: &NttTable, row: &mut [u64], last: [Factor; 2]) {
    let q = t.modulus().value();
    let mut half = 1;
    while half < row.len() {
        let blocks = row.len() / (2 * half);
        for (i, block) in row.chunks_exact_mut(2 * half).enumerate() {
            let factor = L::new(t.inverse().at(blocks + i));
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                (*x, *y) = inverse_butterfly(q, *x, *y, factor);
            }
        }
        half *= 2;
    }
    let last = L::new(last[0]);
    for x in row {
        *x = fold(last.mul(q, *x), q);
    }
}

/// `(x + w y, x - w y)`; in and out `[0, 4q)`, `4q < 2^52`.
#[inline]
fn forward_butterfly(q: u64, x: u64, y: u64, factor: impl Lazy) -> (u64, u64) {
    let x = fold(x, 2 * q);
    let t = factor.mul(q, y);
    (x + t, x + 2 * q - t)
}

/// `(x + y, w (x - y))`; in and out `[0, 2q)`.
#[inline]
fn inverse_butterfly(q: u64, x: u64, y: u64, factor: impl Lazy) -> (u64, u64) {
    (fold(x + y, 2 * q), factor.mul(q, x + 2 * q - y))
}

/// `[0, 2b)` to `[0, b)`.
#[inline]
fn fold(x: u64, b: u64) -> u64 {
    x.min(x.wrapping_sub(b))
}
