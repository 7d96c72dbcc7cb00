//! A table's file, version 1: `docs/table.md`, section 3. No number is read from the file that sizes memory before the
//! file has shown that it is long enough.

mod read;
mod write;

use std::io;
use std::path::PathBuf;

use crate::{Domain, SchemaError};
use omr_errors::{Mismatch, OtherVersion};

const MAGIC: [u8; 8] = *b"OMRTABLE";
const VERSION: u32 = 1;
/// Magic, version, length of the schema, length of the file.
const HEAD_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 32;
/// Rows read or written at once.
const ROWS_AT_ONCE: usize = 1 << 16;

/// Why a table's file could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, #[source] io::Error),
    /// The file begins otherwise than a table's, with these bytes.
    #[error(
        "not a table: expected \"OMRTABLE\" at its beginning, found {:?}: a table is made by an import of CSV or Parquet",
        String::from_utf8_lossy(.0)
    )]
    NotATable(Vec<u8>),
    /// A file of another version of its format.
    #[error("the table: {0}")]
    Version(OtherVersion),
    /// The file is shorter than its header states, or than the shortest table.
    #[error("table cut off: expected {} bytes, found {}", .0.expected, .0.found)]
    Truncated(Mismatch<u64>),
    /// The file is longer than its header states, or than its schema allows.
    #[error("table too long: expected {} bytes, found {}", .0.expected, .0.found)]
    Oversized(Mismatch<u64>),
    /// The checksum in the file differs from that of the file's bytes.
    #[error("table corrupted: expected checksum {}, found {}", .0.expected, .0.found)]
    Corrupted(Mismatch<blake3::Hash>),
    /// The schema is invalid.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A column's bytes are no values of it, though the checksum is right.
    #[error("column {column:?}: expected {expected}, found otherwise")]
    Column {
        /// The column.
        column: String,
        /// A description of the bytes that are expected.
        expected: &'static str,
    },
}

/// Bytes of a number of a column.
fn width(domain: Option<Domain>) -> usize {
    match domain.map_or(0, |domain| domain.max.abs_diff(domain.min)) {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}
