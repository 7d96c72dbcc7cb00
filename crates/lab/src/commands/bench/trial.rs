//! What the trials share: the program that they start, and their bars.

use crate::error::LabError;
use crate::trials::TrialError;
use crate::trials::load::Progress;
use omr_console::{Bar, Ui};
use std::path::PathBuf;

/// This program.
///
/// Errors: `Program`.
pub(super) fn program() -> Result<PathBuf, LabError> {
    std::env::current_exe().map_err(LabError::Program)
}

/// Runs a trial under a bar.
///
/// Errors: the trial's.
pub(super) fn watched<T>(
    ui: &Ui,
    trial: impl FnOnce(&Progress<'_>) -> Result<T, TrialError>,
) -> Result<T, LabError> {
    let bar: Bar = ui.bar();
    let ran = trial(&|what, done, total| bar.at(what.to_owned(), done, total));
    drop(bar);
    Ok(ran?)
}

/// Millions of bytes.
pub(super) fn megabytes(bytes: u64) -> String {
    omr_console::thousands((bytes + 500_000) / 1_000_000)
}
