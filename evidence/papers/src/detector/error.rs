//! Why a digest of an earlier scheme could not be made.

use omr_detector::DetectorError;
use omr_protocol::Mismatch;

/// Why a digest of an earlier scheme could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EarlierError {
    /// A bundle size that no trace sums up.
    #[error("expected bundles of a power of two of at most {} messages, found {}", .0.expected, .0.found)]
    BundleSize(Mismatch<usize>),
    /// The keys of this parameter set lack what the expansion takes.
    #[error("expected a parameter set with oblivious expansion, found {0}")]
    NoExpansion(&'static str),
    /// A digest without sums.
    #[error("expected at least one sum in a digest, found none")]
    Empty,
    /// An entry of the index part that has no place.
    #[error("expected a position below {positions} in the row of bundle {bundle}, found {found}")]
    Position {
        /// The bundle.
        bundle: usize,
        /// Positions of the index part.
        positions: usize,
        /// The entry's.
        found: usize,
    },
    /// A value of a row that is no residue.
    #[error("expected residues below {modulus} in the row of bundle {bundle}, found {found}")]
    Residue {
        /// The bundle.
        bundle: usize,
        /// The plaintext modulus.
        modulus: u64,
        /// The value.
        found: u64,
    },
    /// The pertinency vector has another number of parts.
    #[error("expected {} small ciphertexts, found {}", .0.expected, .0.found)]
    Parts(Mismatch<usize>),
    /// A ring that does not exist.
    #[error(transparent)]
    Ring(#[from] omr_ring::RingError),
    /// The front end, or whoever watches the progress.
    #[error(transparent)]
    Detector(#[from] DetectorError),
}
