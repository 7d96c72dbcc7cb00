//! Splitting of files of any size into payload parts of one size, and reassembling.
//!
//! Every part fills its capacity, so its length reveals nothing. The layout of a part, with LEB128 integers of minimal
//! length (`varint`), is:
//!
//! ```text
//! file in one part:   varint(2 * len + 1)   len bytes                                      zeros
//! file in many:       varint(2 * len)       id (8)  varint(total)  varint(index)  hash (16)
//!                                           len bytes                                      zeros
//! ```
//!
//! `id` is random, `total` is 2 to `MAX_PARTS`, `hash` is the hash of the whole file. Every part but the last has the
//! same number of bytes, which capacity and `total` determine (`part::chunk`). A file with a name has marked parts; see
//! `envelope`.

mod envelope;
mod error;
mod name;
mod part;
mod reassemble;
mod split;
pub(crate) mod varint;

#[cfg(test)]
mod tests;

pub use envelope::{Fields, Whole, shape_named, split_fields, split_named};
pub use error::FragmentError;
pub use name::{file_name, visible};
pub use part::{PartPlace, place};
pub use reassemble::{Incomplete, Reassembler};
pub use split::{Shape, most_bytes, most_in_part, shape, split};

/// Random name of a file in several parts.
pub type MessageId = [u8; 8];

/// Largest number of parts of one file.
pub const MAX_PARTS: u32 = 1 << 24;

const HASH_BYTES: usize = 16;

type FileHash = [u8; HASH_BYTES];

fn file_hash(bytes: &[u8]) -> FileHash {
    let mut hash = [0; HASH_BYTES];
    let mut hasher = blake3::Hasher::new_derive_key("omr fragment v1 file");
    hasher.update(bytes).finalize_xof().fill(&mut hash);
    hash
}
