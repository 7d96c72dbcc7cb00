//! Benchmarks whose figures the documentation quotes.
#![forbid(unsafe_code)]

mod digest;
mod memory;
mod workload;
mod yardstick;

pub use digest::{BenchError, DigestBench, DigestFigures, Scheme};
pub use memory::peak_rss_bytes;
pub use workload::Workload;
pub use yardstick::yardstick_us;
