//! The durable log of a board's messages, and what else a server keeps: detection keys and records.
//!
//! A [`Board`] is a log in one file, for commands on one machine. A [`Store`] is the durable state
//! of one server, in a folder of its own and, where wanted, a bucket: the same log, whose older
//! messages are in immutable objects. An acknowledged [`Board::append`] or [`Store::append`]
//! survives a crash; an unfinished one is never read in part. Everything carries a checksum or a
//! hash that is tested when it is read. Bytes and the argument for durability are in
//! `docs/storage.md`.
//!
//! The crate knows nothing of cryptography but hashes: clues, payloads, keys and records are
//! opaque.
#![forbid(unsafe_code)]

mod backup;
mod board;
mod config;
mod database;
mod earlier;
mod error;
mod expire;
mod format;
mod frames;
mod keys;
mod log;
mod meta;
mod objects;
mod once;
mod overlay;
mod partial;
mod posts;
mod records;
mod restore;
mod segment;
mod store;
mod structure;
mod tables;
mod uploads;
mod verify;

#[cfg(test)]
mod tests;

pub use backup::Piece;
pub use board::{Board, Stat};
pub use config::{BoardConfig, Clues, Message, POST_KEY_BYTES};
pub use earlier::EARLIER_FILE;
pub use error::{ConfigField, Evidence, Foreign, Holder, Part, Refusal, StoreError, UsedKey};
pub use expire::{Expired, Expiry};
pub use format::{BOARD_FILE, KeyValue, META_FILE, META_VERSION, OBJECTS_DIR, UPLOADS_DIR};
pub use frames::BACKUP_VERSION;
pub use log::{Appended, Post, Visit};
pub use objects::Objects;
pub use records::Change;
pub use restore::Restored;
pub use segment::{SEGMENT_VERSION, Segment};
pub use store::{Store, StoreConfig, Usage};
pub use structure::Structure;
pub use uploads::Upload;
pub use verify::Report;
