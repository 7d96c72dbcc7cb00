//! Progress of a digest, the wish to stop it, and seconds by stage.

use crate::DetectorError;
use std::time::Instant;

/// Told of the detector's progress, and asked whether to go on.
pub trait Progress: Sync {
    /// A stage begins; it will advance by `total` steps.
    fn stage(&self, name: &'static str, total: u64);
    /// Steps done.
    fn advance(&self, steps: u64);
    /// Whether the work is to stop with [`DetectorError::Stopped`]; asked every few tenths of a second, by any thread.
    fn is_stopped(&self) -> bool {
        false
    }
    /// Waits while there is more urgent work; called less often, by any thread.
    fn give_way(&self) {}
}

/// Lets more urgent work go first.
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

/// Says nothing.
pub struct Quiet;

impl Progress for Quiet {
    fn stage(&self, _: &'static str, _: u64) {}
    fn advance(&self, _: u64) {}
}

/// Those who watch one run.
pub struct Watching<'a>(pub Vec<&'a dyn Progress>);

impl Progress for Watching<'_> {
    fn stage(&self, name: &'static str, total: u64) {
        self.0.iter().for_each(|one| one.stage(name, total));
    }

    fn advance(&self, steps: u64) {
        self.0.iter().for_each(|one| one.advance(steps));
    }

    /// The one who wants no more does not stop it for the others.
    fn is_stopped(&self) -> bool {
        self.0.iter().all(|one| one.is_stopped())
    }

    fn give_way(&self) {
        self.0.iter().for_each(|one| one.give_way());
    }
}

/// Seconds by stage, in order of first use.
#[derive(Clone, Debug, Default)]
pub struct Stages(Vec<(&'static str, f64)>);

impl Stages {
    /// The stages and their seconds.
    pub fn seconds(&self) -> &[(&'static str, f64)] {
        &self.0
    }

    /// All stages together.
    pub fn total(&self) -> f64 {
        self.0.iter().map(|(_, s)| s).sum()
    }

    /// Adds the seconds of another run.
    pub fn add(&mut self, other: &Self) {
        for &(name, seconds) in &other.0 {
            self.count(name, seconds);
        }
    }

    /// Does `work` and adds its seconds to a stage: none where the target has no clock.
    pub fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = now();
        let out = work();
        self.count(
            name,
            start.map_or(0.0, |start| start.elapsed().as_secs_f64()),
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

/// `None` where there is no clock, and asking for it panics.
fn now() -> Option<Instant> {
    let clock = !cfg!(all(target_family = "wasm", target_os = "unknown"));
    clock.then(Instant::now)
}
