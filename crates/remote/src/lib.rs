//! A client of the service: posts, keys, digests, sessions, with retries.
//!
//! Every call of the protocol may be made again without harm: posts, jobs and sessions carry random ids,
//! uploads and digests offsets. So a [`Client`] retries where the server did not say no, for a bounded time,
//! and what it retries depends on the network alone, never on what a digest holds.
#![forbid(unsafe_code)]

mod addresses;
mod client;
mod delivery;
mod endpoint;
mod error;
mod jobs;
mod keys;
mod operator;
mod pdq;
mod posts;
mod read;
mod retry;
mod sessions;

pub use client::Client;
pub use delivery::Posted;
pub use endpoint::{Endpoint, Timeouts, UNREACHED};
pub use error::RemoteError;
pub use jobs::MAX_DIGEST_BYTES;
pub use omr_api::{FINGERPRINT_BYTES, address_fingerprint, v1, with_post_refusal};
pub use pdq::Stage;
pub use read::Piece;
pub use retry::Retry;

/// 16 random bytes: the id of a post or a request.
///
/// Panics: when the operating system has no randomness.
#[must_use]
pub fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    getrandom::fill(&mut id).expect("the operating system gives randomness");
    id
}
