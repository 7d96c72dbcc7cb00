//! Homomorphic compression: the power sums of a sparse encrypted vector, packed into digests.
//!
//! Given are encrypted vectors `v` (*batches*), a *node* `x` for every entry, and for every entry
//! some *symbols* in the clear (or encrypted). A digest holds, for each symbol `L` and all `e < bound`, the sum of
//! `x^e * L * v` over all entries of all batches, modulo p. The holder of the key finds from the sums of `L = 1` which
//! entries are not zero, and from the other sums their symbols (`omr-codec`).
//!
//! 1. A batch comes as the small ciphertexts that ring switching gives
//!    ([`Descent`](omr_rlwe::Descent)). [`CodeTables::codes`] makes its [`Codes`].
//! 2. [`Plaintexts::encode`] encodes symbols; [`Sums::add`] adds their products with the codes, batch by batch.
//!    An encrypted symbol comes as its product with the vector: [`Functionals`] and [`encrypted_sum`] for many,
//!    [`Sums::add_codes`] for one whose codes are there.
//! 3. [`Sums::pack`] makes one ciphertext of the sums of up to [`SumsShape::stride`] symbols, and [`Finisher`] digests of these.
//! 4. [`Phases`] decrypts.
//!
//! Nothing that is done here depends on what is encrypted. SophOMR's digests are these sums, and so are the answers
//! of a private database query. Power sums as a compression of encrypted vectors: SophOMR, sections 2.4 and 4.1,
//! after Cheon, Lee, Park, Yeo 2024.
#![forbid(unsafe_code)]

mod away;
mod codes;
pub mod finish;
mod functionals;
mod keys;
mod layout;
mod merge;
mod moduli;
mod packed;
mod packing;
mod phases;
mod pieces;
mod plaintexts;
mod setting;
mod shape;
mod sums;

pub use codes::{CodeTables, Codes, Images, Round};
pub use finish::Finisher;
pub use functionals::{Functionals, encrypted_sum};
pub use keys::{KeyUse, Keys, MergeKeys, merge_levels};
pub use layout::SlotClasses;
pub use merge::{pack, pack_raised, raised_basis};
pub use moduli::{Moduli, SUM_PRIME_BITS, SumsNoise};
pub use packed::{PackedCiphertext, PackedError, PackedShape};
pub use packing::{FinalRing, Packing};
pub use phases::{Phases, nearest};
pub use plaintexts::Plaintexts;
pub use setting::Setting;
pub use shape::{MAX_WIDTH, MIN_WIDTH, SYMBOLS_TOGETHER, ShapeError, SumsShape};
pub use sums::Sums;
