//! Real transactions, the payloads of the demonstration.
//!
//! [`real_payloads`] returns payloads of one fixed size, cut from transactions of the Zcash and Bitcoin main chains.
//! [`zcash_transactions`] returns those of Zcash whole.
#![forbid(unsafe_code)]

mod bitcoin;
mod error;
mod payloads;
mod reader;
#[cfg(test)]
mod sha256d;
mod zcash;

pub use error::TransactionsError;
pub use payloads::{MIN_PAYLOAD_BYTES, RealPayloads, Source, real_payloads};
pub use zcash::{ZcashTransaction, zcash_transactions};
