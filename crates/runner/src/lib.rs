//! Runs that make digests: the work of a run ([`Unit`]), the interfaces for leasing units ([`Leases`]) and for reading
//! keys and messages ([`Supplies`]), and the loop that runs units ([`Worker`]). Threads of a server and remote workers
//! use the same code.
//!
//! A unit contains everything that determines a digest, including its seeds, so the digest's bytes do not depend on who
//! makes it.
#![forbid(unsafe_code)]

mod fetch;
mod keys;
mod leases;
mod needs;
mod pages;
mod parts;
mod run;
mod unit;
mod version;

pub use keys::{KeyError, Keys};
pub use leases::{Failure, Leased, Leases, Made, Supplies};
pub use needs::{Needs, in_words, room, works_here};
pub use pages::Pages;
pub use parts::batches;
pub use run::{IDLE, Worker};
pub use unit::{KeyRef, Misfit, Seed, Unit, UnitId};
pub use version::{is_same_build, version};
