//! Multi-limb integers to base `p` and back, several digits at a time.

use crate::field::Field;
use crate::wide::product;

/// The limbs of the largest block, 64 bytes.
pub(crate) const BLOCK_LIMBS: usize = 8;
/// One limb more: the digits of a block may hold up to 31 bits beyond it.
pub(crate) const VALUE_LIMBS: usize = BLOCK_LIMBS + 1;

/// The radix `p^k` with the largest `k` such that `p^k < 2^63`, and its reciprocal.
#[derive(Debug, Clone)]
pub(crate) struct Radix {
    field: Field,
    /// `k`, at least 2.
    digits: usize,
    /// `p^k`.
    value: u64,
    /// Leading zeros of `p^k`, in `1..64`.
    shift: u32,
    /// `p^k << shift`, its top bit set.
    divisor: u64,
    /// `floor((2^128 - 1) / divisor) - 2^64`.
    reciprocal: u64,
}

impl Radix {
    pub(crate) fn new(field: Field) -> Self {
        let p = u64::from(field.modulus());
        let (mut digits, mut value) = (1, p);
        while value < (1 << 63) / p {
            value *= p;
            digits += 1;
        }
        let shift = value.leading_zeros();
        let divisor = value << shift;
        let reciprocal = (u128::MAX / u128::from(divisor) - (1 << 64)) as u64;
        Self {
            field,
            digits,
            value,
            shift,
            divisor,
            reciprocal,
        }
    }

    pub(crate) fn field(&self) -> &Field {
        &self.field
    }

    /// Writes the number `limbs` in base `p`, least significant digit first; spends `limbs`.
    ///
    /// Shape: at most `VALUE_LIMBS` limbs, and digits enough to hold the number.
    #[inline]
    pub(crate) fn write_digits(&self, limbs: &mut [u64], digits: &mut [u32]) {
        let mut used = limbs.len();
        for chunk in digits.chunks_mut(self.digits) {
            let mut rest = self.divide(&mut limbs[..used]);
            if used > 0 && limbs[used - 1] == 0 {
                used -= 1; // a division takes off more than 31 bits, less than 64
            }
            let (last, lower) = chunk.split_last_mut().expect("chunks are never empty");
            for digit in lower {
                (rest, *digit) = self.field.div_rem(rest);
            }
            *last = rest as u32;
        }
        debug_assert!(limbs[..used].iter().all(|&limb| limb == 0));
    }

    /// The number whose base-`p` digits are given, least significant first.
    ///
    /// Range: digits below `p`; the number below `2^(64 * VALUE_LIMBS)`.
    pub(crate) fn read_digits(&self, digits: &[u32]) -> [u64; VALUE_LIMBS] {
        let mut limbs = [0; VALUE_LIMBS];
        let p = u64::from(self.field.modulus());
        for chunk in digits.chunks(self.digits).rev() {
            let low = chunk
                .iter()
                .rev()
                .fold(0, |value, &d| value * p + u64::from(d));
            mul_add(&mut limbs, self.value, low);
        }
        limbs
    }

    /// Divides `limbs` by the radix in place; returns the remainder.
    #[inline]
    fn divide(&self, limbs: &mut [u64]) -> u64 {
        let Some(top) = limbs.last() else { return 0 };
        let back = 64 - self.shift;
        let mut rest = top >> back; // below 2^shift, so below the divisor
        for i in (0..limbs.len()).rev() {
            let below = if i == 0 { 0 } else { limbs[i - 1] >> back };
            let limb = (limbs[i] << self.shift) | below;
            (limbs[i], rest) = self.divide_two(rest, limb);
        }
        rest >> self.shift
    }

    /// Divides `high * 2^64 + low` by the shifted radix. Range: `high < divisor`.
    ///
    /// Source: Möller and Granlund, *Improved division by invariant integers*, algorithm 4.
    #[inline]
    fn divide_two(&self, high: u64, low: u64) -> (u64, u64) {
        let product = product(high, self.reciprocal);
        // High is below the divisor, so the sum stays below 2^128.
        let estimate = product + ((u128::from(high) << 64) | u128::from(low));
        let mut quotient = ((estimate >> 64) as u64).wrapping_add(1);
        let mut rest = low.wrapping_sub(quotient.wrapping_mul(self.divisor));
        if rest > estimate as u64 {
            quotient = quotient.wrapping_sub(1);
            rest = rest.wrapping_add(self.divisor);
        }
        if rest >= self.divisor {
            quotient = quotient.wrapping_add(1);
            rest -= self.divisor;
        }
        (quotient, rest)
    }
}

/// For `b` in `0..=bytes`, the least number of base-`p` digits that holds `b` bytes.
///
/// Range: `bytes <= 8 * BLOCK_LIMBS`.
pub(crate) fn digits_by_bytes(p: u32, bytes: usize) -> Vec<usize> {
    let mut power = [0; VALUE_LIMBS];
    power[0] = 1;
    let mut digits = 0;
    let mut holding = |b: usize| {
        // p^digits >= 2^(8b), a power of two, iff it has more than 8b bits.
        while (bit_length(&power) as usize) <= 8 * b {
            mul_add(&mut power, u64::from(p), 0);
            digits += 1;
        }
        digits
    };
    (0..=bytes).map(&mut holding).collect()
}

/// The most bits that every number of them fits `digits` digits of base `p`.
///
/// Range: `p^digits < 2^(64 * VALUE_LIMBS)`.
pub(crate) fn bits_of_digits(p: u32, digits: usize) -> u32 {
    let mut power = [0; VALUE_LIMBS];
    power[0] = 1;
    for _ in 0..digits {
        mul_add(&mut power, u64::from(p), 0);
    }
    bit_length(&power) - 1
}

/// The bits of the number `limbs`, zero for zero.
pub(crate) fn bit_length(limbs: &[u64]) -> u32 {
    match limbs.iter().rposition(|&limb| limb != 0) {
        Some(top) => 64 * top as u32 + (64 - limbs[top].leading_zeros()),
        None => 0,
    }
}

/// `limbs = limbs * factor + addend`, which must fit.
fn mul_add(limbs: &mut [u64], factor: u64, addend: u64) {
    let mut carry = addend;
    for limb in limbs {
        let wide = product(*limb, factor) + u128::from(carry);
        *limb = wide as u64;
        carry = (wide >> 64) as u64;
    }
    debug_assert_eq!(carry, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_agrees_with_wide_integers() {
        for p in [3, 5, 257, 65_537, 786_433, 1_073_741_827, 2_147_483_647] {
            let radix = Radix::new(Field::new(p).unwrap());
            let d = radix.divisor;
            for high in [0, 1, d / 2, d - 2, d - 1] {
                for low in [0, 1, d - 1, d, d.wrapping_add(1), u64::MAX - 1, u64::MAX] {
                    let wide = (u128::from(high) << 64) | u128::from(low);
                    let expected = ((wide / u128::from(d)) as u64, (wide % u128::from(d)) as u64);
                    assert_eq!(radix.divide_two(high, low), expected);
                }
            }
        }
    }

    #[test]
    fn digit_counts_are_least() {
        // 786433^3 < 2^64 <= 786433^4; 786433^22 < 2^448 <= 786433^23.
        let counts = digits_by_bytes(786_433, 64);
        assert_eq!(
            (counts[0], counts[1], counts[8], counts[52], counts[56]),
            (0, 1, 4, 22, 23)
        );
        // 65537^4 > 2^64 > 65521^4
        assert_eq!(digits_by_bytes(65_537, 8)[8], 4);
        assert_eq!(digits_by_bytes(65_521, 8)[8], 5);
    }

    #[test]
    fn bit_lengths() {
        assert_eq!(bit_length(&[0, 0]), 0);
        assert_eq!(bit_length(&[1, 0]), 1);
        assert_eq!(bit_length(&[u64::MAX, 0]), 64);
        assert_eq!(bit_length(&[0, 1 << 62]), 127);
    }
}
