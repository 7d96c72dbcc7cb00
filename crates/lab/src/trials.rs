//! Trials of the service with real processes: load, crashes, hostile clients, mail.

mod chaos;
mod error;
mod hostile;
pub mod load;
pub mod mail;
mod process;

pub use chaos::{Chaos, Figures, Kind, Outcome};
pub use error::TrialError;
pub use hostile::{Hostile, HostileFigures};
pub use process::{ServerProcess, Setup};
