//! The schemes published before SophOMR, for comparison: OMD1p, OMR1p and OMR2p (Liu and Tromer 2021), PerfOMR1
//! and PerfOMR2 (Liu, Tromer and Wang 2023), and DoS-PerfOMR; and SophOMR with the affine transform of its
//! paper. The product does not depend on this crate.
//!
//! All schemes use SophOMR's rings, keys and affine transform. [`clear`] contains their parameter sets and
//! clues, [`codec`] their codes, [`client`] senders and recipients, and [`detector`] the computation of an
//! untrusted detector, which uses nothing of `client`; a test checks this. `docs/comparison.md` has figures.
#![forbid(unsafe_code)]

pub mod clear;
pub mod client;
pub mod codec;
pub mod detector;
mod even;

pub use even::EvenFunction;
