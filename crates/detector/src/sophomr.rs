//! SophOMR: batches of messages at a time.

mod affine;
mod cache;
mod clues;
mod cpu;
mod detector;
mod encoder;
mod memory;
mod payload;
mod range;
mod run;

pub use affine::BabySteps;
pub use cache::BoardCache;
pub use clues::ClueBatch;
pub use cpu::CpuEngine;
pub use detector::Detector;
pub use run::Output;
