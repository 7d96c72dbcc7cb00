//! The values that errors contain: fields, parts, holders, and expected and found properties.

use super::StoreError;
use omr_errors::{Mismatch, hex};
use std::fmt;

/// A field of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigField {
    /// Bytes of `params_id`.
    ParamsId,
    /// Bytes of `sealing`.
    Sealing,
    /// `clue_bytes`.
    ClueBytes,
    /// `payload_bytes`.
    PayloadBytes,
    /// `segment_messages` of a store.
    SegmentMessages,
}

impl fmt::Display for ConfigField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ParamsId => "length of params_id",
            Self::Sealing => "length of sealing",
            Self::ClueBytes => "clue_bytes",
            Self::PayloadBytes => "payload_bytes",
            Self::SegmentMessages => "segment_messages",
        })
    }
}

/// A part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The clue.
    Clue,
    /// The payload.
    Payload,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clue => "clue",
            Self::Payload => "payload",
        })
    }
}

/// A file that was found in place of a board's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// The file is empty.
    Empty,
    /// The file does not begin as a redb database does.
    NotRedb,
    /// The file is a redb database of another program.
    OtherDatabase,
    /// The file is the meta file of a server's store, some of whose messages are in segments.
    Server,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::NotRedb => "it is not a redb database",
            Self::OtherDatabase => "it is a redb database of something else",
            Self::Server => "it is a server's, most of whose messages are in other files",
        })
    }
}

/// The kind of handle that has a board open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// One handle open for writing.
    Writer,
    /// One or more handles open for reading.
    Readers,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Writer => "which writes: close that one first",
            Self::Readers => "which reads: close that one first, or open it for reading only",
        })
    }
}

/// A property by which an intact object is distinguished from a damaged one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// The object is there.
    Present,
    /// The object is missing.
    Missing,
    /// The length in bytes.
    Bytes(u64),
    /// The CRC-32C of the bytes.
    Checksum(u32),
    /// The BLAKE3 hash of the bytes.
    Hash(Box<[u8; 32]>),
    /// The id of the board to which the object belongs.
    Board([u8; 16]),
    /// The index of the first message, or a number of rows.
    Number(u64),
    /// The first eight bytes.
    Magic([u8; 8]),
    /// The bytes cannot be parsed.
    Malformed,
}

impl StoreError {
    /// Returns the error of a row of the meta file.
    pub(crate) fn row(table: &str, key: &[u8], evidence: Mismatch<Evidence>) -> Self {
        Self::Row {
            table: table.to_owned(),
            key: hex(key),
            evidence,
        }
    }
}

impl Evidence {
    pub(crate) fn hash(hash: [u8; 32]) -> Self {
        Self::Hash(Box::new(hash))
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present => f.write_str("intact data"),
            Self::Missing => f.write_str("nothing"),
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Self::Checksum(crc) => write!(f, "checksum {crc:08x}"),
            Self::Hash(hash) => write!(f, "hash {}", hex(&hash[..])),
            Self::Board(id) => write!(f, "board {}", hex(id)),
            Self::Number(number) => write!(f, "{number}"),
            Self::Magic(bytes) => write!(f, "first bytes {}", hex(bytes)),
            Self::Malformed => f.write_str("malformed data"),
        }
    }
}
