//! The progress of a unit's jobs, and whether they are still wanted.

use omr_detector::Progress;
use omr_remote::v1;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The progress of a job.
#[derive(Default)]
struct Job {
    stage: Mutex<&'static str>,
    done: AtomicU64,
    total: AtomicU64,
    unwanted: AtomicBool,
}

/// The jobs of a unit, by their places.
pub(crate) struct Watch {
    jobs: Vec<Job>,
    stopping: Arc<AtomicBool>,
}

impl Watch {
    pub(crate) fn new(jobs: usize, stopping: Arc<AtomicBool>) -> Self {
        Self {
            jobs: (0..jobs).map(|_| Job::default()).collect(),
            stopping,
        }
    }

    /// Returns the progress for the server.
    pub(crate) fn progress(&self) -> Vec<v1::UnitProgress> {
        (0..)
            .zip(&self.jobs)
            .map(|(place, job)| v1::UnitProgress {
                job: place,
                stage: (*job.stage.lock().unwrap_or_else(PoisonError::into_inner)).to_owned(),
                stage_done: job.done.load(Ordering::Relaxed),
                stage_total: job.total.load(Ordering::Relaxed),
            })
            .collect()
    }

    /// Stops all jobs but these.
    pub(crate) fn keep(&self, wanted: &[u32]) {
        for (place, job) in self.jobs.iter().enumerate() {
            if !wanted.contains(&(place as u32)) {
                job.unwanted.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// The progress of one job.
pub(crate) struct JobProgress {
    pub(crate) watch: Arc<Watch>,
    pub(crate) job: usize,
}

impl Progress for JobProgress {
    fn stage(&self, name: &'static str, total: u64) {
        if let Some(job) = self.watch.jobs.get(self.job) {
            *job.stage.lock().unwrap_or_else(PoisonError::into_inner) = name;
            job.done.store(0, Ordering::Relaxed);
            job.total.store(total, Ordering::Relaxed);
        }
    }

    fn advance(&self, steps: u64) {
        if let Some(job) = self.watch.jobs.get(self.job) {
            job.done.fetch_add(steps, Ordering::Relaxed);
        }
    }

    fn is_stopped(&self) -> bool {
        let job = self.watch.jobs.get(self.job);
        let unwanted = job.is_none_or(|known| known.unwanted.load(Ordering::Relaxed));
        unwanted || self.watch.stopping.load(Ordering::Relaxed)
    }
}
