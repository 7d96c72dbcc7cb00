//! A model of an FPGA accelerator for SophOMR's affine transform.
//!
//! [`paper`] contains the published accelerator, its cost model and its exploration. The rest is our model:
//! [`blocks`] measured in simulated RTL, a [`circuit`] counted from a parameter set, a [`design`] within the
//! limits of a [`device`], its [prediction](mod@predict) by a [`schedule`] of all tasks of the [`transform`],
//! the [exploration](explore) of designs, and the [`engine`] that predicts the times of digests.
#![forbid(unsafe_code)]

pub mod blocks;
pub mod circuit;
pub mod cost;
pub mod design;
pub mod device;
pub mod engine;
mod error;
pub mod explore;
pub mod paper;
pub mod predict;
pub mod schedule;
pub mod transform;

pub use error::FpgaError;
