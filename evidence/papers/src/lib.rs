//! The schemes before SophOMR, beside the product, so that they can be compared with it: OMD1p, OMR1p and OMR2p (Liu
//! and Tromer 2021), PerfOMR1 and PerfOMR2 (Liu, Tromer and Wang 2023), and DoS-PerfOMR.
//!
//! They stand on SophOMR's rings, keys and affine transform. [`clear`] has their parameter sets and clues, [`codec`]
//! their codes, [`client`] senders and recipients, [`detector`] what an untrusted detector computes: it names nothing
//! of `client`, as a test checks. Figures are in `docs/comparison.md`.
#![forbid(unsafe_code)]

pub mod clear;
pub mod client;
pub mod codec;
pub mod detector;
mod even;

pub use even::EvenFunction;
