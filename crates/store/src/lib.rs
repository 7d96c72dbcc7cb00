//! The durable log of a board's messages, and the other data that a server keeps: detection keys and records.
//!
//! A [`Board`] is a log in one file, for commands on one machine. A [`Store`] is the durable state of one server, in a
//! folder and, if configured, a bucket: it contains a log of that kind, whose older messages lie in immutable objects.
//! An acknowledged [`Board::append`] or [`Store::append`] survives a crash; an unfinished one is never read in part.
//! Everything has a checksum or a hash, which is tested when it is read. The module `format` defines the bytes;
//! `docs/storage.md` has the argument for durability.
//!
//! The crate does no cryptography but hashes: clues, payloads, keys and records are opaque bytes to it.
#![forbid(unsafe_code)]
// Local boards do not use all of the code that a server needs.
#![cfg_attr(not(feature = "server"), allow(dead_code))]

mod board;
mod chain;
mod config;
mod database;
mod error;
mod format;
mod hashes;
mod log;
mod meta;
mod once;
mod overlay;
mod publish;
mod segment;
#[cfg(feature = "server")]
mod store;
mod structure;
mod tables;
mod tail;
mod verify;

#[cfg(test)]
mod tests;

pub use board::{Board, Stat};
pub use config::{BoardConfig, Clues, Message, POST_KEY_BYTES};
pub use error::{ConfigField, Evidence, Foreign, Holder, Part, StoreError, UsedKey};
pub use format::{BOARD_FILE, History, META_VERSION};
pub use hashes::{Gathered, MessageHashes, Take};
pub use log::Visit;
pub use segment::Segment;
#[cfg(feature = "server")]
pub use store::{
    Appended, BACKUP_VERSION, Block, BlockRefusal, Change, Expired, Expiry, Fed, Head, KeyValue,
    LeftOut, META_FILE, OBJECTS_DIR, Objects, Piece, Placed, Post, Pruned, Refusal, Restored,
    SEGMENT_VERSION, Store, StoreConfig, UPLOADS_DIR, Upload, Usage,
};
pub use structure::Structure;
pub use verify::Report;
