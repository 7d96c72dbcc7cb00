//! Parameter sets: clues, the engines that serve them, and what is asked of all of them. Schemes have their own
//! parts: [`crate::sophomr::Params`], [`crate::instantomr::InstantParams`].

mod clue;
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

/// What can be wrong with parameters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// No published set has this name. The sets that new keys usually have are expected, and one of a similar name.
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
    /// A clue's secret below 128 bits of security, or one that nobody estimated.
    #[error("expected clues of at least 128 bits of security, found {found:.1} for the {part}")]
    WeakClue {
        /// What is weak.
        part: &'static str,
        /// Its bits of security; 0 where none are known.
        found: f64,
    },
    /// Dimensions that do not fit each other.
    #[error("dimension: {0}")]
    Dimension(Mismatch<&'static str, usize>),
    /// A prime does not exist or does not fit.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Numbers of packing and opening that do not fit each other.
    #[error(transparent)]
    Opening(#[from] omr_opening::OpeningError),
    /// The sparse-recovery code does not fit the plaintext modulus.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
}

/// Errors: `Dimension` unless `ok`.
pub fn dimension(ok: bool, expected: &'static str, found: usize) -> Result<(), ParamsError> {
    if ok {
        Ok(())
    } else {
        Err(ParamsError::Dimension(Mismatch::new(expected, found)))
    }
}

/// The set of boards, servers and keys unless another one is named. Both engines can work on its clues.
pub const DEFAULT: &str = "hybrid-v4";

/// The set of SophOMR alone, for measurements. Its circuit is that of [`DEFAULT`].
pub const SOPHOMR: &str = "sophomr-v5";
