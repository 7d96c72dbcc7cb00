//! Streaming sessions: the server processes messages as they come, and makes a digest at every tick.

use crate::collect::no_query;
use crate::inbox::Requests;
use crate::{Identity, MailError, exchange};
use omr_inbox::{Close, Collected, Cut};
use omr_remote::Client;

/// Runs a whole [`Cut`]: the next digest of the open session, and the spare digest whose turn it is, are kept
/// undecoded. It must run on a fixed schedule: the server sees nothing else. Repeated after an interruption, it
/// receives the same digest.
///
/// Errors: `NoInstant`, `NotRegistered`, `OtherBoard`, `OtherParams`, `Remote`, `Digest`.
pub async fn cut(
    client: &Client,
    identity: &Identity,
    requests: Requests<'_>,
) -> Result<Collected, MailError> {
    let cut = Cut::new(identity.recipient()?);
    exchange::run(client, cut, requests, no_query, |_| {}).await
}

/// Ends the open session, if there is one.
///
/// Errors: `Remote`, `Database`.
pub async fn close_session(client: &Client, requests: Requests<'_>) -> Result<(), MailError> {
    exchange::run(client, Close, requests, no_query, |_| {}).await
}
