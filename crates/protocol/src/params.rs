//! Parameter sets: clues and the engines that can process them. Schemes have their own parts:
//! [`crate::sophomr::Params`], [`crate::instantomr::InstantParams`].

mod clue;
pub(crate) mod miss;
mod published;
mod security;
mod set;

pub use clue::{ClueParams, ClueSecret, ClueSpec, Posting, SecondSecret, SecretSpec};
pub use security::{
    Bits, CLUE_ESTIMATES, ClueEstimate, LEAST_BITS, PACKING_KEY_BITS, ROTATION_KEY_BITS, Security,
    largest_log_pq,
};
pub use set::{ParamSet, SetSpec};

use omr_errors::Mismatch;
use omr_ring::RingError;

/// An error in parameters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// No published set has this name. The message lists the secure sets and a similar name.
    #[error("expected one of the parameter sets {}, found {:?}; `omr params list` names all", .0.expected, .0.found)]
    Unknown(Mismatch<String>),
    /// The set lacks an engine.
    #[error("expected a parameter set with {expected}, found {name}, which has none")]
    NoEngine {
        /// The set.
        name: String,
        /// The engine.
        expected: &'static str,
    },
    /// A key would fall below 128 bits of security.
    #[error(
        "expected log2(PQ) of at most {limit} bits in dimension {n} for 128-bit security, found {found:.1}"
    )]
    Insecure {
        /// Ring dimension.
        n: usize,
        /// The largest modulus that is estimated secure.
        limit: f64,
        /// The key's modulus.
        found: f64,
    },
    /// A clue's secret has less than 128 bits of security, or no estimate is known.
    #[error("expected clues of at least 128 bits of security, found {found:.1} for the {part}")]
    WeakClue {
        /// The part of clues that is weak.
        part: &'static str,
        /// Bits of security of this part; 0 if no estimate is known.
        found: f64,
    },
    /// Dimensions do not fit each other.
    #[error("dimension: {0}")]
    Dimension(Mismatch<&'static str, usize>),
    /// A prime does not exist or does not fit.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Parameters of packing and opening do not fit each other.
    #[error(transparent)]
    Opening(#[from] omr_opening::OpeningError),
    /// Parameters of two rounds do not fit each other.
    #[error(transparent)]
    Rounds(#[from] omr_rounds::RoundsError),
    /// The sparse-recovery code does not fit the plaintext modulus.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
}

/// Checks a dimension.
///
/// Errors: `Dimension` unless `ok`.
pub fn dimension(ok: bool, expected: &'static str, found: usize) -> Result<(), ParamsError> {
    if ok {
        Ok(())
    } else {
        Err(ParamsError::Dimension(Mismatch::new(expected, found)))
    }
}

/// The parameter set of boards, servers and keys unless another one is named. Both engines can process its clues.
pub const DEFAULT: &str = "hybrid-v4";

/// The parameter set of SophOMR alone, for measurements. It has the circuit of [`DEFAULT`].
pub const SOPHOMR: &str = "sophomr-v5";
