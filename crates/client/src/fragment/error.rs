//! Errors of splitting and reassembling files.

use super::{MAX_PARTS, MessageId};
use omr_protocol::Mismatch;

/// An error of splitting a file or of accepting a part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// The parts are too small for the file.
    #[error(
        "a file of {file} bytes needs parts of at least {least} bytes, found {found}: \
         take parameters with a larger payload, or a sealing with a smaller overhead"
    )]
    CapacityTooSmall {
        /// Length of the file.
        file: usize,
        /// Least capacity for it.
        least: usize,
        /// Capacity given.
        found: usize,
    },
    /// The part, of this many bytes, ends within its header.
    #[error("part of {0} bytes ends within its header")]
    Truncated(usize),
    /// A number is over 64 bits or not written in its shortest form.
    #[error("malformed number in the header of a part")]
    Number,
    /// The part claims more or fewer bytes than a part of its size carries.
    #[error("expected {least} to {most} bytes in this part, found a length of {found}")]
    Length {
        /// Least length.
        least: u64,
        /// Greatest length.
        most: u64,
        /// Length claimed.
        found: u64,
    },
    /// Bytes after the content are not zero.
    #[error("padding of a part is not zero")]
    Padding,
    /// The number of parts in the header is impossible.
    #[error("expected a total of 2 to {MAX_PARTS} parts, found {0}")]
    Total(u64),
    /// The part's number is not below the total.
    #[error("expected a part number below {}, found {}", .0.expected, .0.found)]
    Index(Mismatch<u32, u64>),
    /// Parts of this file disagree on total, capacity or hash.
    #[error("part of file {0:02x?} disagrees with its other parts on total, capacity or hash")]
    Inconsistent(MessageId),
    /// There are two different contents for one part.
    #[error("two different parts {index} of file {id:02x?}")]
    Conflict {
        /// The file.
        id: MessageId,
        /// Number of the part.
        index: u32,
    },
    /// The part has this version, which a later program may write.
    #[error("a part of version {0}, expected one of version 1: it was written by a newer omr")]
    Version(u8),
    /// The fields in front of a file's content are malformed.
    #[error("malformed fields before the content of a file")]
    Fields,
    /// All parts of this file arrived, but they are not the file that was split. They were dropped.
    #[error("the parts of file {0:02x?} do not make up the file that was sent")]
    Hash(MessageId),
}
