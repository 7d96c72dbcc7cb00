//! One modulus `q < 2^50` and what estimates quotients by it.

use crate::Modulus;

#[derive(Clone, Copy)]
pub(super) struct Field {
    q: u64,
    inverse: f64,
}

impl Field {
    pub(super) fn new(m: &Modulus) -> Self {
        let q = m.value();
        let inverse = 1.0 / double(q);
        Self { q, inverse }
    }

    /// `a b mod q`.
    ///
    /// Three roundings put the estimate off by less than `3 2^-53 q < 0.4`, and truncation by 1 downwards: the rest is
    /// in `(-0.4 q, 1.4 q)`.
    #[inline]
    pub(super) fn mul(&self, a: u64, b: u64) -> u64 {
        let quotient = (double(a) * (double(b) * self.inverse)) as i64 as u64;
        let rest = a
            .wrapping_mul(b)
            .wrapping_sub(quotient.wrapping_mul(self.q));
        self.settle(rest)
    }

    /// `x mod q` for `x < 2^63`.
    ///
    /// The first rest is off by less than `2^12` beside `(-q, 2 q)`, the second by less than 1.
    #[inline]
    pub(super) fn reduce(&self, x: u64) -> u64 {
        let once = self.rest(x);
        self.settle(self.rest(once))
    }

    /// Range: in and out signed words.
    #[inline]
    fn rest(&self, x: u64) -> u64 {
        let quotient = (double(x) * self.inverse) as i64 as u64;
        x.wrapping_sub(quotient.wrapping_mul(self.q))
    }

    /// From `(-q, 2 q)` to `[0, q)`.
    #[inline]
    fn settle(&self, x: u64) -> u64 {
        let sign = (x as i64 >> 63) as u64;
        let lifted = x.wrapping_add(sign & self.q);
        lifted.min(lifted.wrapping_sub(self.q))
    }
}

/// A word below `2^63` as the nearest double.
#[inline]
pub(super) fn double(x: u64) -> f64 {
    // Of signed words: one instruction where unsigned ones take several.
    x as i64 as f64
}
