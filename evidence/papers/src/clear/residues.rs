//! Residues modulo a number that need not be prime.

use rand_core::Rng;

/// A modulus `q` below `2^24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residues {
    q: u32,
    /// `floor((2^64 - 1) / q)`.
    reciprocal: u64,
}

impl Residues {
    /// The exclusive upper bound of moduli: sums of 2^13 products of two residues are then below 2^61.
    pub(super) const LIMIT: u32 = 1 << 24;

    /// Prepares reductions modulo `q`. Range: `q` in `2..2^24`, which [`LweParams`](super::LweParams) checks.
    pub(super) fn new(q: u32) -> Self {
        Self {
            q,
            reciprocal: u64::MAX / u64::from(q),
        }
    }

    /// Returns the modulus.
    pub fn q(&self) -> u32 {
        self.q
    }

    /// Returns `x mod q`. Range: any word.   Time: constant.
    #[inline]
    pub fn reduce(&self, x: u64) -> u32 {
        let q = u64::from(self.q);
        // The quotient is at most 1 too small.
        let quotient = ((u128::from(x) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = x - quotient * q;
        let less = rest.wrapping_sub(q);
        less.wrapping_add(q & (less >> 63).wrapping_neg()) as u32
    }

    /// Returns `x mod q` in `[0, q)`. Range: `|x|` below `2^62`.   Time: constant.
    #[inline]
    pub fn reduce_signed(&self, x: i64) -> u32 {
        let multiple = u64::from(self.q) * (self.reciprocal >> 2); // just below 2^62
        self.reduce(
            (x as u64)
                .wrapping_add(multiple)
                .wrapping_add(self.q.into()),
        )
    }

    /// Returns the representative of `x` in `[-q/2, q/2)`. Range: `x` in `[0, q)`.   Time: constant.
    #[inline]
    pub fn centered(&self, x: u32) -> i64 {
        let over = i64::from(x >= self.q.div_ceil(2));
        i64::from(x) - over * i64::from(self.q)
    }

    /// Fills `out` with uniform residues by rejection. Time: independent of the accepted values.
    pub fn fill(&self, rng: &mut impl Rng, out: &mut [u32]) {
        let mask = u64::MAX >> u64::from(self.q).leading_zeros();
        for x in out {
            *x = loop {
                let candidate = rng.next_u64() & mask;
                if candidate < u64::from(self.q) {
                    break candidate as u32;
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_are_remainders() {
        for q in [2, 3, 400, 408, 65_537, 786_433, (1 << 24) - 1] {
            let residues = Residues::new(q);
            let edge = u64::from(q);
            for x in [
                0,
                1,
                edge - 1,
                edge,
                edge + 1,
                u64::MAX,
                u64::MAX - edge,
                1 << 63,
            ] {
                assert_eq!(u64::from(residues.reduce(x)), x % edge);
            }
            let wide = i64::from(q);
            for x in [
                0,
                1,
                -1,
                wide,
                -wide,
                -wide - 1,
                wide / 2,
                (1 << 62) - 1,
                1 - (1 << 62),
            ] {
                assert_eq!(
                    i64::from(residues.reduce_signed(x)),
                    x.rem_euclid(wide),
                    "{x}"
                );
                let centered = residues.centered(residues.reduce_signed(x));
                assert_eq!((centered - x).rem_euclid(wide), 0);
                assert!((-wide..wide).contains(&(2 * centered)), "{centered} of {q}");
            }
        }
    }
}
