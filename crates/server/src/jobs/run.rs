//! The end of all jobs, and figures for the status page.

use super::{Inner, Jobs, SHOWN, State, View};
use omr_ops::FinishedDigest;
use std::sync::atomic::Ordering;

impl Inner {
    /// Stores the figures of a digest for the status page.
    pub(super) fn remember(&mut self, digest: FinishedDigest) {
        self.last.push_front(digest);
        self.last.truncate(SHOWN);
    }
}

impl Jobs {
    /// Stops the queue. Running jobs stop, and the next start queues them again.
    pub(crate) fn stop(&self) {
        // The flag is set under the lock: otherwise a worker between its test of the flag and its wait would sleep for
        // ever.
        let mut inner = self.lock();
        self.stopping.store(true, Ordering::Relaxed);
        self.wake(&mut inner);
    }

    /// Returns whether the server stops.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Returns the last digests, newest first.
    pub(crate) fn last_digests(&self) -> Vec<FinishedDigest> {
        self.lock().last.iter().cloned().collect()
    }

    /// Returns the views of the running jobs.
    pub(crate) fn running(&self) -> Vec<View> {
        let inner = self.lock();
        let entries = inner.entries.values();
        let running = entries.filter(|entry| entry.record.state == State::Running);
        running.map(|entry| entry.view.borrow().clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::jobs::{Asking, Kinds, Lent};
    use crate::parts::Parts;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn a_worker_that_is_about_to_wait_gets_the_end() {
        let data = tempfile::tempdir().unwrap();
        let parts = Parts::open(Config::tiny(data.path())).unwrap();
        for round in 0..500 {
            let jobs = Arc::new(parts.jobs().unwrap());
            let (ended, end) = std::sync::mpsc::channel();
            let (worker, ready) = (jobs.clone(), Arc::new(AtomicBool::new(false)));
            let going = ready.clone();
            std::thread::spawn(move || {
                going.store(true, Ordering::Release);
                let asking = Asking {
                    who: Arc::default(),
                    most: 1,
                    engines: Kinds::default(),
                    lasts: None,
                };
                let lent = worker.wait(&asking, Duration::from_secs(60));
                ended.send(matches!(lent, Lent::Ended))
            });
            while !ready.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            // The end comes just before or just after the worker waits.
            (0..round % 32).for_each(|_| std::hint::spin_loop());
            jobs.stop();
            let patience = Duration::from_secs(30);
            assert_eq!(end.recv_timeout(patience), Ok(true), "round {round}");
        }
    }
}
