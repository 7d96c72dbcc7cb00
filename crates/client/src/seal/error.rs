//! What can go wrong in sealing and opening.

/// Why a payload was not sealed or opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// Not sealed to this secret, not with this associated data, or altered since.
    #[error("sealed payload rejected: it is for another recipient or place, or was altered")]
    Rejected,
    /// Too short to have been sealed.
    #[error("expected a sealed payload of at least {expected} bytes, found {found}")]
    Truncated {
        /// Least length.
        expected: usize,
        /// Length found.
        found: usize,
    },
    /// The public key is not one that can be sealed to.
    #[error("the recipient's sealing key is not a valid public key")]
    PublicKey,
    /// A key has the wrong length.
    #[error("expected a sealing key of {expected} bytes, found {found}")]
    KeyLength {
        /// Length of such keys.
        expected: usize,
        /// Length found.
        found: usize,
    },
    /// The plaintext is over the cipher's limit of 256 GiB.
    #[error("payload of {found} bytes is over the cipher's limit")]
    TooLong {
        /// Length of the plaintext.
        found: usize,
    },
}
