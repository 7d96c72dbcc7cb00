//! The untrusted detector: detect and compress under encryption.
//!
//! This crate cannot name a secret key: it does not depend on the client's. What it does never
//! depends on what it finds.
//!
//! An engine is a [`Detector`] (SophOMR) or an [`instantomr::InstantDetector`], both of one recipient's key;
//! [`hybrid::Engines`] holds either or both and answers a request about the messages of a [`MessageSource`], such as
//! [`Messages`]. `crates/lab/examples/retrieval.rs` shows every party's part in one short program.
#![forbid(unsafe_code)]

mod affine;
mod clues;
mod detector;
pub mod earlier;
mod encoder;
mod error;
pub mod hybrid;
pub mod instantomr;
mod messages;
mod payload;
mod progress;
mod range;
mod shared;
mod strided;

pub use affine::BabySteps;
pub use clues::{BoundTo, ClueBatch};
pub use detector::{Detector, MessageSource, Output};
pub use error::DetectorError;
pub use messages::Messages;
pub use omr_kernels::transforms;
pub use omr_ring::release as release_memory;
pub use progress::{Progress, Quiet, Stages};
pub use shared::BoardCache;
pub use strided::Strided;
