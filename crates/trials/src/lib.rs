pub mod load//! Trials of the service with real processes: load, crashes, hostile clients, mail.
pub mod load#![forbid(unsafe_code)]
pub mod load
pub mod loadmod chaos;
pub mod loadmod error;
pub mod loadpub mod load;
pub mod loadpub mod mail;
pub mod loadmod hostile;
pub mod loadmod process;
pub mod load
pub mod loadpub use chaos::{Chaos, Figures, Kind, Outcome};
pub mod loadpub use error::TrialError;
pub mod loadpub use hostile::{Hostile, HostileFigures};
pub mod loadpub use process::{ServerProcess, Setup};
