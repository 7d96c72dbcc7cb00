//! What the trials share: the program that they start, and their bars.

use crate::error::CliError;
use crate::progress::{Bar, Ui};
use omr_lab::trials::TrialError;
use omr_lab::trials::load::Progress;
use std::path::PathBuf;

/// This program.
///
/// Errors: `Runtime`.
pub(super) fn program() -> Result<PathBuf, CliError> {
    std::env::current_exe().map_err(CliError::Runtime)
}

/// Runs a trial under a bar.
///
/// Errors: the trial's.
pub(super) fn watched<T>(
    ui: &Ui,
    trial: impl FnOnce(&Progress<'_>) -> Result<T, TrialError>,
) -> Result<T, CliError> {
    let bar: Bar = ui.bar();
    let ran = trial(&|what, done, total| bar.at(what.to_owned(), done, total));
    drop(bar);
    Ok(ran?)
}

/// Millions of bytes.
pub(super) fn megabytes(bytes: u64) -> String {
    crate::commands::thousands((bytes + 500_000) / 1_000_000)
}
