//! The error of homomorphic operations.

use omr_errors::Mismatch;

/// An operation that its operands do not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The operands stand at different levels; expected is the other one's.
    #[error("expected a ciphertext at level {}, found level {}", .0.expected, .0.found)]
    Level(Mismatch<usize>),
    /// The operands carry different scales; expected is the other one's.
    #[error("expected scale {}, found {}", .0.expected, .0.found)]
    Scale(Mismatch<u64>),
    /// A ciphertext with another number of parts than the operation takes.
    #[error("expected a ciphertext of {} parts, found {}", .0.expected, .0.found)]
    Parts(Mismatch<usize>),
    /// No level is left below.
    #[error("expected a level below {}, found {}: the modulus chain is used up", .0.expected, .0.found)]
    Exhausted(Mismatch<usize>),
    /// The computation was stopped, as its result is not needed any more ([`crate::Evaluator::stop`]).
    #[error("stopped before the result was there")]
    Stopped,
}
