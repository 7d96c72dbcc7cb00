//! Private database queries: a server finds the rows of its table that satisfy a condition whose constants it
//! cannot read, and returns them without learning which they are.
//!
//! The *shape* of a query (its columns, operators, numbers of constants) is public, and both sides make the same
//! [`Plan`] from it. The client encrypts truth tables of its constants ([`Client::encrypt`]); the server looks each
//! row's digits up in them, multiplies and adds ([`Server::answer`]), and compresses the rows that are marked as OMR
//! compresses messages: power sums in the clear ring's slots, solved by the client ([`Client::decode`]).
//!
//! Sets with `two-sided` in their name also keep from the client all but the rows that match ([`Flooding`]); with the
//! others the client may learn more of the table. `docs/security/queries.md` states the promises.
//!
//! Source: SIMD-aware homomorphic compression and application to private database query (2024), with the table in the
//! clear as in its Remark 7 and ring switching before compression (Section V-C).
//!
//! # Files
//!
//! `docs/wire.md` defines the notation and the sections that are named here. Each file is a frame whose key id, 16
//! random bytes, names the client's pair of keys. `n` is the large ring (rows of a block), `n'` the small one, `n_d`
//! that of answers (`Spec`); `p` = 1,179,649. `docs/table.md` defines schemas and rows.
//!
//! **`pdq-secret.key`** (kind 8): 32 bytes, the seed of all secrets. They are uniform ternary, drawn as in section 6
//! in the domains `omr pdq large secret v1` and `omr pdq small secret v1` with i = 0, and `omr pdq answer secret v1`
//! with i for each body that shares a mask.
//!
//! **`pdq-evaluation.key`** (kind 9): a mask seed of 32 bytes, then parts without gaps as in `detection.key` with the masks
//! `Mask(seed, (index, digit))`, as the key of SophOMR's detector has them. [`Part`] has the parts and indices, `params/primes.rs` the primes.
//!
//! **Query** (kind 10):
//!
//! ```text
//! bytes  field
//! 4      u32 h, bytes of the public part, at most 2^18
//! h      the public part as JSON
//! 32     seed of the masks
//!        for each ciphertext its body, a packed row for each prime of the level at which the plan begins
//! ```
//!
//! The public part is `{"schema": [32 numbers], "shape": {"select": [columns], "filter": f}, "bound": s}`: the
//! fingerprint of the schema, the positions of columns, the condition, and the most rows of the answer. `f` is one of
//!
//! ```text
//! {"and": [f, ..]}   {"or": [f, ..]}             of two at least
//! {"leaf": {"column", "test", "negated"}}        test is one of
//!   {"ordinals": count}   {"range": {"low": bool, "high": bool}}   {"texts": count}   "null"
//!   {"like": {"exact", "prefix": [bool, ..], "infix", "suffix", "fold"}}
//! ```
//!
//! where a position of a pattern states whether it compares a character.
//!
//! Ciphertext i with the mask `Mask(seed, (i))` holds 128 constants (the last one the rest) in its first coefficients,
//! in the order of the plan's truth tables, scaled for the level. Expansion multiplies constant j of c by 2 for each
//! level l with `j mod 2^l + 2^l < c`, and each is divided by that before. A text is compared by the first bits, 60 at
//! most, of BLAKE3 keyed with derive-key, context `omr-table 2026 fingerprints of derived texts v1`, of the salt.
//!
//! **Answer** (kind 11): 32 bytes, the seed of the placement (not in two-sided sets), by which row i of block c lies
//! in the slot of section 13. Then one `pack` without gaps over all groups: for each group, round and set of symbols a
//! mask of `n_d` coefficients in 29 bits and the kept coefficients of the body in 22 bits. Groups, rounds, sets and
//! widths are those of section 13 for the bound and the row's symbols (index, payload, checksum), with blocks in place
//! of batches. The payload of a row is its columns in fixed bytes (`docs/table.md`, section 4). Reading follows
//! section 14.
//!
//! In two-sided sets only the server knows where rows lie, and a checksum is bound to the position (`block n + slot`)
//! instead of the row's number. The row's key, seven symbols, precedes its payload, and its stream (`lock.rs`) is
//! added to payload and checksum.
//!
//! **Encrypted table** (kind 12): `u64` `h`, at most 2^21, the public part in `h` bytes, 32 bytes seed of the masks,
//! 32 bytes seed of the placement, then for each block the bodies of its masks and those of its symbols. The public
//! part is `{"schema", "radix", "depth", "indexed": [{"column": c} or {"like": [c, pattern]}, ..]}`, `radix` from 2 to
//! 16. For each entry of `indexed`, each digit and each value of the digit, in order, there is a mask: the polynomial
//! that is 1 in the slots of rows with that value, at level `D - depth` (D: the products that the set has). Symbols
//! are one level above the last, in the order of columns, the payload and checksum of each column by itself, and so
//! are the pieces of an answer. Ciphertext k of block b has the mask `Mask(seed, (b, 0, k))`, symbol k
//! `Mask(seed, (b, 1, k))`.
#![forbid(unsafe_code)]

mod answer;
mod client;
pub mod compress;
mod encrypted;
mod error;
mod hosted;
mod keys;
mod lock;
mod noise;
mod params;
pub mod plan;
mod progress;
mod query;
mod server;
mod times;

pub use answer::Answer;
pub use client::{Client, DecodeError, Rows};
pub use encrypted::{EncryptedHead, EncryptedServer, EncryptedTable, Indexed};
pub use error::{
    AnswerError, KeyError, ParamsError, PlanError, QueryFileError, ServerError, TableFileError,
};
pub use hosted::{Hosted, Public};
pub use keys::{EvaluationKey, Part, SecretKey};
pub use params::{BODY_BITS, MASK_BITS, Params, Spec};
pub use plan::{Flooding, Plan};
pub use progress::{Progress, Quiet};
pub use query::{EncryptedQuery, QueryHead};
pub use server::{Server, flood};
pub use times::{Stage, Times};
