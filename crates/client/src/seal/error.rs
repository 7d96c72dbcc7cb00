//! Errors of sealing and opening.

use omr_protocol::Mismatch;

/// An error of sealing or opening a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The payload was sealed to another key or with other associated data, or was altered.
    #[error("sealed payload rejected: it is for another recipient or place, or was altered")]
    Rejected,
    /// The payload is too short for a sealed one.
    #[error("expected a sealed payload of at least {} bytes, found {}", .0.expected, .0.found)]
    Truncated(Mismatch<usize>),
    /// The public key is not one that can be sealed to.
    #[error("the recipient's sealing key is not a valid public key")]
    PublicKey,
    /// A key has the wrong length.
    #[error("expected a sealing key of {} bytes, found {}", .0.expected, .0.found)]
    KeyLength(Mismatch<usize>),
    /// The plaintext, of this many bytes, is over the cipher's limit of 256 GiB.
    #[error("payload of {0} bytes is over the cipher's limit")]
    TooLong(usize),
}
