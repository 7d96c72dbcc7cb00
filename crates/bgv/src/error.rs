//! The error of homomorphic operations.

/// An operation that its operands do not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The operands stand at different levels.
    #[error("expected a ciphertext at level {expected}, found level {found}")]
    Level {
        /// The other operand's level.
        expected: usize,
        /// This one's.
        found: usize,
    },
    /// The operands carry different scales.
    #[error("expected scale {expected}, found {found}")]
    Scale {
        /// The other operand's scale.
        expected: u64,
        /// This one's.
        found: u64,
    },
    /// A ciphertext with another number of parts than the operation takes.
    #[error("expected a ciphertext of {expected} parts, found {found}")]
    Parts {
        /// The number of parts that the operation takes.
        expected: usize,
        /// The number of parts that it was given.
        found: usize,
    },
    /// No level is left below.
    #[error("expected a level below {levels}, found {found}: the modulus chain is used up")]
    Exhausted {
        /// The chain's length.
        levels: usize,
        /// The level asked for.
        found: usize,
    },
}
