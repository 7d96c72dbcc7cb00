//! What can go wrong in sealing and opening.

use omr_protocol::Mismatch;

/// Why a payload was not sealed or opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// Not sealed to this secret, not with this associated data, or altered since.
    #[error("sealed payload rejected: it is for another recipient or place, or was altered")]
    Rejected,
    /// Too short to have been sealed.
    #[error("expected a sealed payload of at least {} bytes, found {}", .0.expected, .0.found)]
    Truncated(Mismatch<usize>),
    /// The public key is not one that can be sealed to.
    #[error("the recipient's sealing key is not a valid public key")]
    PublicKey,
    /// A key has the wrong length.
    #[error("expected a sealing key of {} bytes, found {}", .0.expected, .0.found)]
    KeyLength(Mismatch<usize>),
    /// The plaintext, of so many bytes, is over the cipher's limit of 256 GiB.
    #[error("payload of {0} bytes is over the cipher's limit")]
    TooLong(usize),
}
