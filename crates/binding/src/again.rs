//! A person's requests for ranges that did not arrive whole; the next fetch makes them.

use crate::{BindingError, OpenInbox, Watch};
use std::num::NonZeroU64;
use std::ops::Range;

impl OpenInbox {
    /// Has the next fetch request overflowed ranges with this bound. Returns the number of ranges.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub fn raise_bound(&self, bound: u32, watch: &impl Watch) -> Result<usize, BindingError> {
        self.check_bound(bound, watch)?;
        Ok(self.mailbox.inbox.raise_bound(bound)?)
    }

    /// Has the next fetch request a range again, at most `by` messages per request, with the identity's bound unless
    /// another is given. Returns the number of requests.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub fn again(
        &self,
        range: Range<u64>,
        bound: Option<u32>,
        by: Option<NonZeroU64>,
        watch: &impl Watch,
    ) -> Result<usize, BindingError> {
        let asked = bound.unwrap_or(self.mailbox.identity.profile.bound);
        self.check_bound(asked, watch)?;
        let most = by.map_or(u64::MAX, NonZeroU64::get);
        Ok(self.mailbox.inbox.again_range(range, asked, most)?)
    }

    /// Checks a bound against the identity's keys and the server before anything is recorded.
    fn check_bound(&self, bound: u32, watch: &impl Watch) -> Result<(), BindingError> {
        let client = self.client()?;
        let limits = self.network.wait(watch, client.limits())?;
        Ok(self.mailbox.identity.check_bound(bound, &limits)?)
    }
}
