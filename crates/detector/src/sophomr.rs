//! SophOMR's detector, which processes messages in batches.

mod backend;
mod clues;
mod cpu;
mod detector;
mod encoder;
mod memory;
mod opening;
mod payload;
mod range;
mod run;

pub use backend::BackendEngine;
pub use clues::ClueBatch;
pub use cpu::CpuEngine;
pub use detector::Detector;
pub(crate) use memory::run_memory;
pub use range::check as range_check;
pub use run::{Output, PartialOutput, TOGETHER, Wanted, digests, finish, partials};
