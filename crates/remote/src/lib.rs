//! A client of the service: posts, keys, digests, sessions, with retries.
//!
//! Every call of the protocol may be made again without harm: posts, jobs and sessions carry random ids,
//! uploads and digests offsets. So a [`Client`] retries calls that the server did not refuse, for a bounded time.
//! Retries depend on the network alone, never on the content of a digest.
//!
//! ```no_run
//! use omr_remote::v1::Message;
//! use omr_remote::{Client, Endpoint, RemoteError};
//!
//! # async fn post(clue: Vec<u8>, payload: Vec<u8>) -> Result<(), RemoteError> {
//! let client = Client::connect(&Endpoint::new("http://127.0.0.1:7600"))?;
//! let board = client.board().await?;
//! println!("{} messages, payloads of {} bytes", board.messages, board.payload_bytes);
//! // Clue and payload as `omr_client::letter::Writer` makes them. However often the network fails, the
//! // message comes onto the board once.
//! let message = Message { clue: clue.into(), payload: payload.into() };
//! let posted = client.post(vec![message]).await?;
//! println!("it is message {}", posted.ranges[0].start);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod addresses;
mod client;
mod delivery;
mod endpoint;
mod error;
mod jobs;
mod keys;
mod ledger;
mod operator;
mod orders;
mod pdq;
mod posts;
mod proxy;
mod read;
mod retry;
mod sessions;
mod tls;
#[cfg(feature = "otlp")]
mod traces;
mod work;

pub use client::{Client, log_hash};
pub use delivery::Posted;
pub use endpoint::{Endpoint, Notice, Timeouts, UNREACHED, UNREACHED_BY_PROXY, Waiting};
pub use error::{RemoteError, RemoteErrorKind};
pub use jobs::MAX_DIGEST_BYTES;
pub use keys::KeyMaker;
pub use ledger::{Followed, Ledger};
pub use omr_api::{FINGERPRINT_BYTES, address_fingerprint, order_batch_id, v1, with_post_refusal};
pub use pdq::Stage;
pub use proxy::Proxy;
pub use read::Piece;
pub use retry::Retry;
pub use sessions::Cut;

/// 16 random bytes: the id of a post or a request.
///
/// Panics: when the operating system has no randomness.
#[must_use]
pub fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    getrandom::fill(&mut id).expect("the operating system gives randomness");
    id
}
