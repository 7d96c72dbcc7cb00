//! One odd prime below `2^50`, with the constants that reduce modulo it.

use crate::KernelError;

/// Moduli have at most this many bits.
pub const MAX_MODULUS_BITS: u32 = 50;

/// An odd prime `q < 2^50` and its Barrett constants.
///
/// The operations take operands in `[0, q)` unless stated otherwise, and run in constant time,
/// except [`Modulus::pow`] and [`Modulus::inv`] (variable time in the exponent, which is public).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    q: u64,
    bits: u32,
    /// `floor(2^(2 bits) / q)`, below `2^(bits + 1)`.
    mu: u64,
    /// `floor(2^(bits + 52) / q)`, at most `2^53`.
    mu52: u64,
    /// `floor(2^64 / q)`.
    mu64: u64,
    /// `2^64 mod q`.
    r64: u64,
    /// `2^52 mod q` and `2^104 mod q`, for sums of products kept in 52-bit words.
    r52: Factor,
    r104: Factor,
}

/// A constant factor `w < q` and `floor(2^52 w / q)`, for Shoup multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    pub(crate) w: u64,
    pub(crate) quotient: u64,
}

impl Factor {
    fn new(q: u64, w: u64) -> Self {
        let quotient = ((u128::from(w) << 52) / u128::from(q)) as u64;
        Self { w, quotient }
    }
}

impl Modulus {
    /// Checks `q` and precomputes its constants.
    ///
    /// Errors: [`KernelError::ModulusTooLarge`] from `2^50` on, [`KernelError::NotAnOddPrime`].
    pub fn new(q: u64) -> Result<Self, KernelError> {
        if q >> MAX_MODULUS_BITS != 0 {
            return Err(KernelError::ModulusTooLarge {
                found: q,
                max_bits: MAX_MODULUS_BITS,
            });
        }
        if q == 2 || !is_prime(q) {
            return Err(KernelError::NotAnOddPrime(q));
        }
        let bits = u64::BITS - q.leading_zeros();
        let mu = ((1u128 << (2 * bits)) / u128::from(q)) as u64;
        let r64 = ((1u128 << 64) % u128::from(q)) as u64;
        let [r52, r104] = [52, 104].map(|e| Factor::new(q, ((1u128 << e) % u128::from(q)) as u64));
        let mu52 = ((1u128 << (bits + 52)) / u128::from(q)) as u64;
        let mu64 = u64::MAX / q;
        Ok(Self {
            q,
            bits,
            mu,
            mu52,
            mu64,
            r64,
            r52,
            r104,
        })
    }

    /// The prime itself.
    pub const fn value(&self) -> u64 {
        self.q
    }

    /// Number of bits of `q`: `2^(bits - 1) < q < 2^bits`.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// `a + b mod q`.
    #[inline]
    pub fn add(&self, a: u64, b: u64) -> u64 {
        self.fold(a + b)
    }

    /// `a - b mod q`.
    #[inline]
    pub fn sub(&self, a: u64, b: u64) -> u64 {
        self.fold(a + self.q - b)
    }

    /// `-a mod q`.
    #[inline]
    pub fn neg(&self, a: u64) -> u64 {
        self.fold(self.q - a)
    }

    /// `a b mod q`.
    #[inline]
    pub fn mul(&self, a: u64, b: u64) -> u64 {
        let p = u128::from(a) * u128::from(b);
        // p >> (bits - 1) < 2^(bits + 1) and mu < 2^(bits + 1); the quotient is at most 2 too small.
        let top = (p >> (self.bits - 1)) as u64;
        let quotient = ((u128::from(top) * u128::from(self.mu)) >> (self.bits + 1)) as u64;
        let r = (p as u64).wrapping_sub(quotient.wrapping_mul(self.q));
        self.fold(self.fold(r))
    }

    /// `a^e mod q`; `0^0 = 1`. Time: variable in `e`.
    pub fn pow(&self, a: u64, mut e: u64) -> u64 {
        let (mut base, mut r) = (a, 1);
        while e > 0 {
            if e & 1 == 1 {
                r = self.mul(r, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        r
    }

    /// `1 / a mod q`, by Fermat.
    ///
    /// Panics: when `a` is 0 modulo `q`.
    pub fn inv(&self, a: u64) -> u64 {
        assert!(self.reduce(a) != 0, "zero has no inverse modulo {}", self.q);
        self.pow(self.reduce(a), self.q - 2)
    }

    /// `x mod q` for any word.
    #[inline]
    pub fn reduce(&self, x: u64) -> u64 {
        // The quotient is at most 1 too small.
        let quotient = ((u128::from(x) * u128::from(self.mu64)) >> 64) as u64;
        self.fold(x - quotient * self.q)
    }

    /// `x mod q` for any double word.
    #[inline]
    pub fn reduce_u128(&self, x: u128) -> u64 {
        let high = self.mul(self.reduce((x >> 64) as u64), self.r64);
        self.add(high, self.reduce(x as u64))
    }

    /// `x mod q` in `[0, q)` for any signed word. Time: constant.
    #[inline]
    pub fn from_i64(&self, x: i64) -> u64 {
        let sign = (x >> 63) as u64; // all ones below zero; no branch: `x` may be secret
        let magnitude = self.reduce((x as u64 ^ sign).wrapping_sub(sign));
        let signed = (magnitude ^ sign).wrapping_sub(sign);
        self.fold(signed.wrapping_add(sign & self.q))
    }

    /// The representative of `a` in `[-(q - 1) / 2, (q - 1) / 2]`, for `a` in `[0, q)`.
    #[inline]
    pub fn to_centered(&self, a: u64) -> i64 {
        // All ones above q / 2. Comparisons would be compiled to branches, and `a` may be secret.
        let over = (self.q / 2).wrapping_sub(a) as i64 >> 63;
        a as i64 - (over & self.q as i64)
    }

    /// `w < q` with its quotient.
    pub(crate) fn factor(&self, w: u64) -> Factor {
        // At most 1 too small, as w < 2^bits.
        let estimate = ((u128::from(w) * u128::from(self.mu52)) >> self.bits) as u64;
        let rest = (w << 52).wrapping_sub(estimate.wrapping_mul(self.q));
        let quotient = estimate + u64::from(rest >= self.q);
        Factor { w, quotient }
    }

    /// `2^52 mod q` and `2^104 mod q`.
    pub(crate) fn word_weights(&self) -> [Factor; 2] {
        [self.r52, self.r104]
    }

    /// `[0, 2q)` to `[0, q)`.
    #[inline]
    pub(crate) fn fold(&self, x: u64) -> u64 {
        x.min(x.wrapping_sub(self.q))
    }
}

/// Whether `n` is prime: Miller-Rabin with the twelve bases that decide every 64-bit number.
///
/// Time: variable.
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    if let Some(p) = BASES.iter().find(|&&p| n.is_multiple_of(p)) {
        return n == *p;
    }
    let twos = (n - 1).trailing_zeros();
    BASES
        .iter()
        .all(|&a| passes_miller_rabin(n, a, (n - 1) >> twos, twos))
}

/// One Miller-Rabin round for `n - 1 = odd 2^twos`.
fn passes_miller_rabin(n: u64, a: u64, odd: u64, twos: u32) -> bool {
    let mul = |x: u64, y: u64| (u128::from(x) * u128::from(y) % u128::from(n)) as u64;
    let (mut x, mut base, mut e) = (1, a, odd);
    while e > 0 {
        if e & 1 == 1 {
            x = mul(x, base);
        }
        base = mul(base, base);
        e >>= 1;
    }
    if x == 1 || x == n - 1 {
        return true;
    }
    (1..twos).any(|_| {
        x = mul(x, x);
        x == n - 1
    })
}

#[cfg(test)]
mod tests {
    use super::{Factor, Modulus};

    #[test]
    fn factors_agree_with_long_division() {
        let primes = [
            3,
            5,
            65_537,
            786_433,
            137_438_953_481,
            562_949_953_421_381,
            1_125_899_906_842_597,
        ];
        for q in primes {
            let m = Modulus::new(q).unwrap();
            let spread = (0..10_000).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q);
            for w in spread.chain([0, 1, q / 2, q - 2, q - 1]) {
                assert_eq!(m.factor(w), Factor::new(q, w), "{w} modulo {q}");
            }
        }
    }
}
