//! The developers' commands, one module each.

mod bench;
mod chart;
mod compare;
mod output;
mod search;

pub use bench::{Bench, BenchCommand};
pub use compare::Compare;
pub use search::ParamsSearch;

use crate::error::LabError;
use omr_console::Ui;
use output::Output;

/// Runs `omr bench ...`: prints what was measured, or what a trial found.
///
/// Errors: those of the benchmark; what it found that should not be, after the figures are printed.
pub fn bench(bench: &Bench, ui: &Ui) -> Result<(), LabError> {
    let json = bench.json;
    bench::run(&bench.command, &Output { ui, json })
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
    let json = args.json;
    search::run(args, &Output { ui, json })
}
