//! What goes wrong here and nowhere below.

use omr_protocol::Mismatch;

/// Input that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WasmError {
    /// Bytes of another length.
    #[error("expected {what} of {} bytes, found {}", .sizes.expected, .sizes.found)]
    Length {
        /// What they are.
        what: &'static str,
        /// The lengths.
        sizes: Mismatch<usize>,
    },
    /// A name that no key file has.
    #[error("expected detection.key or instant.key, found {0}")]
    KeyName(String),
    /// A sealing without a tag.
    #[error("expected the tag of a sealing, found {0}")]
    Sealing(u32),
    /// No short address.
    #[error("expected an address omr1.., found {found}: {why}")]
    ShortAddress {
        /// The text.
        found: String,
        /// What is wrong with it.
        why: String,
    },
    /// An address for another set than the board's.
    #[error("expected a board of {}, which the address is for, found one of {}", .0.expected, .0.found)]
    OtherParams(Mismatch<String>),
    /// An address for clues of another length than the board's.
    #[error("expected a board with clues of {} bytes, which the address takes, found one of {}", .0.expected, .0.found)]
    OtherClues(Mismatch<usize>),
    /// A record of a table that no inbox has.
    #[error("expected records of an inbox, found one of the table {0}")]
    Table(String),
    /// Not one running hash for each length of the call.
    #[error("expected {} running hashes, found {}", .0.expected, .0.found)]
    Hashes(Mismatch<usize>),
    /// An answer to no call.
    #[error("expected an answer to a call of a fetch, found one where none is made")]
    NoFetch,
    /// A call that this binding does not make.
    #[error("expected a call of a fetch, found {0}")]
    NoCall(String),
    /// A plain address does not follow from the secret.
    #[error("expected a secret with its address, found one of plain clues, which has none")]
    NoAddress,
    /// JavaScript wants no more.
    #[error("stopped by the caller")]
    Stopped,
}

/// Bytes of a fixed length.
///
/// Errors: `Length`.
pub(crate) fn fixed<const N: usize>(
    what: &'static str,
    bytes: &[u8],
) -> Result<[u8; N], WasmError> {
    let sizes = Mismatch::new(N, bytes.len());
    bytes
        .try_into()
        .map_err(|_| WasmError::Length { what, sizes })
}
