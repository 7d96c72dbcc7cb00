//! The caller's view of long work.

use crate::OmrError;
use omr_binding::BindingError;
use std::sync::{Arc, Mutex, PoisonError};

/// The caller of long work, who receives its progress and can stop it. An exception of one of its methods stops the
/// work.
#[uniffi::export(with_foreign)]
pub trait Watch: Send + Sync {
    /// Receives the progress of a stage: its name, the number of completed steps, and the number of all steps.
    fn at(&self, stage: String, done: u64, total: u64) -> Result<(), OmrError>;

    /// Returns whether the work must end. It is called every few hundredths of a second.
    fn is_stopped(&self) -> Result<bool, OmrError>;
}

/// A watch as calls take it, and the first exception that it threw.
pub(crate) struct Watched {
    watch: Option<Arc<dyn Watch>>,
    thrown: Mutex<Option<OmrError>>,
}

impl Watched {
    /// Runs work under a watch.
    ///
    /// Errors: those of the work; the watch's own.
    pub(crate) fn run<T>(
        watch: Option<Arc<dyn Watch>>,
        work: impl FnOnce(&Self) -> Result<T, BindingError>,
    ) -> Result<T, OmrError> {
        let watched = Self {
            watch,
            thrown: Mutex::default(),
        };
        let done = work(&watched);
        let thrown = watched.thrown.into_inner();
        match thrown.unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(done?),
        }
    }

    fn keep(&self, error: OmrError) {
        let mut thrown = self.thrown.lock().unwrap_or_else(PoisonError::into_inner);
        thrown.get_or_insert(error);
    }
}

impl omr_binding::Watch for Watched {
    fn at(&self, stage: &str, done: u64, total: u64) {
        let Some(watch) = &self.watch else { return };
        if let Err(error) = watch.at(stage.to_owned(), done, total) {
            self.keep(error);
        }
    }

    fn is_stopped(&self) -> bool {
        let Some(watch) = &self.watch else {
            return false;
        };
        let has_thrown = self
            .thrown
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some();
        has_thrown
            || watch.is_stopped().unwrap_or_else(|error| {
                self.keep(error);
                true
            })
    }
}
