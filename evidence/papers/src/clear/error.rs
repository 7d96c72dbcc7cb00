//! Why a set cannot be had.

use omr_protocol::Mismatch;
use omr_protocol::ParamsError;

/// A set or scheme that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// No set has this name.
    #[error("expected one of the parameter sets {}, found {:?}", .0.expected, .0.found)]
    Unknown(Mismatch<String>),
    /// No scheme has this name.
    #[error("expected one of the schemes {}, found {:?}", .0.expected, .0.found)]
    Scheme(Mismatch<String>),
    /// A set below 128 bits that nobody asked for.
    #[error(
        "expected a parameter set of at least 128 bits, found {name} with {bits}: it is for comparison \
         only, and must be allowed explicitly"
    )]
    Weak {
        /// The set.
        name: &'static str,
        /// Its bits of security.
        bits: f64,
    },
    /// Parameters that do not fit each other.
    #[error(transparent)]
    Params(#[from] ParamsError),
}
