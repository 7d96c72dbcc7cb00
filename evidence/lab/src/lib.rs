//! The evidence beside the product: measurements whose figures the documentation quotes, trials of the service with
//! real processes, and the commands of the program `omr-lab`, which run them.
#![forbid(unsafe_code)]

mod commands;
mod error;
mod help;
pub mod measure;
pub mod trials;

pub use error::LabError;

use clap::FromArgMatches;
use commands::Cli;
use omr_console::{ConsoleError, Ui};
use std::process::ExitCode;

/// Runs the command line of this process and returns its exit code. `build` is the commit or the version of the
/// build.
#[must_use]
pub fn main(build: &'static str) -> ExitCode {
    omr_console::set_build(build);
    omr_disk::temporary::remove_on_signals();
    let matches = commands::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let ui = Ui::new(cli.quiet, cli.command.prints_json());
    match commands::run(&cli.command, &ui) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output closed it.
        Err(LabError::Console(ConsoleError::Output(error)))
            if error.kind() == std::io::ErrorKind::BrokenPipe =>
        {
            ExitCode::FAILURE
        }
        Err(error) => {
            ui.error(error.code(), &error);
            ExitCode::from(error.code().exit())
        }
    }
}
