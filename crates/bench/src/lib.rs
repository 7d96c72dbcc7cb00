//! Benchmarks whose figures the documentation quotes.
#![forbid(unsafe_code)]

mod digest;
mod memory;
mod report;
mod soak;
mod strangers;
mod workload;
mod yardstick;

pub use digest::{BenchError, DigestBench, DigestFigures, Scheme};
pub use memory::peak_rss_bytes;
pub use report::{Compared, Figure, Incomparable, Machine, Report, Setting};
pub use soak::{Soak, SoakDigest, SoakLine, SoakTally, Strain, failure_log2};
pub use strangers::{Hostile, Strangers};
pub use workload::Workload;
pub use yardstick::yardstick_us;
