//! Letters to oneself; their absence shows that a detector leaves letters out.

use crate::{BindingError, OpenInbox};
use omr_mail::{canary_client, post_canary};

impl OpenInbox {
    /// Posts a canary, without the token if the server accepts posts without one. Returns a warning for the program's
    /// log, if there is one.
    ///
    /// Errors: `Mail`.
    pub async fn post_canary(&self) -> Result<Option<&'static str>, BindingError> {
        let connect = |endpoint| self.network.connect(endpoint).map_err(BindingError::from);
        let (client, is_known) = canary_client(&self.server, connect).await?;
        post_canary(&client, &self.mailbox.identity, &self.mailbox.inbox).await?;
        Ok(is_known.then_some(
            "the server takes posts with a token only: it can tell canaries from other people's letters",
        ))
    }
}
