//! The network half of a fetch.

use crate::{Identity, Inbox, MailError, Reader, exchange};
use omr_inbox::{Asking, Collected, Fetch};
use omr_remote::{Client, RemoteError};

/// The progress of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The job waits for this number of others.
    Queued(u64),
    /// The job is running: the name of the stage, the number of completed steps, and the number of all steps.
    Running(String, u64, u64),
}

/// Runs a whole [`Fetch`]: collects digests of all messages from the cursor to the board's length, and of other open
/// requests, without decoding them. In two rounds it collects scans, has the reader make a query, and collects the
/// answer. Nothing that the server sees depends on the content of a digest, a scan or an answer.
///
/// Errors: `NotRegistered`, `OtherBoard`, `OtherParams`, `Remote`. Collected digests stay; the next fetch continues
/// with the open requests.
pub async fn collect(
    client: &Client,
    identity: &Identity,
    inbox: &Inbox,
    reader: &Reader,
    progress: impl FnMut(Stage),
) -> Result<Collected, MailError> {
    let ask = |asking: &Asking| inbox.ask(reader, asking);
    let fetch = Fetch::new(identity.recipient()?);
    exchange::run(client, fetch, inbox.requests(), ask, progress).await
}

/// Refuses to make a query.
pub(crate) fn no_query(_: &Asking) -> Result<(), MailError> {
    Err(RemoteError::answer("Ask", "an exchange without queries", "one with them").into())
}
