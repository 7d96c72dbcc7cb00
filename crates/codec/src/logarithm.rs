//! Discrete logarithms in a smooth multiplicative group.

use crate::error::CodecError;
use crate::finite::FiniteField;

/// The largest prime factor of the group's order accepted: each needs a table of its size.
const SMOOTH_LIMIT: u32 = 1 << 16;

/// Logarithms to the field's generator, by Pohlig and Hellman's method.
#[derive(Debug, Clone)]
pub(crate) struct Logarithm<F: FiniteField> {
    field: F,
    parts: Vec<Part<F>>,
}

/// The subgroup of prime-power order `q^k`.
#[derive(Debug, Clone)]
struct Part<F: FiniteField> {
    q: u32,
    k: u32,
    /// The group's order divided by `q^k`.
    cofactor: u64,
    /// The inverse of the subgroup's generator `g^cofactor`.
    inverse: F::Element,
    /// The powers of the generator of order `q` with their exponents, sorted.
    digits: Vec<(F::Element, u32)>,
    /// One modulo `q^k` and zero modulo the other parts' orders.
    unit: u64,
}

impl<F: FiniteField> Logarithm<F> {
    /// Errors: [`CodecError::NotSmooth`] where the group's order has a prime factor above `2^16`.
    pub(crate) fn new(field: F) -> Result<Self, CodecError> {
        let factors = field.order_factors();
        if let Some(&(found, _)) = factors.last().filter(|(q, _)| *q > SMOOTH_LIMIT) {
            return Err(CodecError::NotSmooth {
                limit: SMOOTH_LIMIT,
                found,
            });
        }
        Ok(Self::of_smooth(field))
    }

    /// As [`Logarithm::new`], for a field whose group's order has small prime factors only.
    pub(crate) fn of_smooth(field: F) -> Self {
        let part = |&(q, k): &(u32, u32)| Part::new(&field, q, k);
        let parts = field.order_factors().iter().map(part).collect();
        Self { field, parts }
    }

    /// The `e` below the group's order with `g^e = x`, or `None` where `x` is zero or no element.
    ///
    /// Time: vartime, for each `q^k`: `k^2 log q` products and `k` searches among `q`.
    pub(crate) fn of(&self, x: F::Element) -> Option<u32> {
        if x == F::Element::default() || !self.field.contains(x) {
            return None;
        }
        let order = u64::from(self.field.size() - 1);
        let mut exponent = 0;
        for part in &self.parts {
            let residue = part.logarithm(&self.field, x)?;
            exponent = (exponent + residue * part.unit) % order; // below 2^62 + 2^31
        }
        Some(exponent as u32)
    }
}

impl<F: FiniteField> Part<F> {
    fn new(field: &F, q: u32, k: u32) -> Self {
        let order = u64::from(field.size() - 1);
        let size = u64::from(q).pow(k);
        let cofactor = order / size;
        // g^(order - cofactor) = 1 / g^cofactor
        let inverse = field.pow(field.generator(), order - cofactor);
        let root = field.pow(field.generator(), order / u64::from(q));
        let mut power = field.scalar(1);
        let mut digits = Vec::with_capacity(q as usize);
        for digit in 0..q {
            digits.push((power, digit));
            power = field.mul(power, root);
        }
        digits.sort_unstable();
        // The group modulo q^k has (q - 1) q^(k-1) elements: one power less inverts.
        let unit = cofactor * power_modulo(cofactor, size - size / u64::from(q) - 1, size);
        Self {
            q,
            k,
            cofactor,
            inverse,
            digits,
            unit,
        }
    }

    /// The logarithm modulo `q^k`.
    fn logarithm(&self, field: &F, x: F::Element) -> Option<u64> {
        let q = u64::from(self.q);
        let mut rest = field.pow(x, self.cofactor); // in the subgroup of order q^k
        let mut strip = self.inverse; // removes one unit of the current digit
        let (mut result, mut weight) = (0, 1);
        for left in (0..self.k).rev() {
            let top = field.pow(rest, q.pow(left));
            let found = self
                .digits
                .binary_search_by_key(&top, |&(power, _)| power)
                .ok()?;
            let digit = u64::from(self.digits[found].1);
            result += digit * weight;
            weight *= q;
            rest = field.mul(rest, field.pow(strip, digit));
            strip = field.pow(strip, q);
        }
        Some(result)
    }
}

/// `base^e mod modulus`. Range: `modulus < 2^31`.
fn power_modulo(base: u64, mut e: u64, modulus: u64) -> u64 {
    let (mut square, mut result) = (base % modulus, 1);
    while e > 0 {
        if e & 1 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        e >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;

    #[test]
    fn inverts_every_power_of_small_fields() {
        for p in [3, 7, 13, 61, 257, 2_311, 65_537] {
            let field = Field::new(p).unwrap();
            let logarithm = Logarithm::new(field).unwrap();
            let mut power = 1;
            for e in 0..p - 1 {
                assert_eq!(logarithm.of(power), Some(e));
                power = field.mul(power, field.generator());
            }
            assert_eq!((logarithm.of(0), logarithm.of(p)), (None, None));
        }
    }

    #[test]
    fn rejects_rough_groups() {
        let field = Field::new(2_147_483_579).unwrap(); // twice a prime and one
        let error = Logarithm::new(field).unwrap_err();
        assert_eq!(
            error,
            CodecError::NotSmooth {
                limit: SMOOTH_LIMIT,
                found: 1_073_741_789
            }
        );
    }
}
