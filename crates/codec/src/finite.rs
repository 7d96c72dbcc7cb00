//! The operations that the code needs of a field: prime ([`Field`](crate::Field)) or cubic
//! ([`Cubic`](crate::Cubic)).

use omr_marks::published;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::AddAssign;

/// A finite field whose sums of products are reduced late.
///
/// Methods require elements that the field [contains](FiniteField::contains), and return such. But for
/// [`FiniteField::inv`] and the exponent of [`FiniteField::pow`] their time does not depend on values.
pub trait FiniteField: Copy + Debug {
    /// An element; the default one is zero.
    type Element: Copy + Debug + Default + Hash + Ord;
    /// An unreduced sum of products; the default one is empty.
    type Sum: Copy + AddAssign + Default;

    /// The prime `p` such that `p` times one is zero.
    fn characteristic(&self) -> u32;

    /// The number of elements, odd.
    fn size(&self) -> u32;

    /// A fixed generator of the multiplicative group.
    fn generator(&self) -> Self::Element;

    /// `n` times one. Range: `n` below the characteristic.
    fn scalar(&self, n: u32) -> Self::Element;

    /// The element's number: zero for zero, and scalars are their own. Range: below the size.
    fn number(&self, a: Self::Element) -> u32;

    /// The element with this number. Range: `number` below the size.
    fn element(&self, number: u32) -> Self::Element;

    /// `a + b`.
    fn add(&self, a: Self::Element, b: Self::Element) -> Self::Element;

    /// `-a`.
    fn neg(&self, a: Self::Element) -> Self::Element;

    /// `a * b`, unreduced.
    fn mul_lazy(&self, a: Self::Element, b: Self::Element) -> Self::Sum;

    /// How many products of two elements a sum holds; a reduced value counts as one. At least 4.
    fn lazy_terms(&self) -> usize;

    /// The sum that holds one element.
    fn widen(&self, a: Self::Element) -> Self::Sum;

    /// The element that a sum of at most [`FiniteField::lazy_terms`] products is.
    fn reduce(&self, sum: Self::Sum) -> Self::Element;

    /// Whether `a` is a reduced element.
    #[inline]
    fn contains(&self, a: Self::Element) -> bool {
        self.number(a) < self.size()
    }

    /// `a - b`.
    #[inline]
    fn sub(&self, a: Self::Element, b: Self::Element) -> Self::Element {
        self.add(a, self.neg(b))
    }

    /// `a * b`.
    #[inline]
    fn mul(&self, a: Self::Element, b: Self::Element) -> Self::Element {
        self.reduce(self.mul_lazy(a, b))
    }

    /// `a^e`, with `0^0 = 1`. Time: variable in `e`.
    fn pow(&self, a: Self::Element, mut e: u64) -> Self::Element {
        let (mut base, mut result) = (a, self.scalar(1));
        while e > 0 {
            if e & 1 == 1 {
                result = self.mul(result, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        result
    }

    /// `1 / a`, or `None` where `a` is zero.
    fn inv(&self, a: Self::Element) -> Option<Self::Element> {
        let inverse = self.inv_or_zero(a);
        (inverse != Self::Element::default()).then_some(inverse)
    }

    /// `1 / a`, or zero for zero.
    fn inv_or_zero(&self, a: Self::Element) -> Self::Element {
        self.pow(a, u64::from(self.size()) - 2)
    }

    /// The inner product of two rows of elements (the shorter length counts).
    fn dot(&self, a: &[Self::Element], b: &[Self::Element]) -> Self::Element {
        let chunk = self.lazy_terms() - 1; // one term is the carry
        let mut carry = Self::Element::default();
        for (a, b) in a.chunks(chunk).zip(b.chunks(chunk)) {
            let mut sum = self.widen(carry);
            for (&x, &y) in a.iter().zip(b) {
                sum += self.mul_lazy(x, y);
            }
            carry = self.reduce(sum);
        }
        carry
    }

    /// The sum of a row of elements.
    fn sum(&self, row: &[Self::Element]) -> Self::Element {
        let mut carry = Self::Element::default();
        for row in row.chunks(self.lazy_terms() - 1) {
            let mut sum = self.widen(carry);
            row.iter().for_each(|&x| sum += self.widen(x));
            carry = self.reduce(sum);
        }
        carry
    }

    /// The first value of `row` that the field lacks: its place and number. All of `row` is looked at before anything
    /// depends on it.
    fn first_out_of_range(&self, row: &[Self::Element]) -> Option<(usize, u32)> {
        let within = row.iter().fold(true, |all, &a| all & self.contains(a));
        // Public: what a recipient decrypts or solves for is always in range, and all else came over a wire.
        if published(within) {
            return None;
        }
        let index = row.iter().position(|&a| !self.contains(a))?;
        Some((index, self.number(row[index])))
    }
}
