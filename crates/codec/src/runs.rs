//! Finds where a polynomial vanishes on geometric sequences.

use crate::field::Field;
use crate::finite::FiniteField;
use crate::fixed::equal;

/// Terms of a sequence looked at together.
pub(crate) const RUN: usize = 64;

/// A polynomial and the powers of a common ratio.
#[derive(Debug)]
pub(crate) struct Runs {
    field: Field,
    /// Constant term first.
    polynomial: Vec<u32>,
    /// Row `j`: `ratio^(i j)` for `i` below [`RUN`].
    powers: Vec<[u32; RUN]>,
}

impl Runs {
    pub(crate) fn new(field: Field, polynomial: Vec<u32>, ratio: u32) -> Self {
        let mut step = 1;
        let row = |_| {
            let mut power = 1;
            let row = std::array::from_fn(|_| {
                let own = power;
                power = field.mul(power, step);
                own
            });
            step = field.mul(step, ratio);
            row
        };
        let powers = (0..polynomial.len()).map(row).collect();
        Self {
            field,
            polynomial,
            powers,
        }
    }

    /// For `i` below [`RUN`]: all ones where the polynomial is 0 at `first * ratio^i`, else 0.
    ///
    /// Time: that of `RUN` multiply-adds a coefficient, whatever the values.
    pub(crate) fn vanishes(&self, first: u32) -> [u32; RUN] {
        let field = &self.field;
        let mut sums = [0u64; RUN];
        let (mut power, mut terms) = (1, 0);
        for (&coefficient, row) in self.polynomial.iter().zip(&self.powers) {
            terms += 1;
            if terms > field.lazy_terms() {
                sums.iter_mut()
                    .for_each(|sum| *sum = u64::from(field.reduce(*sum)));
                terms = 2; // a reduced value counts as one
            }
            let factor = u64::from(field.mul(coefficient, power));
            for (sum, &power) in sums.iter_mut().zip(row) {
                *sum += factor * u64::from(power);
            }
            power = field.mul(power, first);
        }
        sums.map(|sum| equal(field.reduce(sum), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_where_horner_has_them() {
        for p in [257, 786_433, 2_147_483_647] {
            let field = Field::new(p).unwrap();
            let ratio = field.pow(field.generator(), 3);
            // (x - ratio^5) (x - ratio^70) x + 0, and all coefficients at their largest
            let [a, b] = [5, 70].map(|e| field.neg(field.pow(ratio, e)));
            let cubic = vec![0, field.mul(a, b), field.add(a, b), 1];
            for polynomial in [cubic, vec![p - 1; 100]] {
                let runs = Runs::new(field, polynomial.clone(), ratio);
                for start in [0, 64] {
                    let masks = runs.vanishes(field.pow(ratio, start));
                    for (i, mask) in (start..).zip(masks) {
                        let x = field.pow(ratio, i);
                        let horner = |value, &c: &u32| field.add(field.mul(value, x), c);
                        let zero = polynomial.iter().rev().fold(0, horner) == 0;
                        assert_eq!(mask, if zero { u32::MAX } else { 0 }, "{p} {i}");
                    }
                }
            }
        }
    }
}
