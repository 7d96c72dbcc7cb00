//! Priority of sessions, which process single messages, over digests, which take seconds.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest wait of a digest at a time. Endless sessions must not stop it for ever.
const PATIENCE: Duration = Duration::from_secs(1);

/// The number of urgent tasks in progress.
#[derive(Default)]
pub(crate) struct Priority {
    urgent: Mutex<usize>,
    free: Condvar,
}

/// An urgent task in progress.
pub(crate) struct Urgent<'a>(&'a Priority);

impl Priority {
    /// Begins an urgent task.
    pub(crate) fn urgent(&self) -> Urgent<'_> {
        *self.urgent.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Urgent(self)
    }

    /// Waits while there are urgent tasks, at most a second.
    pub(crate) fn let_urgent_work_go_first(&self) {
        let until = Instant::now() + PATIENCE;
        let mut urgent = self.urgent.lock().unwrap_or_else(PoisonError::into_inner);
        while *urgent > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.free.wait_timeout(urgent, left);
            urgent = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Urgent<'_> {
    fn drop(&mut self) {
        *self.0.urgent.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.free.notify_all();
    }
}
