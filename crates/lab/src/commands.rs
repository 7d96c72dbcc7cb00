//! The developers' commands, one module each.

mod bench;
mod compare;
mod legend;
mod search;

use crate::args::{BenchCommand, Compare, ParamsSearch};
use crate::error::LabError;
use omr_console::{Ui, files};
use serde::Serialize;

/// Runs `omr bench ...`: prints what was measured, or what a trial found.
///
/// Errors: those of the benchmark; what it found that should not be, after the figures are printed.
pub fn bench(command: &BenchCommand, ui: &Ui) -> Result<(), LabError> {
    bench::run(command, ui)
}

/// Runs `omr compare`: every scheme on the same messages.
///
/// Errors: `InexactDigests`, `NotCompared`; those of files and parameters.
pub fn compare(args: &Compare, ui: &Ui) -> Result<(), LabError> {
    compare::run(args, ui)
}

/// Runs `omr params search`: derives parameter sets and lists those that no other beats.
///
/// Errors: those of parameters and of the digest that `--check` makes.
pub fn search(args: &ParamsSearch, ui: &Ui) -> Result<(), LabError> {
    search::run(args, ui)
}

/// Prints figures as one JSON object, or as people read them.
///
/// Errors: `Console`.
fn show<T: Serialize>(
    json: bool,
    figures: &T,
    text: impl FnOnce(&T) -> String,
) -> Result<(), LabError> {
    match json {
        true => files::print_json(figures)?,
        false => files::print(&text(figures))?,
    }
    Ok(())
}
