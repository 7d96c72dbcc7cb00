//! What can be wrong with a file.

use crate::hex;
use std::io;

use super::header::{FORMAT_VERSION, Kind, MAX_PARAMS_ID_BYTES};

/// The part of a frame a checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePart {
    /// Everything before the body.
    Header,
    /// The whole file.
    Body,
}

/// Why a file was refused or could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The file does not begin with the magic bytes.
    #[error("not an omr file: it begins with {found:02x?}")]
    NotOmr {
        /// The first bytes of the file.
        found: [u8; 4],
    },
    /// The file has a format this program does not read.
    #[error("expected file format version {FORMAT_VERSION}, found version {found}")]
    Version {
        /// Version of the file.
        found: u16,
    },
    /// The file is well formed but holds another thing.
    #[error("expected {expected}, found {found}")]
    Kind {
        /// What the caller asked for.
        expected: Kind,
        /// What the file holds.
        found: Kind,
    },
    /// The file holds a thing this program does not know.
    #[error("expected {expected}, found unknown kind {found}")]
    UnknownKind {
        /// What the caller asked for.
        expected: Kind,
        /// Kind number of the file.
        found: u16,
    },
    /// The file was made under other parameters.
    #[error("expected parameter set {expected}, found {found}")]
    Params {
        /// The caller's parameter set.
        expected: String,
        /// Parameter set of the file.
        found: String,
    },
    /// The parameter-set name is empty, too long or not visible ASCII.
    #[error(
        "parameter-set name of {found} bytes: expected 1 to {MAX_PARAMS_ID_BYTES} visible ASCII characters"
    )]
    ParamsName {
        /// Length of the name.
        found: usize,
    },
    /// The file belongs to another key.
    #[error("expected key {}, found key {}", hex(expected), hex(found))]
    KeyId {
        /// The caller's key id.
        expected: [u8; 16],
        /// Key id of the file.
        found: [u8; 16],
    },
    /// The header announces a body larger than the caller takes.
    #[error("body of {found} bytes is over the limit of {limit} bytes")]
    TooLarge {
        /// The caller's limit.
        limit: u64,
        /// Announced length.
        found: u64,
    },
    /// The file ends too early.
    #[error("file ends after {found} of at least {expected} bytes")]
    Truncated {
        /// Bytes the file must have, as far as known where it ended.
        expected: u64,
        /// Bytes it has.
        found: u64,
    },
    /// The bytes are not those that were written.
    #[error("the {} checksum does not match: the file is damaged", match .part { FramePart::Header => "header", FramePart::Body => "file" })]
    Checksum {
        /// Which checksum.
        part: FramePart,
    },
    /// The file goes on after its end.
    #[error("the file goes on after its checksum")]
    Trailing,
    /// The parser of the body stopped before its end.
    #[error("{left} bytes of the body were not read")]
    Unread {
        /// Bytes left.
        left: u64,
    },
    /// The writer of a body gave another number of bytes than announced.
    #[error("announced a body of {expected} bytes, wrote {found}")]
    BodyLength {
        /// Announced length.
        expected: u64,
        /// Bytes written, or that would have been.
        found: u64,
    },
    /// A width outside 1 to 64 bits.
    #[error("expected a width of 1 to 64 bits, found {found}")]
    Width {
        /// The width.
        found: u32,
    },
    /// Packed residues have the wrong number of bytes.
    #[error("expected {expected} bytes of packed residues, found {found}")]
    PackedLength {
        /// Bytes the residues take.
        expected: usize,
        /// Bytes there are.
        found: usize,
    },
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
            FrameError::Truncated { .. } => io::ErrorKind::UnexpectedEof,
            FrameError::BodyLength { .. } => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
