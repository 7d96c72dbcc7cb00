//! Boards in folders, as the command and the Python package have them: what they are made of, how messages get there, and
//! how a detector reads them.
#![forbid(unsafe_code)]

mod config;
mod post;
mod source;

pub use config::{LocalError, clue_kind, clues_of, new_config, place};
pub use post::{MAX_PARTS, TRANSACTION, hashes, post_hashes};
pub use source::{BoardSource, Boards, SourceError};
