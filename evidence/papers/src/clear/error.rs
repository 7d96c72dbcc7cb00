//! Errors of parameter sets.

use omr_protocol::Mismatch;
use omr_protocol::ParamsError;

/// A parameter set or scheme cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// No set has this name.
    #[error("expected one of the parameter sets {}, found {:?}", .0.expected, .0.found)]
    Unknown(Mismatch<String>),
    /// No scheme has this name.
    #[error("expected one of the schemes {}, found {:?}", .0.expected, .0.found)]
    Scheme(Mismatch<String>),
    /// A set has less than 128 bits of security, and the caller did not allow this.
    #[error(
        "expected a parameter set of at least 128 bits, found {name} with {bits}: it is for comparison \
         only, and must be allowed explicitly"
    )]
    Weak {
        /// The name of the set.
        name: &'static str,
        /// The set's bits of security.
        bits: f64,
    },
    /// Parameters do not fit each other.
    #[error(transparent)]
    Params(#[from] ParamsError),
}
