//! Errors of parameters and of shapes.

use omr_errors::Mismatch;

/// An error of parameters that do not fit each other, or of parts of an unexpected shape.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RoundsError {
    /// A number of a specification does not fit the others.
    #[error("expected {expected}, found {found}")]
    Dimension {
        /// The condition.
        expected: &'static str,
        /// The number.
        found: usize,
    },
    /// The numbers of packing do not fit each other.
    #[error(transparent)]
    Opening(#[from] omr_opening::OpeningError),
    /// There is no ring with these numbers.
    #[error(transparent)]
    Ring(#[from] omr_ring::RingError),
    /// A part of a response or a query has another number of elements.
    #[error("expected {} {what}, found {}", .of.expected, .of.found)]
    Length {
        /// The elements.
        what: &'static str,
        /// Both numbers.
        of: Mismatch<usize>,
    },
    /// The ciphertexts of an answer have another shape.
    #[error(transparent)]
    Packed(#[from] omr_compress::PackedError),
}

impl RoundsError {
    /// Checks a condition on a number.
    ///
    /// Errors: `Dimension`.
    pub(crate) fn dimension(
        holds: bool,
        expected: &'static str,
        found: usize,
    ) -> Result<(), RoundsError> {
        if holds {
            return Ok(());
        }
        Err(Self::Dimension { expected, found })
    }

    /// Checks a number of elements.
    ///
    /// Errors: `Length`.
    pub(crate) fn length(
        what: &'static str,
        expected: usize,
        found: usize,
    ) -> Result<(), RoundsError> {
        if expected == found {
            return Ok(());
        }
        let of = Mismatch::new(expected, found);
        Err(Self::Length { what, of })
    }
}
