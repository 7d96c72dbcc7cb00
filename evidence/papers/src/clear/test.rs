//! How a set decides whether a distance is a pertinent message's.

use super::{LweKind, LweParams, Spec};
use crate::EvenFunction;
use omr_bgv::RangePolynomial;
use omr_protocol::ParamsError;
use omr_protocol::params::dimension;
use omr_ring::Modulus;

/// The polynomial that decides under encryption.
#[derive(Clone, Debug)]
pub enum DistanceTest {
    /// Residues modulo p: SophOMR's `prod (Y - i^2)` over the window, zero in it. The norm of two coordinates and one
    /// power follow.
    ///
    /// The polynomial of degree p - 1 of OMR (Liu, Tromer 2021) is on all of `Z_p` this one to the power
    /// `p - 1`: both are 0 in the window and 1 elsewhere.
    Window(RangePolynomial),
    /// 0 where it is pertinent, else 1. Of integers, never reduced (PerfOMR2): up to the largest distance that there
    /// is, near the multiples of q. Of residues: the polynomial of OMR. The product over all coordinates of what is
    /// left to 1 follows.
    Whole(EvenFunction),
}

impl DistanceTest {
    /// The polynomial of a set. `whole`: whether residues are decided by one polynomial, without a power after it.
    /// Time: the square of the largest distance, for integers.
    ///
    /// Errors: `Dimension` where squares of different distances of the clue would not differ modulo p.
    pub(super) fn new(
        p: &Modulus,
        spec: &Spec,
        clue: Option<&LweParams>,
        whole: bool,
    ) -> Result<Self, ParamsError> {
        let Some(clue) = clue.filter(|clue| is_integers(clue)) else {
            let rings = &spec.rings;
            return Ok(if whole {
                Self::Whole(EvenFunction::outside(p, rings.range, rings.block))
            } else {
                Self::Window(RangePolynomial::new(p, rings.range, rings.block))
            });
        };
        let largest = clue.spec().largest_distance();
        let fits = 2 * (largest as u64) < p.value();
        dimension(fits, "distances below half of p", largest as usize)?;
        let value = |distance| u64::from(!clue.accepts(&[distance]));
        let values: Vec<u64> = (0..=largest).map(value).collect();
        Ok(Self::Whole(EvenFunction::new(p, &values, spec.rings.block)))
    }

    /// The degree in the squared distance of the one polynomial that decides each coordinate; `None` for a window and a
    /// power.
    pub(super) fn whole_degree(
        spec: &Spec,
        clue: Option<&LweParams>,
        whole: bool,
    ) -> Option<usize> {
        match clue.filter(|clue| is_integers(clue)) {
            Some(clue) => Some(clue.spec().largest_distance() as usize),
            None => whole.then_some((spec.rings.p as usize - 1) / 2),
        }
    }

    /// Levels of the product over so many values that are 0 or 1.
    pub(super) fn product_depth(values: usize) -> usize {
        values.next_power_of_two().trailing_zeros() as usize
    }

    /// Whether it makes a distance a pertinent message's, in the clear. Time: vartime.
    pub fn accepts(&self, p: &Modulus, distance: i64) -> bool {
        let coefficients = match self {
            Self::Window(window) => window.coefficients(),
            Self::Whole(even) => even.coefficients(),
        };
        let y = p.from_i64(distance);
        let y = p.mul(y, y);
        let value = coefficients.iter().rev();
        value.fold(0, |sum, &c| p.add(p.mul(sum, y), c)) == 0
    }
}

/// Whether distances are integers, not residues.
fn is_integers(clue: &LweParams) -> bool {
    matches!(clue.spec().kind, LweKind::Integers { .. })
}
