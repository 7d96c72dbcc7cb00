//! The error of homomorphic operations.

use omr_errors::Mismatch;

/// The operands of an operation do not allow it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The operands have different levels; expected is the first operand's.
    #[error("expected a ciphertext at level {}, found level {}", .0.expected, .0.found)]
    Level(Mismatch<usize>),
    /// The operands have different scales; expected is the first operand's.
    #[error("expected scale {}, found {}", .0.expected, .0.found)]
    Scale(Mismatch<u64>),
    /// A ciphertext has another number of parts than the operation requires.
    #[error("expected a ciphertext of {} parts, found {}", .0.expected, .0.found)]
    Parts(Mismatch<usize>),
    /// The chain has no lower level.
    #[error("expected a level below {}, found {}: the modulus chain is used up", .0.expected, .0.found)]
    Exhausted(Mismatch<usize>),
    /// The caller stopped the computation ([`crate::Evaluator::stop`]).
    #[error("stopped before the result was complete")]
    Stopped,
}
