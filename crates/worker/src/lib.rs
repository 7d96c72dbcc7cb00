//! A worker: makes digests for a server elsewhere, from which it leases units of work and reads keys and messages. It
//! keeps nothing but what is in its memory.
#![forbid(unsafe_code)]

mod error;
mod hired;
mod kept;
mod leases;
mod supplies;
mod unit;
mod watch;
mod worker;

pub use error::WorkerError;
pub use hired::Hired;
pub use supplies::read_part;
pub use unit::Told;
pub use worker::{Settings, Stop, Worker};
