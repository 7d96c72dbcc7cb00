//! Arithmetic of the cubic field.

use std::ops::AddAssign;

use super::element::{CubicElement, LANE, P};
use crate::finite::FiniteField;
use crate::wide::product;

/// `97^3`.
const SIZE: u32 = P * P * P;
/// The terms that a lane holds: each is at most three products of coefficients.
const LAZY_TERMS: usize = (1 << LANE) / (3 * (P as usize - 1).pow(2));

/// The field `GF(97^3)` of 912,673 elements, its generator `y` a root of `x^3 + x + 7`.
///
/// Of the primitive monic cubics `x^3 + a x^2 + b x + c` modulo 97 it is the one with the smallest
/// `(a, b, c)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cubic;

/// An unreduced sum of products: five lanes, the coefficients of `1` to `y^4`.
#[derive(Debug, Clone, Copy, Default)]
pub struct CubicSum(u128);

impl AddAssign for CubicSum {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl FiniteField for Cubic {
    type Element = CubicElement;
    type Sum = CubicSum;

    fn characteristic(&self) -> u32 {
        P
    }

    fn size(&self) -> u32 {
        SIZE
    }

    fn generator(&self) -> CubicElement {
        CubicElement::from_reduced([0, 1, 0])
    }

    fn scalar(&self, n: u32) -> CubicElement {
        CubicElement::from_reduced([n, 0, 0])
    }

    /// `c0 + 97 c1 + 97^2 c2`.
    fn number(&self, a: CubicElement) -> u32 {
        let [c0, c1, c2] = a.lanes();
        c0 + P * (c1 + P * c2)
    }

    fn element(&self, number: u32) -> CubicElement {
        CubicElement::from_reduced([number % P, number / P % P, number / (P * P)])
    }

    #[inline]
    fn add(&self, a: CubicElement, b: CubicElement) -> CubicElement {
        a.plus(b)
    }

    #[inline]
    fn neg(&self, a: CubicElement) -> CubicElement {
        a.negated()
    }

    #[inline]
    fn mul_lazy(&self, a: CubicElement, b: CubicElement) -> CubicSum {
        CubicSum(product(a.word(), b.word()))
    }

    #[inline]
    fn lazy_terms(&self) -> usize {
        LAZY_TERMS
    }

    #[inline]
    fn widen(&self, a: CubicElement) -> CubicSum {
        CubicSum(u128::from(a.word()))
    }

    #[inline]
    fn reduce(&self, sum: CubicSum) -> CubicElement {
        let lane = |i: u32| (sum.0 >> (LANE * i)) as u64 & ((1 << LANE) - 1);
        const Q: u64 = P as u64; // a constant, so that no division is made
        // y^3 = -y - 7, y^4 = -y^2 - 7y
        let c0 = lane(0) + (Q - 7) * lane(3);
        let c1 = lane(1) + (Q - 1) * lane(3) + (Q - 7) * lane(4);
        let c2 = lane(2) + (Q - 1) * lane(4);
        CubicElement::from_reduced([(c0 % Q) as u32, (c1 % Q) as u32, (c2 % Q) as u32])
    }

    /// Always: an element holds nothing else.
    #[inline]
    fn contains(&self, _: CubicElement) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prime factors of the multiplicative group's order, with their exponents.
    const FACTORS: [(u32, u32); 3] = [(2, 5), (3, 2), (3169, 1)];

    fn order_is_full(field: Cubic, g: CubicElement) -> bool {
        let order = u64::from(SIZE - 1);
        let one = field.scalar(1);
        let proper = |&(q, _): &(u32, u32)| field.pow(g, order / u64::from(q)) != one;
        field.pow(g, order) == one && FACTORS.iter().all(proper)
    }

    /// `x^((97^3 - 1) / q)` modulo `x^3 + b x + c` by schoolbook.
    fn power(b: u32, c: u32, mut e: u32) -> [u32; 3] {
        let mul = |x: [u32; 3], y: [u32; 3]| {
            let mut wide = [0; 5];
            for (i, x) in x.iter().enumerate() {
                y.iter().enumerate().for_each(|(j, y)| wide[i + j] += x * y);
            }
            for top in [4, 3] {
                wide[top - 2] += wide[top] % P * (P - b) % P;
                wide[top - 3] += wide[top] % P * (P - c) % P;
            }
            [wide[0] % P, wide[1] % P, wide[2] % P]
        };
        let (mut base, mut result) = ([0, 1, 0], [1, 0, 0]);
        while e > 0 {
            if e & 1 == 1 {
                result = mul(result, base);
            }
            base = mul(base, base);
            e >>= 1;
        }
        result
    }

    #[test]
    fn the_polynomial_is_the_smallest_primitive_one() {
        // A root of full order generates all non-zero elements, so the polynomial is irreducible.
        let primitive = |b, c| {
            let proper = |q| power(b, c, (SIZE - 1) / q) != [1, 0, 0];
            power(b, c, SIZE - 1) == [1, 0, 0] && [2, 3, 3169].into_iter().all(proper)
        };
        let smallest = (0..P * P)
            .map(|i| (i / P, i % P))
            .find(|&(b, c)| primitive(b, c));
        assert_eq!(smallest, Some((1, 7)));
        assert!(order_is_full(Cubic, Cubic.generator()));
        let y = Cubic.generator();
        let value = Cubic.add(Cubic.pow(y, 3), Cubic.add(y, Cubic.scalar(7)));
        assert_eq!(value, CubicElement::default());
    }

    #[test]
    fn the_order_is_the_product_of_its_factors() {
        let product: u32 = FACTORS.iter().map(|&(q, k)| q.pow(k)).product();
        assert_eq!(product, SIZE - 1);
    }

    #[test]
    fn powers_of_the_generator_and_numbers_are_all_distinct() {
        let mut seen = vec![false; SIZE as usize];
        let mut power = Cubic.scalar(1);
        for _ in 1..SIZE {
            let number = Cubic.number(power) as usize;
            assert!(number > 0 && !std::mem::replace(&mut seen[number], true));
            power = Cubic.mul(power, Cubic.generator());
        }
        assert!((0..SIZE).all(|number| Cubic.number(Cubic.element(number)) == number));
        assert_eq!(Cubic.element(0), CubicElement::default());
    }

    #[test]
    fn full_sums_reduce_exactly() {
        let top = CubicElement::from_reduced([P - 1; 3]);
        let row = vec![top; 3 * LAZY_TERMS + 5];
        let square = Cubic.mul(top, top);
        let expected = Cubic.mul(square, Cubic.scalar(row.len() as u32 % P));
        assert_eq!(Cubic.dot(&row, &row), expected);
        let expected = Cubic.mul(top, Cubic.scalar(row.len() as u32 % P));
        assert_eq!(Cubic.sum(&row), expected);
    }

    #[test]
    fn inverses() {
        assert_eq!(Cubic.inv(CubicElement::default()), None);
        for index in (1..SIZE).step_by(997) {
            let x = Cubic.element(index);
            assert_eq!(Cubic.inv(x).map(|i| Cubic.mul(i, x)), Some(Cubic.scalar(1)));
        }
    }
}
