//! Finds where a polynomial vanishes, for many elements side by side.

use super::element::CubicElement;
use super::field::Cubic;
use super::weights::reduce;
use crate::finite::FiniteField;
use crate::fixed::equal;

/// Elements looked at together: their coefficients fit in the first cache.
pub(super) const BATCH: usize = 64;

/// One coefficient of all elements of a batch.
type Lane = [u16; BATCH];

/// All ones where the polynomial, constant term first, is 0; else 0.
///
/// Horner's rule. Time: that of nine products of coefficients for each element and each coefficient
/// of the polynomial, whatever the values.
pub(super) fn vanishes(
    polynomial: &[CubicElement],
    elements: &[CubicElement; BATCH],
) -> [u32; BATCH] {
    // Row i: x y^i; a value times x is the sum of its coefficients times these.
    let mut times = [[[0; BATCH]; 3]; 3];
    let mut column = *elements;
    for row in &mut times {
        *row = lanes(&column);
        column = column.map(|x| Cubic.mul(x, Cubic.generator()));
    }
    let mut values = [[0; BATCH]; 3];
    for coefficient in polynomial.iter().rev() {
        let [a, b, c] = values;
        for (lane, value) in values.iter_mut().enumerate() {
            let add = u16::from(coefficient.coefficients()[lane]);
            let [x, y, z] = [&times[0][lane], &times[1][lane], &times[2][lane]];
            for i in 0..BATCH {
                let sum = a[i] * x[i] + b[i] * y[i] + c[i] * z[i] + add;
                value[i] = u16::from(reduce(sum));
            }
        }
    }
    let [a, b, c] = values;
    std::array::from_fn(|i| equal(u32::from(a[i] | b[i] | c[i]), 0))
}

/// The coefficients of all elements, one lane for each.
fn lanes(elements: &[CubicElement; BATCH]) -> [Lane; 3] {
    let mut lanes = [[0; BATCH]; 3];
    for (i, element) in elements.iter().enumerate() {
        for (lane, coefficient) in lanes.iter_mut().zip(element.coefficients()) {
            lane[i] = u16::from(coefficient);
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_where_horner_has_them() {
        let elements: [_; BATCH] =
            std::array::from_fn(|i| Cubic.element(912_672 - 13_001 * i as u32));
        // (x - a) (x - b) x, and all coefficients at their largest
        let [a, b] = [3, 62].map(|i| Cubic.neg(elements[i]));
        let zero = CubicElement::default();
        let product = vec![zero, Cubic.mul(a, b), Cubic.add(a, b), Cubic.scalar(1)];
        for polynomial in [product, vec![Cubic.element(912_672); 97]] {
            let masks = vanishes(&polynomial, &elements);
            for (mask, &x) in masks.into_iter().zip(&elements) {
                let horner = |value, &c: &CubicElement| Cubic.add(Cubic.mul(value, x), c);
                let value = polynomial.iter().rev().fold(zero, horner);
                assert_eq!(mask, if value == zero { u32::MAX } else { 0 });
            }
        }
    }
}
