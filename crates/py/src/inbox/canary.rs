//! Letters to oneself; their absence shows that a detector leaves letters out.

use super::fetch::OpenInbox;
use crate::fault::Fault;
use omr_mail::{CanaryState, canary_client, post_canary};
use pyo3::prelude::*;

/// The state of a canary.
#[pyclass(frozen, get_all, module = "omr")]
pub(crate) struct Canary {
    made: u64,
    index: Option<u64>,
    state: &'static str,
    missing_from: Option<(u64, u64)>,
}

#[pymethods]
impl Canary {
    fn __repr__(&self) -> String {
        let index = self
            .index
            .map_or(String::new(), |index| format!(" {index}"));
        format!("<omr.Canary{index}: {}>", self.state)
    }
}

impl From<omr_mail::Canary> for Canary {
    fn from(canary: omr_mail::Canary) -> Self {
        Self {
            made: canary.made,
            index: canary.index,
            state: match canary.state {
                CanaryState::Posting => "posting",
                CanaryState::Posted => "posted",
                CanaryState::Returned => "returned",
                CanaryState::Missing => "missing",
                CanaryState::Gone => "gone",
            },
            missing_from: canary.missing_from.map(|range| (range.start, range.end)),
        }
    }
}

impl OpenInbox {
    /// Posts a canary, without the token if the server accepts posts without one. Returns a warning for the program's
    /// log, if there is one.
    ///
    /// Errors: `Mail`.
    pub(super) async fn post_canary(&self) -> Result<Option<&'static str>, Fault> {
        let connect = |endpoint| self.network.connect(endpoint).map_err(Fault::from);
        let (client, is_known) = canary_client(&self.server, connect).await?;
        post_canary(&client, &self.mailbox.identity, &self.mailbox.inbox).await?;
        Ok(is_known.then_some(
            "the server takes posts with a token only: it can tell canaries from other people's letters",
        ))
    }
}
