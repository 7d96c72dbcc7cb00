//! The size of a cluster for many recipients: a simulation of its queue and nodes from measured costs.

mod costs;
mod policy;
mod real;
mod simulate;

pub use costs::{ClusterCosts, UnitCosts};
pub use policy::{Load, Policy, Prices};
pub use real::{Compared, Real};
pub use simulate::{Nodes, PolicySizing, Simulation};
