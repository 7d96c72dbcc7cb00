//! A recipient of retrieval in two rounds: the detector's key, the indices in a scan, queries and answers.

mod keygen;
mod recipient;

pub use keygen::{key, write_key};
pub use recipient::{Asked, Fetched, RoundsRecipient};
