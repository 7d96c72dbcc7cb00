//! The commands of `omr-lab`, one module each.

mod bench;
mod chart;
mod compare;
mod fpga;
mod output;
mod papers;
mod search;
mod show;

use crate::error::LabError;
use crate::help;
use clap::{CommandFactory, Parser, Subcommand};
use omr_console::{Ui, grouped};
use output::Output;

/// Measurements, trials and comparisons for the developers of omr.
#[derive(Parser)]
#[command(name = "omr-lab", version, after_help = help::LAB)]
pub(crate) struct Cli {
    /// Hide bars and notes on the terminal; warnings and errors stay
    #[arg(long, short, global = true, display_order = 900)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure, or try the service with real processes
    #[command(after_help = help::BENCH)]
    Bench(bench::Bench),
    /// Run every scheme on the same messages and put their figures side by side
    #[command(after_help = help::COMPARE)]
    Compare(compare::Compare),
    /// Figures that papers print, beside ours and the commands that print them
    #[command(after_help = help::PAPERS)]
    Papers(papers::Papers),
    /// Experimental parameter sets, and sets that could be published
    #[command(subcommand, after_help = help::SEARCH)]
    Params(Params),
    /// A model of an FPGA that computes the affine transform
    #[command(subcommand, after_help = help::FPGA)]
    Fpga(fpga::Fpga),
}

#[derive(Subcommand)]
pub(crate) enum Params {
    /// Show security and predicted noise of a set, or of an experimental one in a TOML file
    #[command(after_help = help::SHOW)]
    Show(show::ParamsShow),
    /// Compare sets by modelled seconds and by sizes, on this machine
    #[command(after_help = help::SEARCH)]
    Search(search::ParamsSearch),
}

/// Returns the command line, with the benchmarks in groups.
pub(crate) fn command() -> clap::Command {
    Cli::command().mut_subcommand("bench", |bench| grouped(bench, help::GROUPS))
}

impl Command {
    /// Returns whether the command prints its figures, and so its errors, as JSON.
    pub(crate) fn prints_json(&self) -> bool {
        match self {
            Self::Bench(args) => args.json,
            Self::Compare(args) => args.json,
            Self::Papers(args) => args.json,
            Self::Params(Params::Search(args)) => args.json,
            Self::Params(Params::Show(args)) => args.json,
            Self::Fpga(command) => command.json(),
        }
    }
}

/// Runs a command and prints its figures or findings.
///
/// Errors: the command's own; after the figures are printed also those of a failed trial or check.
pub(crate) fn run(command: &Command, ui: &Ui) -> Result<(), LabError> {
    let json = command.prints_json();
    let out = Output { ui, json };
    match command {
        Command::Bench(args) => bench::run(&args.command, &out),
        Command::Compare(args) => compare::run(args, ui),
        Command::Papers(args) => papers::run(args, &out),
        Command::Params(Params::Search(args)) => search::run(args, &out),
        Command::Params(Params::Show(args)) => show::run(args, &out),
        Command::Fpga(command) => fpga::run(command, &out),
    }
}

#[cfg(test)]
mod tests;
