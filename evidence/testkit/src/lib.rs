//! Real transactions for tests, demos and benches.
//!
//! [`real_payloads`] serves message payloads of one fixed size, cut from transactions of the Zcash
//! and Bitcoin main chains. For development only: no other crate's correctness rests on this one.
#![forbid(unsafe_code)]

mod bitcoin;
mod error;
mod payloads;
mod reader;
#[cfg(test)]
mod sha256d;
mod zcash;

pub use error::TestkitError;
pub use payloads::{MIN_PAYLOAD_BYTES, RealPayloads, Source, real_payloads};
