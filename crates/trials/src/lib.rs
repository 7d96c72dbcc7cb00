//! Trials of the service with real processes: load, crashes, hostile clients, mail.
#![forbid(unsafe_code)]

mod error;
mod process;

pub use error::TrialError;
pub use process::{ServerProcess, Setup};
