//! The evidence beside the product: measurements whose figures the documentation quotes, trials of the
//! service with real processes, and the commands that run them.
//!
//! The command `omr` has [`bench()`], [`compare`] and [`search`] in builds with its feature `lab`.
#![forbid(unsafe_code)]

mod commands;
mod error;
pub mod help;
pub mod measure;
pub mod trials;

pub use commands::{
    Bench, BenchCommand, Compare, Fpga, ParamsSearch, bench, compare, fpga, search,
};
pub use error::LabError;
