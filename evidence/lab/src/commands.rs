//! The developers' commands, one module each.

mod bench;
mod chart;
mod compare;
mod fpga;
mod output;
mod search;

pub use bench::{Bench, BenchCommand};
pub use compare::Compare;
pub use fpga::Fpga;
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

/// Runs `omr fpga ...`: what the model of an FPGA says.
///
/// Errors: files that do not read; a set or cycles that the model does not take.
pub fn fpga(command: &Fpga, ui: &Ui) -> Result<(), LabError> {
    fpga::run(command, ui)
}

/// Runs `omr params search`: derives parameter sets and lists those that no other beats.
///
/// Errors: those of parameters and of the digest that `--check` makes.
pub fn search(args: &ParamsSearch, ui: &Ui) -> Result<(), LabError> {
    let json = args.json;
    search::run(args, &Output { ui, json })
}
