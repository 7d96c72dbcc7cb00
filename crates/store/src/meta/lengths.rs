//! The length of the log, for tasks that wait for it to change.

use tokio::sync::watch;

/// The length of the log, which tasks of a server follow.
#[derive(Debug)]
pub(crate) struct Lengths(watch::Sender<u64>);

impl Lengths {
    pub(super) fn new(len: u64) -> Self {
        Self(watch::Sender::new(len))
    }

    /// Returns a receiver that is woken by each change of the length.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }

    /// Wakes the receivers if the length is another one, or if another history has begun.
    pub(super) fn publish(&self, len: u64, has_begun: bool) {
        self.0.send_if_modified(|known| {
            let changed = has_begun || *known != len;
            *known = len;
            changed
        });
    }
}
