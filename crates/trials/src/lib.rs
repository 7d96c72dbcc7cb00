//! Trials of the service with real processes: load, crashes, hostile clients, mail.
#![forbid(unsafe_code)]

mod error;
pub mod load;
pub mod mail;
mod process;

pub use error::TrialError;
pub use process::{ServerProcess, Setup};
