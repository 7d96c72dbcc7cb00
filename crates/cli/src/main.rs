//! The omr command: keys, boards, digests and messages as files.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod error;
mod io;
mod panics;
mod progress;
mod spans;

use error::CliError;
use progress::Ui;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

/// The commit that was built, or the version.
pub(crate) const BUILD: &str = env!("OMR_BUILD");

fn main() -> ExitCode {
    panics::install();
    let (cli, json) = match args::parse() {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let ui = Ui::new(cli.quiet, json).with_timeout(cli.timeout.map(Duration::from_secs));
    match catch_unwind(AssertUnwindSafe(|| commands::run(&cli, &ui))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // The reader has what it wanted.
        Ok(Err(CliError::Output(error))) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::FAILURE
        }
        Ok(Err(error)) => {
            ui.error(&error);
            ExitCode::from(error.code().exit())
        }
        Err(_) => {
            panics::tell_kept();
            ExitCode::FAILURE
        }
    }
}
