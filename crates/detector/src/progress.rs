//! Observing and stopping the making of a digest, and seconds of its stages.

use crate::DetectorError;
use std::time::Instant;

/// An observer of the detector's progress, which can also stop the work.
pub trait Progress: Sync {
    /// Called when a stage begins; `advance` will be called with `total` steps altogether.
    fn stage(&self, name: &'static str, total: u64);
    /// Called after some steps.
    fn advance(&self, steps: u64);
    /// Returns whether the work must stop with [`DetectorError::Stopped`]. It is called every few tenths of a second,
    /// by any thread.
    fn is_stopped(&self) -> bool {
        false
    }
    /// Waits while there is more urgent work. It is called less often, by any thread.
    fn give_way(&self) {}
}

/// Waits for more urgent work, then checks whether the work must stop.
///
/// Errors: `Stopped`.
pub(crate) fn check_stopped(progress: &dyn Progress) -> Result<(), DetectorError> {
    progress.give_way();
    if progress.is_stopped() {
        Err(DetectorError::Stopped)
    } else {
        Ok(())
    }
}

/// An observer that ignores the progress.
pub struct Quiet;

impl Progress for Quiet {
    fn stage(&self, _: &'static str, _: u64) {}
    fn advance(&self, _: u64) {}
}

/// Several observers of one run.
pub struct Watching<'a>(pub Vec<&'a dyn Progress>);

impl Progress for Watching<'_> {
    fn stage(&self, name: &'static str, total: u64) {
        self.0.iter().for_each(|one| one.stage(name, total));
    }

    fn advance(&self, steps: u64) {
        self.0.iter().for_each(|one| one.advance(steps));
    }

    /// Returns whether all observers want to stop: one of them cannot stop the work for the others.
    fn is_stopped(&self) -> bool {
        self.0.iter().all(|one| one.is_stopped())
    }

    fn give_way(&self) {
        self.0.iter().for_each(|one| one.give_way());
    }
}

/// Seconds of stages, in the order of their first use.
#[derive(Clone, Debug, Default)]
pub struct Stages(Vec<(&'static str, f64)>);

impl Stages {
    /// Returns the stages with their seconds.
    pub fn seconds(&self) -> &[(&'static str, f64)] {
        &self.0
    }

    /// Returns the seconds of all stages together.
    pub fn total(&self) -> f64 {
        self.0.iter().map(|(_, s)| s).sum()
    }

    /// Adds the seconds of another run.
    pub fn add(&mut self, other: &Self) {
        for &(name, seconds) in &other.0 {
            self.count(name, seconds);
        }
    }

    /// Runs `work` and adds its seconds to a stage. On targets without a clock it adds none.
    pub fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = now();
        let out = work();
        self.count(
            name,
            start.map_or(0.0, |begin| begin.elapsed().as_secs_f64()),
        );
        out
    }

    /// Adds seconds to a stage.
    pub fn count(&mut self, name: &'static str, seconds: f64) {
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, total)) => *total += seconds,
            None => self.0.push((name, seconds)),
        }
    }
}

/// Returns the time; `None` on targets without a clock, on which `Instant::now` panics.
fn now() -> Option<Instant> {
    let clock = !cfg!(all(target_family = "wasm", target_os = "unknown"));
    clock.then(Instant::now)
}
