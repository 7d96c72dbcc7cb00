//! The untrusted detector: detect and compress under encryption.
//!
//! This crate cannot name a secret key: it does not depend on the client's crate. Its work never depends on what it
//! finds.
//!
//! An [`engine::Engine`] loads detection keys. [`engines::Engines`] contains the loaded keys of a recipient, each a
//! [`sophomr::Detector`] or an [`instantomr::InstantDetector`], and answers a request about the messages of a
//! [`MessageSource`], for example [`Messages`]. The crate `omr` has a program with all parties.
#![forbid(unsafe_code)]

mod bound_to;
pub mod engine;
pub mod engines;
mod error;
pub mod instantomr;
pub mod memory;
mod messages;
mod progress;
pub mod rounds;
mod runs;
pub mod sophomr;
mod source;
mod strided;

pub use bound_to::BoundTo;
pub use error::DetectorError;
pub use messages::{Held, Messages};
pub use omr_kernels::transforms;
pub use omr_ring::release as release_memory;
pub use progress::{Progress, Quiet, Stages, Watching};
pub use source::{MessageSource, placement_seed};
pub use strided::Strided;
