//! The network half of a fetch.

use crate::inbox::Requests;
use crate::{Identity, MailError, exchange};
use omr_inbox::{Collected, Fetch};
use omr_remote::Client;

/// The progress of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The job waits for this number of others.
    Queued(u64),
    /// The job is running: the name of the stage, the number of completed steps, and the number of all steps.
    Running(String, u64, u64),
}

/// Runs a whole [`Fetch`]: collects digests of all messages from the cursor to the board's length, and of other open
/// requests, without decoding them. Nothing that the server sees depends on the content of a digest.
///
/// Errors: `NotRegistered`, `OtherBoard`, `OtherParams`, `Remote`. Collected digests stay; the next fetch continues
/// with the open requests.
pub async fn collect(
    client: &Client,
    identity: &Identity,
    requests: Requests<'_>,
    progress: impl FnMut(Stage),
) -> Result<Collected, MailError> {
    let fetch = Fetch::new(identity.recipient()?);
    exchange::run(client, fetch, requests, progress).await
}
