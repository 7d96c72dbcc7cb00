//! Common parts of the commands of `omr` and its benchmarks: reading and writing whole files, progress bars and
//! messages on a terminal, exit codes, parsers of arguments. It has no code for keys and boards.
#![forbid(unsafe_code)]

pub mod args;
mod build;
mod code;
mod error;
pub mod files;
mod help;
mod memory;
mod numbers;
mod output;
pub mod progress;

pub use build::{build, set_build};
pub use code::Code;
pub use error::{ConsoleError, ReadError, WriteError, chain};
pub use help::{Groups, grouped};
pub use memory::peak_rss_bytes;
pub use numbers::thousands;
pub use output::{Access, Output, Staged, commit, stage_bytes, write_result};
pub use progress::{Bar, Ui};

/// Starts the threads that all later work of the process shares, as many as there are cores for `None`.
///
/// Errors: `Threads`; threads can be started only once.
pub fn start_threads(threads: Option<u16>) -> Result<(), ConsoleError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0).into());
    Ok(pool.build_global()?)
}
