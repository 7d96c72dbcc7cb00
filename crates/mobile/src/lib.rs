//! Recipients for Kotlin and Swift, whose sources UniFFI writes from this library. It has no logic of its own.
//!
//! All calls wait for their results. Long ones report their progress to a [`Watch`], which can stop them.
#![forbid(unsafe_code)]

mod error;
mod inbox;
mod letter;
mod watch;
mod words;

pub use error::{Figure, Kind, OmrError};
pub use inbox::Inbox;
pub use letter::{Fetched, Kept, Letter, Waiting};
pub use watch::Watch;
pub use words::Words;

uniffi::setup_scaffolding!();
