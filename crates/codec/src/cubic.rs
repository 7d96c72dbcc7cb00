//! The code over the cubic field `GF(97^3)`, whose sums are small integers.
//!
//! The detector adds, over the pertinent messages, the weights that [`CubicCode`] gives for each
//! one: numbers below 97, all sums modulo 97. Sums of the parts of a board are the sum over the
//! board, and no part needs to know how many there are.

mod code;
mod counters;
mod decode;
mod element;
mod field;
mod nodes;
mod permutation;
mod symbols;
mod units;
mod vanish;
mod weights;

pub use code::{CUBIC_BOUND, CUBIC_NEWTON_BOUND, CubicCode};
pub use counters::CubicCounters;
pub use decode::{CubicRows, CubicSolver};
pub use element::CubicElement;
pub use field::Cubic;
pub use nodes::{CUBIC_MESSAGES, CubicNodes};
pub use symbols::CubicSymbols;
