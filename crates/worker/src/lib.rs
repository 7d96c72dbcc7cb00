//! A worker, which makes digests for a remote server. It leases units of work from the server and reads keys and
//! messages from it. It stores everything in memory only.
#![forbid(unsafe_code)]

mod error;
mod figures;
mod handshake;
mod kept;
mod leases;
mod supplies;
mod unit;
mod watch;
mod worker;

pub use error::WorkerError;
pub use figures::Figures;
pub use handshake::Handshake;
pub use supplies::read_part;
pub use unit::LeasedUnit;
pub use worker::{Settings, Stop, Worker};
