//! Elements of the cubic field, three coefficients in one word.

use omr_marks::published;
use subtle::{Choice, ConditionallySelectable};

/// The characteristic of the field.
pub(super) const P: u32 = 97;
/// Bits from one coefficient to the next: a product of two elements needs 15, and a sum of many
/// products has the rest.
pub(super) const LANE: u32 = 25;
/// One in every lane.
const ONES: u64 = 1 | 1 << LANE | 1 << (2 * LANE);

/// An element `c0 + c1 y + c2 y^2` of [`Cubic`](crate::Cubic); the default one is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CubicElement(u64);

impl CubicElement {
    /// The element with the given coefficients `c0`, `c1`, `c2`, or `None` unless all are below 97.
    pub fn from_coefficients(coefficients: [u8; 3]) -> Option<Self> {
        let words = coefficients.map(u32::from);
        let largest = words.into_iter().fold(0, u32::max);
        // Public: what a recipient decrypts is always below, and all else came over a wire.
        published(largest < P).then(|| Self::from_reduced(words))
    }

    /// The coefficients `c0`, `c1`, `c2`, each below 97.
    pub fn coefficients(self) -> [u8; 3] {
        self.lanes().map(|lane| lane as u8)
    }

    /// Range: coefficients below 97.
    #[inline]
    pub(super) fn from_reduced([c0, c1, c2]: [u32; 3]) -> Self {
        debug_assert!(c0 < P && c1 < P && c2 < P);
        Self(u64::from(c0) | u64::from(c1) << LANE | u64::from(c2) << (2 * LANE))
    }

    #[inline]
    pub(super) fn lanes(self) -> [u32; 3] {
        [0, LANE, 2 * LANE].map(|shift| (self.0 >> shift) as u32 & ((1 << LANE) - 1))
    }

    /// The word whose lanes are the coefficients; the highest is below `2^57`.
    #[inline]
    pub(super) fn word(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) fn plus(self, other: Self) -> Self {
        Self(settle(self.0 + other.0))
    }

    #[inline]
    pub(super) fn negated(self) -> Self {
        Self(settle(ONES * u64::from(P) - self.0)) // no lane borrows
    }
}

impl ConditionallySelectable for CubicElement {
    #[inline]
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        Self(u64::conditional_select(&a.0, &b.0, choice))
    }
}

/// Subtracts 97 from every lane that is not below it. Range: lanes below 194.
#[inline]
fn settle(word: u64) -> u64 {
    let carried = word + ONES * u64::from(128 - P); // bit 7 is set in lanes from 97 to 224
    word - ((carried >> 7) & ONES) * u64::from(P)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_checked_and_kept() {
        for coefficients in [[0, 0, 0], [96, 0, 1], [1, 96, 0], [96, 96, 96]] {
            let element = CubicElement::from_coefficients(coefficients).unwrap();
            assert_eq!(element.coefficients(), coefficients);
        }
        for coefficients in [[97, 0, 0], [0, 97, 0], [0, 0, 97], [255, 255, 255]] {
            assert_eq!(CubicElement::from_coefficients(coefficients), None);
        }
    }

    #[test]
    fn every_pair_of_coefficients_adds_and_negates() {
        for a in 0..P {
            for b in 0..P {
                let (x, y) = ([a, b, P - 1 - a], [b, 96, a]);
                let sum = CubicElement::from_reduced(x).plus(CubicElement::from_reduced(y));
                let expected = [0, 1, 2].map(|i| (x[i] + y[i]) % P);
                assert_eq!(sum.lanes(), expected);
                let minus = CubicElement::from_reduced(x).negated();
                assert_eq!(minus.lanes(), x.map(|c| (P - c) % P));
            }
        }
    }
}
