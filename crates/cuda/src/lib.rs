//! Polynomials in the memory of a graphics card: a [`Backend`](omr_ring::Backend) of rings in CUDA.
//!
//! Kernels are written once in a restricted C (`kernels/`). `nvcc` compiles them to PTX, which is part of this crate.
//! Tests compile the same source with a C compiler and run it block by block on the processor, through the same calls
//! (feature `emulated`). The driver is loaded on demand (feature `driver`): on machines without one the crate builds,
//! and using a card is an error.
//!
//! # Arithmetic
//!
//! The circuit of `omr-bgv`, `omr-opening` and `omr-detector` runs unchanged on polynomials in the card's memory. A
//! call starts one kernel for a batch of rows, by a table of row addresses and constants. Rows are canonical residues
//! at every boundary, so all results equal the processor's bit for bit.
//!
//! Transforms exist in integers and in double precision, which is exact here: products of integers below 2^50 and
//! 2^52 are split into a rounded part and its error by fused multiply-adds (`floating.h` derives the ranges). Cards
//! with few units for double precision use integers. On an H100 double precision is 1.4 times as fast. Conversions
//! between primes also exist in both: a product takes four operations in double precision and an addition of 64 bits,
//! or about fourteen operations on integers (`conversions.cu` derives the ranges).
//!
//! InstantOMR's messages go to the card in batches of 256. The first layer of a batch is queued before the second
//! layer of the previous one, so that the card is always busy. A block of threads carries four rotations of the first
//! layer, or two of the second, through all steps of one kernel; all blocks read the same keys from the card's cache
//! at the same time. A message of `hybrid-v4` takes 2,332 transforms of 2,048 points and 548 million operations in
//! double precision.
//!
//! # Tests
//!
//! - `cargo xtask test -p omr-cuda`: transforms, sums, products, conversions, permutations, interpolations, packed and
//!   uniform residues in nine dimensions, with primes of 31 to 50 bits; rotations and traces of each InstantOMR set; 39
//!   faults of kernels, all found. On the processor, blocks run in random order, shared memory begins with random data,
//!   and ranges are asserted.
//! - `cargo xtask test -p omr-e2e --test detector card`: digests of several recipients and batches, plain and bound
//!   clues, after stops and failures, have equal bytes; packed clues at full size are equal.
//! - `cargo xtask test -p omr-e2e --test instant card`: InstantOMR's sums and digests of 1, 3 and 256 messages, after
//!   stops and failures.
//! - `cargo test --profile tested -p omr-e2e --test instant full_size -- --ignored` (256 messages of `hybrid-v4`,
//!   minutes), and with `--test detector` (a digest of `sophomr-v5`, three minutes).
//! - `cargo xtask cuda`: the PTX in the repository is what the compiler makes of the sources.
//! - `cargo xtask gpu`: everything except the faults, on a card, with digests and a batch at full size.
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(unsafe_code, reason = "calls of the driver")]

mod backend;
mod calls;
mod cards;
#[cfg(feature = "checks")]
pub mod checks;
#[cfg_attr(not(feature = "driver"), path = "no_driver.rs")]
mod driver;
#[cfg(feature = "emulated")]
mod emulated;
mod machine;
mod messages;
mod pool;

pub use backend::CudaRing;
pub use cards::{BatchRings, Cards, CardsError, Choice, ChoiceError};
#[cfg(feature = "driver")]
pub use driver::Card;
#[cfg(feature = "emulated")]
pub use emulated::{Changes, Emulated};
pub use machine::{Arithmetic, Kernel, Launch, Machine, MachineError, Reading};
pub use messages::{MessageEngine, MessageKeys, MessageRing, Rotated};
