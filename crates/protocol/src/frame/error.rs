//! Errors of reading and writing framed files.

use crate::hex;
use omr_errors::{Mismatch, OtherVersion};
use std::io;

use super::header::{FORMAT_VERSION, Kind, MAX_PARAMS_ID_BYTES};

/// The part of a frame that a checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePart {
    /// Everything before the body.
    Header,
    /// The whole file.
    Body,
}

/// An error of reading or writing a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The file does not begin with the magic bytes but with these, at most four.
    #[error("not an omr file: expected it to begin with \"OMRF\", found \"{}\"", .0.escape_ascii())]
    NotOmr(Vec<u8>),
    /// The file has a format version that this program does not read.
    #[error("{}", OtherVersion { expected: FORMAT_VERSION.into(), found: (*.0).into() })]
    Version(u16),
    /// The file is well formed but of another kind.
    #[error("{0}")]
    Kind(Mismatch<Kind>),
    /// The file is of a kind that this program does not know.
    #[error("expected {}, found unknown kind {}", .0.expected, .0.found)]
    UnknownKind(Mismatch<Kind, u16>),
    /// The file was made under another parameter set.
    #[error("expected parameter set {}, found {}", .0.expected, .0.found)]
    Params(Mismatch<String>),
    /// The parameter-set name, of this number of bytes, is empty, too long or not visible ASCII.
    #[error(
        "parameter-set name of {0} bytes: expected 1 to {MAX_PARAMS_ID_BYTES} visible ASCII characters"
    )]
    ParamsName(usize),
    /// The file belongs to another key.
    #[error("expected key {}, found key {}", hex(&.0.expected), hex(&.0.found))]
    KeyId(Mismatch<[u8; 16]>),
    /// The header announces a body larger than the caller accepts.
    #[error("body of {} bytes is over the limit of {} bytes", .0.found, .0.expected)]
    TooLarge(Mismatch<u64>),
    /// The file ends too early.
    #[error("file ends after {} of at least {} bytes", .0.found, .0.expected)]
    Truncated(Mismatch<u64>),
    /// The checksum of this part does not match its bytes.
    #[error("the {} checksum does not match: the file is damaged", match .0 { FramePart::Header => "header", FramePart::Body => "file" })]
    Checksum(FramePart),
    /// The file continues after its checksum.
    #[error("the file goes on after its checksum")]
    Trailing,
    /// The parser of the body left this number of bytes unread.
    #[error("{0} bytes of the body were not read")]
    Unread(u64),
    /// The writer of a body wrote another number of bytes than announced.
    #[error("announced a body of {} bytes, wrote {}", .0.expected, .0.found)]
    BodyLength(Mismatch<u64>),
    /// A width outside 1 to 64 bits.
    #[error("expected a width of 1 to 64 bits, found {0}")]
    Width(u32),
    /// Packed residues have the wrong number of bytes.
    #[error("expected {} bytes of packed residues, found {}", .0.expected, .0.found)]
    PackedLength(Mismatch<usize>),
    /// The unused bits of the last packed byte are not zero.
    #[error("unused bits of the last packed byte are not zero")]
    Padding,
    /// Reading or writing failed.
    #[error(transparent)]
    Io(io::Error),
}

/// Unwraps a `FrameError` that travelled through `std::io::Read` or `Write`.
impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        error.downcast::<Self>().unwrap_or_else(Self::Io)
    }
}

/// Wraps, so that a frame's error can travel through `std::io::Read` or `Write`.
impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> Self {
        let kind = match error {
            FrameError::Io(inner) => return inner,
            FrameError::Truncated(_) => io::ErrorKind::UnexpectedEof,
            FrameError::BodyLength(_) => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
