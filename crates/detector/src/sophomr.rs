//! SophOMR: batches of messages at a time.

mod affine;
mod backend;
mod cache;
mod clues;
mod cpu;
mod detector;
mod encoder;
mod memory;
mod opening;
mod payload;
mod range;
mod run;

use affine::BabySteps;
pub use backend::BackendEngine;
pub use cache::BoardCache;
pub use clues::ClueBatch;
pub use cpu::CpuEngine;
pub use detector::{Detector, Steps};
pub(crate) use memory::run_memory;
pub use run::{Output, PartialOutput, TOGETHER, Wanted, digests, finish, partials};
