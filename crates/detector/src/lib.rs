//! The untrusted detector: detect and compress under encryption.
//!
//! This crate cannot name a secret key: it does not depend on the client's. What it does never
//! depends on what it finds.
#![forbid(unsafe_code)]

mod affine;
mod clues;
mod detector;
pub mod earlier;
mod encoder;
mod error;
pub mod hybrid;
pub mod instantomr;
mod payload;
mod progress;
mod range;
mod shared;
mod strided;

pub use affine::BabySteps;
pub use clues::{BoundTo, ClueBatch};
pub use detector::{Detector, MessageSource, Output};
pub use error::DetectorError;
pub use omr_kernels::transforms;
pub use progress::{Progress, Quiet, Stages};
pub use shared::BoardCache;
pub use strided::Strided;
