//! Recording of a process's syncs for tests, and rebuilding of folders as a power failure could have left them.

mod database;
mod recording;
mod replay;

pub(crate) use database::Recorded;
pub(crate) use recording::synced;
pub use recording::{Recording, Site};
pub use replay::{History, Loss};
