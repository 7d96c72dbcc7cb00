//! Figures of a worker, for its operator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The figures of a worker since its start. Clones are of the same worker.
#[derive(Clone, Debug, Default)]
pub struct Figures(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    working: AtomicBool,
    digests: AtomicU64,
    failures: AtomicU64,
    run_micros: AtomicU64,
}

impl Figures {
    /// Returns whether the worker works at a unit now.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.0.working.load(Ordering::Relaxed)
    }

    /// Returns the number of digests that the server took.
    #[must_use]
    pub fn digests(&self) -> u64 {
        self.0.digests.load(Ordering::Relaxed)
    }

    /// Returns the number of jobs that failed here; those that were given back do not count.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.0.failures.load(Ordering::Relaxed)
    }

    /// Returns the seconds of all runs.
    #[must_use]
    pub fn run_seconds(&self) -> f64 {
        self.0.run_micros.load(Ordering::Relaxed) as f64 / 1e6
    }

    pub(crate) fn work(&self, working: bool) {
        self.0.working.store(working, Ordering::Relaxed);
    }

    pub(crate) fn digest(&self) {
        self.0.digests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failure(&self) {
        self.0.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn run(&self, seconds: f64) {
        let micros = (seconds * 1e6) as u64;
        self.0.run_micros.fetch_add(micros, Ordering::Relaxed);
    }
}
