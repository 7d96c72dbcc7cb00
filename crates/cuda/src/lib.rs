//! Polynomials in the memory of a graphics card: a [`Backend`](omr_ring::Backend) of rings in CUDA.
//!
//! Kernels are written once in a restricted C (`kernels/`). `nvcc` compiles them to PTX, which is part of this crate.
//! Tests compile the same source with a C compiler and run it block by block on the processor, through the same calls
//! (feature `emulated`). The driver is loaded on demand (feature `driver`): on machines without one the crate builds,
//! and using a card is an error.
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(unsafe_code, reason = "calls of the driver")]

mod backend;
mod calls;
mod cards;
#[cfg(feature = "checks")]
pub mod checks;
#[cfg(feature = "driver")]
mod driver;
#[cfg(feature = "emulated")]
mod emulated;
mod machine;
mod messages;
mod pool;

pub use backend::CudaRing;
pub use cards::{Cards, CardsError, Choice, ChoiceError};
#[cfg(feature = "driver")]
pub use driver::Card;
#[cfg(feature = "emulated")]
pub use emulated::{Changes, Emulated};
pub use machine::{Arithmetic, Kernel, Launch, Machine, MachineError, Reading};
pub use messages::{MessageEngine, MessageKeys, MessageRing, Rotated};
