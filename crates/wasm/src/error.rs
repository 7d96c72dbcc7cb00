//! Errors of this module, beside those of the crates that it uses.

use omr_protocol::Mismatch;

/// An error of input from JavaScript.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WasmError {
    /// Bytes have another length.
    #[error("expected {what} of {} bytes, found {}", .sizes.expected, .sizes.found)]
    Length {
        /// The kind of bytes.
        what: &'static str,
        /// The lengths expected and found.
        sizes: Mismatch<usize>,
    },
    /// No key file has this name.
    #[error("expected detection.key, instant.key or rounds.key, found {0}")]
    KeyName(String),
    /// No scheme has this tag.
    #[error("expected the tag of a scheme, or 0, found {0}")]
    Scheme(u8),
    /// No sealing has this tag.
    #[error("expected the tag of a sealing, found {0}")]
    Sealing(u32),
    /// The text is no short address.
    #[error("expected an address omr1.., found {found}: {why}")]
    ShortAddress {
        /// The text.
        found: String,
        /// The reason.
        why: String,
    },
    /// The text is no conversation.
    #[error("expected 32 hexadecimal digits of a conversation, found {0}")]
    Thread(String),
    /// The address is for another parameter set than the board's.
    #[error("expected a board of {}, which the address is for, found one of {}", .0.expected, .0.found)]
    OtherParams(Mismatch<String>),
    /// The address is for clues of another length than the board's.
    #[error("expected a board with clues of {} bytes, which the address takes, found one of {}", .0.expected, .0.found)]
    OtherClues(Mismatch<usize>),
    /// No inbox has this table.
    #[error("expected records of an inbox, found one of the table {0}")]
    Table(String),
    /// The number of running hashes differs from that of the lengths in the call.
    #[error("expected {} running hashes, found {}", .0.expected, .0.found)]
    Hashes(Mismatch<usize>),
    /// There is an answer without a call.
    #[error("expected an answer to a call of a fetch, found one where none is made")]
    NoFetch,
    /// This binding does not make this call.
    #[error("expected a call of a fetch, found {0}")]
    NoCall(String),
    /// A plain address cannot be derived from the secret.
    #[error("expected a secret with its address, found one of plain clues, which has none")]
    NoAddress,
    /// JavaScript stopped the work.
    #[error("stopped by the caller")]
    Stopped,
}

/// Returns bytes of a fixed length.
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
