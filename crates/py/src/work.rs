//! Classes for making digests on a cluster: leases of a server's units, units that travel between processes, and makers
//! of digests and of their parts.

mod given;
mod leases;
mod maker;
mod unit;

pub(crate) use leases::Leases;
pub(crate) use maker::Maker;
pub(crate) use unit::Unit;
