//! Arithmetic in a prime field given at run time.

use crate::error::CodecError;
use crate::finite::FiniteField;
use crate::wide::product;
use omr_marks::opaque;

/// A number below `2^31` has at most 9 distinct prime factors (the product of ten exceeds it).
const MAX_FACTORS: usize = 9;

/// The field of residues modulo an odd prime `p < 2^31`.
///
/// Elements are plain `u32` in `[0, p)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    modulus: u32,
    /// `floor(2^64 / p)`.
    reciprocal: u64,
    /// The number of products of two elements that a `u64` can sum; at least 4, as `p < 2^31`.
    lazy_terms: usize,
    generator: u32,
    factors: [(u32, u32); MAX_FACTORS],
    factor_count: usize,
}

impl Field {
    /// Builds `F_p`, factors `p - 1` and finds the smallest generator.
    ///
    /// Time: `O(sqrt(p))`.
    /// Errors: [`CodecError::Modulus`] unless `p` is an odd prime below `2^31`.
    pub fn new(p: u32) -> Result<Self, CodecError> {
        if !(3..1 << 31).contains(&p) || !is_prime(p) {
            return Err(CodecError::Modulus(p));
        }
        let (factors, factor_count) = factor(p - 1);
        let top = u64::from(p - 1);
        let mut field = Self {
            modulus: p,
            reciprocal: ((1u128 << 64) / u128::from(p)) as u64,
            lazy_terms: usize::try_from(u64::MAX / (top * top)).unwrap_or(usize::MAX),
            generator: 0,
            factors,
            factor_count,
        };
        field.generator = field.smallest_generator();
        Ok(field)
    }

    /// The prime `p`.
    pub fn modulus(&self) -> u32 {
        self.modulus
    }

    /// The smallest generator of the multiplicative group.
    pub fn generator(&self) -> u32 {
        self.generator
    }

    /// The factors of `p - 1`: (prime, exponent), ascending.
    pub fn order_factors(&self) -> &[(u32, u32)] {
        &self.factors[..self.factor_count]
    }

    /// `a + b`. Range: operands in `[0, p)`.
    #[inline]
    pub fn add(&self, a: u32, b: u32) -> u32 {
        debug_assert!(a < self.modulus && b < self.modulus);
        self.settle(a + b) // below 2^32 as p < 2^31
    }

    /// `x mod p` without a branch. Range: `x` below `2p`.
    #[inline]
    fn settle(&self, x: u32) -> u32 {
        let less = x.wrapping_sub(self.modulus); // its top bit is set iff x < p, as p < 2^31
        let below = opaque(u64::from(less >> 31)) as u32;
        less.wrapping_add(self.modulus & below.wrapping_neg())
    }

    /// `a - b`. Range: operands in `[0, p)`.
    #[inline]
    pub fn sub(&self, a: u32, b: u32) -> u32 {
        self.add(a, self.neg(b))
    }

    /// `-a`. Range: operand in `[0, p)`.
    #[inline]
    pub fn neg(&self, a: u32) -> u32 {
        debug_assert!(a < self.modulus);
        self.settle(self.modulus - a)
    }

    /// `a * b`. Range: any operands, result in `[0, p)`.
    #[inline]
    pub fn mul(&self, a: u32, b: u32) -> u32 {
        self.reduce(u64::from(a) * u64::from(b))
    }

    /// `a^e`, with `0^0 = 1`. Range: any operand, result in `[0, p)`.
    pub fn pow(&self, a: u32, e: u64) -> u32 {
        FiniteField::pow(self, a, e)
    }

    /// `1 / a`, or `None` where `a` is zero modulo `p`.
    pub fn inv(&self, a: u32) -> Option<u32> {
        FiniteField::inv(self, a)
    }

    /// `x mod p`. Range: any `x`.
    #[inline]
    pub(crate) fn reduce(&self, x: u64) -> u32 {
        self.div_rem(x).1
    }

    /// `(floor(x / p), x mod p)`. Range: any `x`.
    #[inline]
    pub(crate) fn div_rem(&self, x: u64) -> (u64, u32) {
        let p = u64::from(self.modulus);
        // x * (2^64/p - reciprocal) / 2^64 < 1: the estimate is at most one too small.
        let quotient = (product(x, self.reciprocal) >> 64) as u64;
        let rest = x - quotient * p;
        let more = opaque((rest.wrapping_sub(p) >> 63) ^ 1); // 1 iff rest >= p, without a branch
        (quotient + more, (rest - more * p) as u32)
    }

    fn smallest_generator(&self) -> u32 {
        let order = u64::from(self.modulus - 1);
        let generates = |g: &u32| {
            let full = |&(q, _): &(u32, u32)| self.pow(*g, order / u64::from(q)) != 1;
            self.order_factors().iter().all(full)
        };
        // A prime field always has a generator.
        (2..self.modulus).find(generates).unwrap_or(1)
    }
}

impl FiniteField for Field {
    type Element = u32;
    type Sum = u64;

    fn characteristic(&self) -> u32 {
        self.modulus
    }

    fn size(&self) -> u32 {
        self.modulus
    }

    fn generator(&self) -> u32 {
        self.generator
    }

    fn scalar(&self, n: u32) -> u32 {
        n
    }

    #[inline]
    fn number(&self, a: u32) -> u32 {
        a
    }

    fn element(&self, number: u32) -> u32 {
        number
    }

    #[inline]
    fn add(&self, a: u32, b: u32) -> u32 {
        self.add(a, b)
    }

    #[inline]
    fn neg(&self, a: u32) -> u32 {
        self.neg(a)
    }

    #[inline]
    fn mul_lazy(&self, a: u32, b: u32) -> u64 {
        u64::from(a) * u64::from(b)
    }

    #[inline]
    fn lazy_terms(&self) -> usize {
        self.lazy_terms
    }

    #[inline]
    fn widen(&self, a: u32) -> u64 {
        u64::from(a)
    }

    #[inline]
    fn reduce(&self, sum: u64) -> u32 {
        self.reduce(sum)
    }
}

fn is_prime(n: u32) -> bool {
    let mut d = 2;
    while d * d <= n {
        if n.is_multiple_of(d) {
            return false;
        }
        d += 1;
    }
    n > 1
}

fn factor(mut n: u32) -> ([(u32, u32); MAX_FACTORS], usize) {
    let mut factors = [(0, 0); MAX_FACTORS];
    let (mut count, mut d) = (0, 2);
    while n > 1 {
        if d * d > n {
            d = n;
        }
        let mut exponent = 0;
        while n.is_multiple_of(d) {
            n /= d;
            exponent += 1;
        }
        if exponent > 0 {
            factors[count] = (d, exponent);
            count += 1;
        }
        d += 1;
    }
    (factors, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_what_is_no_odd_prime_below_2_31() {
        for p in [
            0,
            1,
            2,
            4,
            9,
            786_431 * 2,
            65_536,
            1 << 31,
            u32::MAX,
            2_147_483_647 - 1,
        ] {
            assert_eq!(Field::new(p), Err(CodecError::Modulus(p)));
        }
    }

    #[test]
    fn known_generators_and_factors() {
        type Known = (u32, u32, &'static [(u32, u32)]);
        let known: [Known; 4] = [
            (3, 2, &[(2, 1)]),
            (65_537, 3, &[(2, 16)]),
            (786_433, 10, &[(2, 18), (3, 1)]),
            (
                2_147_483_647,
                7,
                &[(2, 1), (3, 2), (7, 1), (11, 1), (31, 1), (151, 1), (331, 1)],
            ),
        ];
        for (p, g, factors) in known {
            let field = Field::new(p).unwrap();
            assert_eq!(field.generator(), g);
            assert_eq!(field.order_factors(), factors);
        }
    }

    #[test]
    fn arithmetic_agrees_with_wide_integers() {
        for p in [3, 257, 786_433, 2_147_483_647] {
            let field = Field::new(p).unwrap();
            let wide = u64::from(p);
            let samples = [0, 1, 2, p / 2, p - 2, p - 1];
            for a in samples.into_iter().filter(|&a| a < p) {
                for b in samples.into_iter().filter(|&b| b < p) {
                    let (x, y) = (u64::from(a), u64::from(b));
                    assert_eq!(u64::from(field.add(a, b)), (x + y) % wide);
                    assert_eq!(u64::from(field.sub(a, b)), (x + wide - y) % wide);
                    assert_eq!(u64::from(field.mul(a, b)), x * y % wide);
                }
                assert_eq!(field.inv(a).map(|i| field.mul(i, a)), (a != 0).then_some(1));
            }
        }
    }

    #[test]
    fn reduction_is_exact_at_the_edges() {
        for p in [3, 786_433, 2_147_483_647] {
            let field = Field::new(p).unwrap();
            let wide = u64::from(p);
            for x in [
                0,
                wide - 1,
                wide,
                u64::MAX,
                u64::MAX - wide,
                u64::MAX / wide * wide,
            ] {
                for x in [x.saturating_sub(1), x, x.saturating_add(1)] {
                    assert_eq!(field.div_rem(x), (x / wide, (x % wide) as u32));
                }
            }
        }
    }

    #[test]
    fn dot_never_overflows() {
        for p in [3, 786_433, 2_147_483_647] {
            let field = Field::new(p).unwrap();
            let row = vec![p - 1; 1000]; // (-1)^2 a thousand times
            assert_eq!(field.dot(&row, &row), 1000 % p);
            assert_eq!(field.sum(&row), field.neg(1000 % p));
        }
    }
}
