//! Runs that make digests: what one of them does ([`Unit`]), who hands it out ([`Leases`]) and gives what it needs
//! ([`Supplies`]), and how it is done ([`Worker`]). A server's own thread and a worker elsewhere do it alike.
//!
//! A unit says all that a digest depends on, its seeds among it: whoever does it, the bytes are the same.
#![forbid(unsafe_code)]

mod keys;
mod leases;
mod needs;
mod parts;
mod run;
mod unit;
mod version;

pub use keys::{KeyError, Keys};
pub use leases::{Failure, Leased, Leases, Made, Supplies};
pub use needs::{Needs, in_words, room, works_here};
pub use parts::batches;
pub use run::{IDLE, Worker};
pub use unit::{KeyRef, Misfit, Seed, Unit, UnitId};
pub use version::{is_same_build, version};
