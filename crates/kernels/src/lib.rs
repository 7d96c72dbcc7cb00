//! Row arithmetic modulo one prime, for every instruction set, chosen at run time.
//!
//! A *row* is a `&[u64]` of residues modulo one odd prime `q < 2^50`. Every row is canonical, that
//! is in `[0, q)`, at each public boundary; lazy ranges stay inside a kernel. [`Kernels`] is a plain
//! struct of row operations; all back ends give the same bits as [`Kernels::scalar`], but for the
//! products in double precision ([`FourierTable`]), which differ in rounding errors.
//! Residues below `2^32` that are read from memory more often than written may be stored as 32-bit words
//! ([`WordRows`]).
//!
//! A row that breaks its stated range gives an unspecified row, never undefined behaviour.
#![deny(unsafe_code)]
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // constants of the vector back ends

mod aligned;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512ifma;
mod block;
mod count;
mod double;
mod error;
mod fourier;
mod kernels;
mod modulus;
mod monomials;
#[cfg(target_arch = "aarch64")]
mod neon;
mod permutation;
mod scalar;
mod table;
mod words;

pub use aligned::AlignedVec;
pub use block::{BlockRows, Cut, Gadget, KEY_ROWS, MAX_BLOCK};
pub use count::transforms;
pub use error::KernelError;
pub use fourier::{FourierRows, FourierTable};
pub use kernels::{Encoding, Kernels, MAX_CONVERT_TERMS, MAX_DOT_TERMS, SlidingRows};
pub use modulus::{MAX_MODULUS_BITS, Modulus, is_prime};
pub use monomials::Monomials;
pub use permutation::BlockPermutation;
pub use table::{MAX_LOG_N, NttTable};
pub use words::{WORD_LINE, WordRows, place_words};
