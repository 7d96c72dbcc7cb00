//! Errors of headers.

use omr_protocol::Mismatch;

/// An error of writing or reading a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The header has this version, which a later program may write.
    #[error("expected a header of version 1, found {0}: it was written by a newer omr")]
    Version(u8),
    /// The header, of this many bytes, ends within a field.
    #[error("a header of {0} bytes ends within a field")]
    Truncated(usize),
    /// A number is over 64 bits or not written in its shortest form.
    #[error("malformed number in a header")]
    Number,
    /// The tag of a field is not greater than that of the field before it.
    #[error("expected a field after field {}, found {}", .0.expected, .0.found)]
    Order(Mismatch<u64>),
    /// No field has this tag.
    #[error("expected a field with a tag of 1 to 6, found {0}")]
    Tag(u64),
    /// A field has the wrong length.
    #[error("expected {least} to {most} bytes of {field}, found {found}")]
    Length {
        /// The field.
        field: &'static str,
        /// The least length in bytes.
        least: usize,
        /// The greatest length in bytes.
        most: usize,
        /// The length that was found.
        found: u64,
    },
    /// A text is not UTF-8.
    #[error("expected UTF-8 in {0}, found other bytes")]
    Text(&'static str),
    /// A text to be sent has characters that its recipient would not see.
    #[error(
        "expected visible characters in {0}, found one that controls a terminal, hides text or changes its direction"
    )]
    Hidden(&'static str),
    /// There is a sender without a signature, or a signature without a sender.
    #[error("expected a sender and a signature together, found one of them")]
    Pair,
    /// The board does not seal letters, so everybody would read the header.
    #[error(
        "expected a board that seals letters, found one where everybody would read who writes to whom"
    )]
    Unsealed,
}
