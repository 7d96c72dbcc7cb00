//! What a person does about ranges that did not come whole; the next fetch asks.

use super::fetch::Office;
use crate::fault::Fault;
use crate::running::Watch;
use std::num::NonZeroU64;
use std::ops::Range;

impl Office {
    /// Gives the number of ranges.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub(super) fn raise_bound(&self, bound: u32, watch: &Watch) -> Result<usize, Fault> {
        self.check_bound(bound, watch)?;
        Ok(self.mailbox.inbox.raise_bound(bound)?)
    }

    /// Asks with a bound, the identity's unless given, for so many messages at once. Gives the number of requests.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub(super) fn again(
        &self,
        range: Range<u64>,
        (bound, by): (Option<u32>, Option<NonZeroU64>),
        watch: &Watch,
    ) -> Result<usize, Fault> {
        let bound = bound.unwrap_or(self.mailbox.identity.profile.bound);
        self.check_bound(bound, watch)?;
        let by = by.map_or(u64::MAX, NonZeroU64::get);
        Ok(self.mailbox.inbox.again_range(range, bound, by)?)
    }

    /// Checks a bound against her keys and the server before anything is written down.
    fn check_bound(&self, bound: u32, watch: &Watch) -> Result<(), Fault> {
        let client = self.client()?;
        let limits = self.network.wait(watch, client.limits())?;
        Ok(self.mailbox.identity.check_bound(bound, &limits)?)
    }
}
