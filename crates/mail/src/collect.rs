//! The network half of a fetch.

use crate::inbox::Requests;
use crate::{Identity, MailError, exchange};
use omr_inbox::{Collected, Fetch};
use omr_remote::Client;

/// The progress of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits for so many others.
    Queued(u64),
    /// The server works: at what, steps done, all steps.
    Running(String, u64, u64),
}

/// A whole [`Fetch`]: digests of all messages from the cursor to the board's length, and of what else is asked for, are
/// collected undecoded. What the server sees does not depend on what any digest held.
///
/// Errors: `NotRegistered`, `OtherBoard`, `OtherParams`, `Remote`. What was collected stays; the
/// next fetch goes on with the same requests.
pub async fn collect(
    client: &Client,
    identity: &Identity,
    requests: Requests<'_>,
    progress: impl FnMut(Stage),
) -> Result<Collected, MailError> {
    let fetch = Fetch::new(identity.recipient()?);
    exchange::run(client, fetch, requests, progress).await
}
