//! The second round: a fixed number of payloads, one from each bucket, without showing which (batch PIR).
//!
//! **Pages and buckets.** A page is a fixed number of consecutive messages, counted from the beginning of the board, and
//! fills one row of each bucket: `positions` places. Each message of a page lies in some of the buckets ([`Places`]),
//! drawn from a public seed. The slots of a ring of dimension n are divided among buckets: slot values are values at
//! `psi^e` for odd e, and `psi^e` belongs to bucket `(e mod 2 B) div 2` and position `e div 2 B`, with B buckets. For each
//! page and symbol of payloads, one plaintext contains the symbol of the message in each place.
//!
//! **Query.** The recipient chooses one place in each bucket. One ciphertext has a 1 in the slot of each bucket's
//! position. Others have, for each row, a polynomial in `X^positions`, whose slots are constant over each bucket: not 0
//! in the buckets whose place lies in this row.
//!
//! **Answer.** The detector expands the query to one ciphertext for each row and multiplies each with the position: this
//! selects one place of each bucket. The sums of products with the plaintexts contain the chosen symbols; a trace adds up
//! the slots of each bucket while it packs all symbols into few ciphertexts, which are switched to the ring of responses
//! and rounded, as in a digest.

mod answer;
mod assign;
mod noise;
mod places;
mod prepared;
mod query;
mod secret;
mod spec;

pub use answer::{FetchKey, KeyedQuery, answer};
pub use assign::assign;
pub use places::{Place, Places};
pub use prepared::Prepared;
pub use query::{Choice, Query};
pub use secret::FetchSecret;
pub use spec::{Fetch, FetchSpec};
