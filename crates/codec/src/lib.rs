//! Sparse-recovery codes in the clear: power sums, Newton, evaluation, Vandermonde.
//!
//! A detector sums, over the pertinent messages `j` with distinct non-zero nodes `x_j` of a prime
//! field `F_p`, the powers `x_j^e` and the products `x_j^e * v_j` with the payload symbols `v_j`.
//! A recipient turns the first sums into the set of nodes ([`Nodes::search`]) and the second ones
//! into the symbols ([`Solver`]). Nothing in this crate is encrypted.
//!
//! * [`Field`]: arithmetic in `F_p`, `p` an odd prime below `2^31`.
//! * [`Symbols`]: payload bytes to base-`p` symbols and back.
//! * [`Nodes`]: the node of every (batch, slot), and the way back.
//!
//! [`CubicCode`] encodes indices and payloads in one code over the field [`Cubic`] of `97^3` elements, for
//! digests whose sums are small integers.
//! [`Draws`] and [`eliminate`] serve codes of other schemes.
//!
//! Sums, nodes and payloads come over a wire: no function panics on their values. What a recipient
//! runs takes a time that depends on the bound and the number of candidates, not on the
//! values of the sums: it always fills as many places as the bound allows, by choices without branches. Errors are
//! reported at the end.

#![forbid(unsafe_code)]

mod cubic;
mod draws;
mod elimination;
mod error;
mod field;
mod finite;
mod fixed;
mod nodes;
mod powers;
mod radix;
mod recurrence;
mod runs;
mod solver;
mod support;
mod symbols;
mod wide;

pub use cubic::{
    CUBIC_BOUND, CUBIC_MESSAGES, CUBIC_NEWTON_BOUND, Cubic, CubicCode, CubicCounters, CubicElement,
    CubicNodes, CubicRows, CubicSolver, CubicSymbols,
};
pub use draws::Draws;
pub use elimination::eliminate;
pub use error::{CodecError, DecodeError, Inconsistency};
pub use field::Field;
pub use nodes::{Located, NodeSearch, Nodes, find_support};
pub use solver::{Solver, Unexplained};
pub use support::{Support, power_sums};
pub use symbols::{MAX_PAYLOAD_BYTES, Symbols};

/// The default plaintext prime, `3 * 2^18 + 1`.
pub const DEFAULT_PRIME: u32 = 786_433;
