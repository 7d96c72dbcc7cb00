//! The container of every file: a checked header, a body and a checksum.
//!
//! ```text
//! bytes   field              (all integers little endian)
//! 4       magic "OMRF"
//! 2       format version     1
//! 2       kind               see `Kind`
//! 1       p                  length of the parameter-set name, 1..=64
//! p       parameter set      visible ASCII
//! 16      key id
//! 8       body length
//! 8       header checksum    first 8 bytes of BLAKE3-derive-key("omr file v1 header") over the above
//! n       body
//! 32      file checksum      BLAKE3-derive-key("omr file v1") over everything above
//! ```
//!
//! The header is checked before the body is read, so a wrong file of 110 MB is refused after at most 105 bytes. The
//! checksums find accidental damage. They have no key and do not prevent forgery, so parsers of bodies must withstand
//! any bytes.

mod bits;
mod error;
mod header;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use bits::{
    BitReader, BitWriter, copy_window, pack_bits, packed_len, unpack_bits, unpack_bits_u32,
    unpack_window_u32, window_bytes,
};
pub use error::{FrameError, FramePart};
pub use header::{FORMAT_VERSION, FrameHeader, KEY_ID_BYTES, Kind, MAX_PARAMS_ID_BYTES, is_frame};
pub use read::{FrameReader, Opened, read_frame};
pub use write::{FrameWriter, write_frame, write_frame_vec};

/// Length of magic, version, kind and the length byte of the parameter-set name.
const PREFIX_BYTES: usize = 9;
/// Length of key id, body length and header checksum.
const SUFFIX_BYTES: usize = KEY_ID_BYTES + 8 + HEADER_SUM_BYTES;
const HEADER_SUM_BYTES: usize = 8;
const FILE_SUM_BYTES: usize = blake3::OUT_LEN;
/// Large enough for BLAKE3 to use its widest vectors when callers read or write a few bytes at a time.
const BUFFER_BYTES: usize = 1 << 16;

fn file_hasher() -> blake3::Hasher {
    blake3::Hasher::new_derive_key("omr file v1")
}

fn header_checksum(header: &[u8]) -> [u8; HEADER_SUM_BYTES] {
    let mut sum = [0; HEADER_SUM_BYTES];
    let mut hasher = blake3::Hasher::new_derive_key("omr file v1 header");
    hasher.update(header).finalize_xof().fill(&mut sum);
    sum
}
