//! The scalar back end's transforms with other products.

use super::field::double;
use crate::modulus::Factor;
use crate::scalar::ntt::{Lazy, forward_by, inverse_by};
use crate::table::NttTable;

pub(super) fn forward(t: &NttTable, row: &mut [u64]) {
    forward_by::<Double>(t, row);
}

pub(super) fn inverse(t: &NttTable, row: &mut [u64], last: [Factor; 2]) {
    inverse_by::<Double>(t, row, last);
}

/// A factor `w < q` and about `w / q`.
#[derive(Clone, Copy)]
struct Double {
    w: u64,
    ratio: f64,
}

impl Lazy for Double {
    #[inline]
    fn new(factor: Factor) -> Self {
        let ratio = double(factor.quotient) * (1.0 / (1u64 << 52) as f64);
        Self { w: factor.w, ratio }
    }

    /// The estimate is off by 1 downwards and 0.5 upwards at most, as `x < 2^52`, and truncation by 1 downwards: the rest
    /// is in `(-0.5 q, 2.5 q)`.
    #[inline]
    fn mul(self, q: u64, x: u64) -> u64 {
        let quotient = (double(x) * self.ratio) as i64 as u64;
        let rest = x
            .wrapping_mul(self.w)
            .wrapping_sub(quotient.wrapping_mul(q));
        let lifted = rest.wrapping_add(q);
        lifted.min(lifted.wrapping_sub(2 * q))
    }
}
