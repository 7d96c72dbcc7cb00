//! The polynomial that decides whether a distance is a pertinent message's.

use super::{ParamsError, ParamsSpec, Posted};
use crate::earlier::LweParams;
use omr_bgv::{EvenFunction, RangePolynomial};
use omr_ring::Modulus;

/// How the detector decides, under encryption.
#[derive(Clone, Debug)]
pub enum DistanceTest {
    /// Residues modulo p: `prod (Y - i^2)` over the window, zero in it. The norm of two coordinates and one
    /// power follow.
    ///
    /// The polynomial of degree p - 1 of OMR (Liu, Tromer 2021) is on all of `Z_p` this one to the power
    /// `p - 1`: both are 0 in the window and 1 elsewhere.
    Window(RangePolynomial),
    /// Integers, never reduced (PerfOMR2): 0 near the multiples of q, else 1, up to the largest distance that there
    /// is. The product over all coordinates of what is left to 1 follows.
    Integers(EvenFunction),
}

impl DistanceTest {
    /// That of a specification. Time: the square of the largest distance, for integers.
    ///
    /// Errors: `Dimension` where the clue's parameters do not fit.
    pub(super) fn new(p: &Modulus, spec: &ParamsSpec) -> Result<Self, ParamsError> {
        let (Posted::Lwe { name, spec: clue }, Some(_)) = (&spec.posted, spec.integers()) else {
            return Ok(Self::Window(RangePolynomial::new(
                p, spec.range, spec.block,
            )));
        };
        let clue = LweParams::new(name, *clue)?;
        let value = |distance| u64::from(!clue.accepts(&[distance]));
        let values: Vec<u64> = (0..=clue.spec().largest_distance()).map(value).collect();
        Ok(Self::Integers(EvenFunction::new(p, &values, spec.block)))
    }

    /// Levels of the product over so many coordinates.
    pub(super) fn product_depth(coordinates: usize) -> usize {
        coordinates.next_power_of_two().trailing_zeros() as usize
    }

    /// Whether it makes a distance a pertinent message's, in the clear. Time: vartime.
    pub fn accepts(&self, p: &Modulus, distance: i64) -> bool {
        let coefficients = match self {
            Self::Window(window) => window.coefficients(),
            Self::Integers(even) => even.coefficients(),
        };
        let y = p.from_i64(distance);
        let y = p.mul(y, y);
        let value = coefficients.iter().rev();
        value.fold(0, |sum, &c| p.add(p.mul(sum, y), c)) == 0
    }
}
