//! The parts of a server's key and their numbers.

use crate::Params;
use crate::noise::EXPANSION_LEVELS;
use omr_compress::{KeyUse, MIN_WIDTH};
use omr_ring::{Basis, Ring};
use omr_rlwe::KeyShape;
use std::ops::RangeInclusive;

/// The parts of a server's key in the order of the file; the number is the mask's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `X -> X^(n / 2^i + 1)`, large ring.
    Expand(u32),
    /// Relinearisation, large ring.
    Product,
    /// Switching from the large to the small ring.
    Descent,
    /// Rotation by one slot, small ring.
    Turn,
    /// Swap of slot rows, small ring.
    Swap,
    /// Merging of packed ciphertexts, small ring.
    Merge(u32),
    /// Switching from the small ring to the ring of answers.
    Final,
    /// An encryption of zero, small ring: in sets with two-sided privacy.
    Zero,
}

/// Levels of merging that an answer may need.
pub(super) fn merge_levels(params: &Params) -> RangeInclusive<u32> {
    omr_compress::merge_levels(params.spec().small_n, MIN_WIDTH)
}

impl Part {
    /// All parts of a key.
    pub fn all(params: &Params) -> Vec<Part> {
        let mut parts: Vec<Part> = (0..EXPANSION_LEVELS as u32).map(Part::Expand).collect();
        parts.extend([Part::Product, Part::Descent, Part::Turn, Part::Swap]);
        parts.extend(merge_levels(params).map(Part::Merge));
        parts.push(Part::Final);
        parts.extend(params.two_sided().then_some(Part::Zero));
        parts
    }

    /// The index of its masks.
    pub(super) fn index(self) -> u64 {
        match self {
            Part::Product => 0,
            Part::Descent => 1,
            Part::Turn => 2,
            Part::Swap => 3,
            Part::Final => 4,
            Part::Zero => 5,
            Part::Merge(level) => 16 + u64::from(level),
            Part::Expand(level) => 48 + u64::from(level),
        }
    }

    /// The automorphism it is for; 1 where it is for none.
    pub(super) fn exponent(self, params: &Params) -> usize {
        let small = params.spec().small_n;
        match self {
            Part::Expand(level) => (params.spec().n >> level) + 1,
            Part::Turn => KeyUse::Turn.exponent(small),
            Part::Swap => KeyUse::Swap.exponent(small),
            Part::Merge(level) => KeyUse::Merge(level).exponent(small),
            Part::Product | Part::Descent | Part::Final | Part::Zero => 1,
        }
    }

    /// Ring and gadget. Panics: for [`Part::Final`] and [`Part::Zero`], which are no [`omr_rlwe::SwitchingKey`].
    pub(super) fn switching(self, params: &Params) -> (&Ring, &KeyShape) {
        match self {
            Part::Expand(_) | Part::Product => (&params.ring, &params.product_shape),
            Part::Descent => (&params.ring, &params.descent_shape),
            Part::Turn | Part::Swap | Part::Merge(_) => (&params.small, &params.small_shape),
            Part::Final | Part::Zero => unreachable!("parts of a shape of their own"),
        }
    }

    /// Ring, primes and number of the bodies that make it up.
    pub(super) fn bodies(self, params: &Params) -> (&Ring, Basis, usize) {
        match self {
            Part::Final => {
                let (ring, shape) = (&params.final_ring, &params.final_shape);
                (ring, ring.everything(), shape.rows() * shape.bodies())
            }
            Part::Zero => (&params.small, params.small_basis().clone(), 1),
            _ => {
                let (ring, shape) = self.switching(params);
                (ring, shape.extended(), shape.digits().len())
            }
        }
    }
}
