//! Streaming sessions: the server looks at messages as they come, a digest is cut off at every tick.

use crate::inbox::Requests;
use crate::{Identity, MailError, exchange};
use omr_inbox::{Close, Collected, Cut};
use omr_remote::Client;

/// A whole [`Cut`]: a digest of the open session, and the spare one whose turn it is, are kept undecoded. To be called on
/// a fixed schedule: what the server sees depends on nothing else. Repeated after an interruption it gets the same
/// digest.
///
/// Errors: `NoInstant`, `NotRegistered`, `OtherBoard`, `OtherParams`, `Remote`, `Digest`.
pub async fn cut(
    client: &Client,
    identity: &Identity,
    requests: Requests<'_>,
) -> Result<Collected, MailError> {
    let cut = Cut::new(identity.recipient()?);
    exchange::run(client, cut, requests, |_| {}).await
}

/// Ends the open session, if there is one.
///
/// Errors: `Remote`, `Database`.
pub async fn close_session(client: &Client, requests: Requests<'_>) -> Result<(), MailError> {
    exchange::run(client, Close, requests, |_| {}).await
}
