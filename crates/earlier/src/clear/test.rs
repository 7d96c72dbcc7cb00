//! The polynomial that decides whether a distance is a pertinent message's.

use super::{ParamsSpec, Posted};
use crate::ParamsError;
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
    /// 0 where it is pertinent, else 1. Of integers, never reduced (PerfOMR2): up to the largest distance that there
    /// is, near the multiples of q. Of residues: the polynomial of OMR. The product over all coordinates of what is
    /// left to 1 follows.
    Whole(EvenFunction),
}

impl DistanceTest {
    /// That of a specification. Time: the square of the largest distance, for integers.
    ///
    /// Errors: `Dimension` where the clue's parameters do not fit.
    pub(super) fn new(p: &Modulus, spec: &ParamsSpec) -> Result<Self, ParamsError> {
        if spec.integers().is_none() {
            let (range, block) = (spec.range, spec.block);
            return Ok(match spec.whole {
                true => Self::Whole(EvenFunction::outside(p, range, block)),
                false => Self::Window(RangePolynomial::new(p, range, block)),
            });
        }
        let Posted::Lwe { name, spec: clue } = &spec.posted else {
            unreachable!("integers are those of LWE clues");
        };
        let clue = LweParams::new(name, *clue)?;
        let value = |distance| u64::from(!clue.accepts(&[distance]));
        let values: Vec<u64> = (0..=clue.spec().largest_distance()).map(value).collect();
        Ok(Self::Whole(EvenFunction::new(p, &values, spec.block)))
    }

    /// Levels of the product over so many coordinates.
    pub(super) fn product_depth(coordinates: usize) -> usize {
        coordinates.next_power_of_two().trailing_zeros() as usize
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
