//! Boards in folders, as the command and the Python package use them: their configuration, checks of posted messages,
//! and the source from which a detector reads them.
#![forbid(unsafe_code)]

mod config;
mod post;
mod source;

pub use config::{LocalError, clue_kind, clues_of, new_config, place};
pub use post::{MAX_PARTS, TRANSACTION, hashes, post_hashes};
pub use source::{BoardSource, Boards, SourceError};
