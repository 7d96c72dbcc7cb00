//! Moduli, bases of primes, polynomials, automorphisms and samplers.
//!
//! A [`Ring`] is `Z[X]/(X^n + 1)` with a universe of primes; a [`Basis`] picks some of them; a
//! [`Poly`] holds one row of residues for each prime of its basis, in the coefficient domain
//! ([`Coeff`]) or the evaluation domain ([`Eval`]); mixing them does not compile.
#![forbid(unsafe_code)]

mod automorphism;
mod away;
mod backend;
mod basis;
mod blocks;
mod buffer;
mod convert;
mod embedding;
mod error;
mod narrow;
pub mod parallel;
mod poly;
mod primes;
mod recent;
mod rescale;
mod ring;
mod sample;
mod update;
mod xof;

pub use automorphism::{Automorphism, SlotOrder};
pub use away::permuted_away;
pub use backend::{
    At, AwayBytes, AwayRows, Backend, ConversionNumbers, PackedRow, PackedRows, RowConversion,
    RowForwardSum, RowLift, RowProducts, RowStream, RowSum, RowTransform, TurnedProducts,
    TurnedSymbol, Values, Watch, Wiper, places,
};
pub use basis::Basis;
pub use blocks::Blocks;
pub use buffer::{BUFFER_WORDS, Buffer, Reservation, fresh_bytes, release, reserve};
pub use convert::{Conversion, Switch, centered_f64, centered_mod};
pub use embedding::{max_embedding_squared, rms_embedding, squared_embeddings};
pub use error::RingError;
pub use narrow::NarrowGaussian;
pub use omr_kernels::{
    AlignedVec, BlockPermutation, BlockRows, Cut, Encoding, FourierRows, FourierTable, Gadget,
    KEY_ROWS, Kernels, MAX_BLOCK, Modulus, Monomials, NttTable, SlidingRows, WORD_LINE, WordRows,
    place_words,
};
pub use poly::{Coeff, Eval, Poly};
pub use primes::{primes_below, primes_near};
pub use rescale::Rescale;
pub use ring::Ring;
pub use sample::{
    centered_binomial, fixed_weight, uniform_poly, uniform_residues, uniform_row, uniform_ternary,
};
pub use xof::Xof;
