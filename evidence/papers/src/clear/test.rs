//! The polynomial by which a detector decides whether a distance is that of a pertinent message.

use super::{LweKind, LweParams, Spec};
use crate::EvenFunction;
use omr_bgv::RangePolynomial;
use omr_protocol::ParamsError;
use omr_protocol::params::dimension;
use omr_ring::Modulus;

/// The polynomial that decides under encryption whether a distance is that of a pertinent message.
#[derive(Clone, Debug)]
pub enum DistanceTest {
    /// SophOMR's polynomial on residues modulo p: `prod (Y - i^2)` over the window, which is 0 inside the
    /// window. The norm of two coordinates and one power follow it.
    ///
    /// OMR's polynomial of degree p - 1 (Liu, Tromer 2021) equals this one to the power `p - 1` on all of
    /// `Z_p`: both are 0 in the window and 1 elsewhere.
    Window(RangePolynomial),
    /// A polynomial that is 0 for a pertinent distance, else 1. For integers, which are never reduced
    /// (PerfOMR2), it is 0 near the multiples of q, up to the largest possible distance. For residues it is
    /// OMR's polynomial. The product over all coordinates of 1 minus its value follows.
    Whole(EvenFunction),
}

impl DistanceTest {
    /// Returns the polynomial of a set. If `whole`, one polynomial decides residues, without a power after it.
    /// Time: quadratic in the largest distance, for integers.
    ///
    /// Errors: `Dimension` if squares of different distances of the clue would coincide modulo p.
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
        let values: Vec<u64> = (0..=largest)
            .map(|distance| u64::from(!clue.accepts(&[distance])))
            .collect();
        Ok(Self::Whole(EvenFunction::new(p, &values, spec.rings.block)))
    }

    /// Returns the degree, in the squared distance, of the one polynomial that decides each coordinate; `None`
    /// for a window and a power.
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

    /// Returns the number of levels of the product over `values` values that are 0 or 1.
    pub(super) fn product_depth(values: usize) -> usize {
        values.next_power_of_two().trailing_zeros() as usize
    }

    /// Returns whether the polynomial accepts a distance as that of a pertinent message, in the clear. Time:
    /// vartime.
    pub fn accepts(&self, p: &Modulus, distance: i64) -> bool {
        let coefficients = match self {
            Self::Window(window) => window.coefficients(),
            Self::Whole(even) => even.coefficients(),
        };
        let x = p.from_i64(distance);
        let y = p.mul(x, x);
        let highest_first = coefficients.iter().rev();
        highest_first.fold(0, |sum, &c| p.add(p.mul(sum, y), c)) == 0
    }
}

/// Returns whether distances are integers, not residues.
fn is_integers(clue: &LweParams) -> bool {
    matches!(clue.spec().kind, LweKind::Integers { .. })
}
