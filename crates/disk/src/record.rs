//! Calls of a process that tests see, and the folders that a power failure could have left.

mod database;
mod recording;
mod replay;

pub(crate) use database::Recorded;
pub(crate) use recording::synced;
pub use recording::{Recording, Site};
pub use replay::{History, Loss};
