//! Benchmarks whose figures the documentation quotes.
#![forbid(unsafe_code)]

pub mod cost;
mod cpu;
mod digest;
mod instant_units;
mod memory;
mod recipients;
mod report;
pub mod search;
mod soak;
mod strangers;
mod units;
mod workload;
mod yardstick;

pub use digest::{BenchError, DigestBench, DigestFigures, Scheme};
pub use instant_units::InstantUnits;
pub use memory::peak_rss_bytes;
pub use recipients::{RecipientsBench, RecipientsFigures, RecipientsTimes};
pub use report::{Compared, Figure, Incomparable, Machine, Report, Setting};
pub use soak::{Soak, SoakDigest, SoakLine, SoakTally, Strain, failure_log2};
pub use strangers::{Hostile, Strangers};
pub use units::Units;
pub use workload::Workload;
pub use yardstick::yardstick_us;
