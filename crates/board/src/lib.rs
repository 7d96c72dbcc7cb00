//! An append-only, crash-safe log of opaque messages, of which the oldest may expire.
//!
//! A [`Board`] keeps messages of one fixed size in a single file. An acknowledged
//! [`Board::append`] survives a crash; an unfinished one is never read. Every record carries its
//! own checksum, tested on every read. The bytes are specified in [`mod@format`].
//!
//! The crate knows nothing of cryptography: clues and payloads are opaque.
//!
//! ```
//! use omr_board::{Board, BoardConfig, Clues, Message};
//! # let dir = tempfile::tempdir().unwrap();
//! let config = BoardConfig {
//!     board_id: [7; 16],
//!     params_id: "toy".into(),
//!     sealing: "none".into(),
//!     clue_bytes: 3,
//!     payload_bytes: 2,
//!     clues: Clues::Plain,
//! };
//! let mut board = Board::create(dir.path(), &config)?;
//! board.append([Message { clue: vec![1, 2, 3], payload: vec![4, 5] }])?;
//!
//! let (mut clues, mut payloads) = (Vec::new(), Vec::new());
//! board.read_into(0..1, &mut clues, &mut payloads)?;
//! assert_eq!((clues, payloads), (vec![1, 2, 3], vec![4, 5]));
//! # Ok::<(), omr_board::BoardError>(())
//! ```
#![forbid(unsafe_code)]

mod append;
mod board;
mod config;
mod error;
mod expire;
pub mod format;
mod overlay;
mod publish;
mod snapshot;
mod store;
mod verify;

#[cfg(test)]
mod tests;

pub use board::{Board, Stat};
pub use config::{BoardConfig, Clues, Message, POST_KEY_BYTES};
pub use error::{BoardError, ConfigField, Foreign, Holder, Part};
pub use snapshot::{Snapshot, Visit};
pub use verify::{Report, Structure};
