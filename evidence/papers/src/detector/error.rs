//! Errors of detectors.

use omr_detector::DetectorError;
use omr_protocol::Mismatch;

/// An error of a detector of the papers' schemes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PaperError {
    /// No trace sums bundles of this size.
    #[error("expected bundles of a power of two of at most {} messages, found {}", .0.expected, .0.found)]
    BundleSize(Mismatch<usize>),
    /// The keys of this parameter set lack the automorphisms of oblivious expansion.
    #[error("expected a parameter set with oblivious expansion, found {0}")]
    NoExpansion(&'static str),
    /// A digest would have no sums.
    #[error("expected at least one sum in a digest, found none")]
    Empty,
    /// An entry of the index part is out of range.
    #[error("expected a position below {positions} in the row of bundle {bundle}, found {found}")]
    Position {
        /// The number of the bundle.
        bundle: usize,
        /// The number of positions in the index part.
        positions: usize,
        /// The position of the entry.
        found: usize,
    },
    /// A value of a row is not a residue.
    #[error("expected residues below {modulus} in the row of bundle {bundle}, found {found}")]
    Residue {
        /// The number of the bundle.
        bundle: usize,
        /// The plaintext modulus.
        modulus: u64,
        /// The value.
        found: u64,
    },
    /// The pertinency vector has another number of parts.
    #[error("expected {} small ciphertexts, found {}", .0.expected, .0.found)]
    Parts(Mismatch<usize>),
    /// A ring does not exist.
    #[error(transparent)]
    Ring(#[from] omr_ring::RingError),
    /// An error of the front end, or a stop requested by the caller.
    #[error(transparent)]
    Detector(#[from] DetectorError),
}
