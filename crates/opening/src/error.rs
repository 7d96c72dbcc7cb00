//! The error of opening.

use omr_errors::Mismatch;
use omr_ring::RingError;

/// Shapes that do not fit together.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpeningError {
    /// A dimension that does not fit the others.
    #[error("expected {}, found {}", .0.expected, .0.found)]
    Dimension(Mismatch<&'static str, usize>),
    /// A modulus that is no prime of the ring, or none of its size.
    #[error(transparent)]
    Ring(#[from] RingError),
}

/// Checks one dimension.
pub(crate) fn dimension(
    fits: bool,
    expected: &'static str,
    found: usize,
) -> Result<(), OpeningError> {
    if fits {
        Ok(())
    } else {
        Err(OpeningError::Dimension(Mismatch::new(expected, found)))
    }
}
