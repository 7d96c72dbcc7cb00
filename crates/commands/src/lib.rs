//! The commands of `omr`: keys, boards, digests and messages as files, mail, servers and private queries.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod dumps;
mod error;
mod io;
mod panics;
mod spans;

use error::CliError;
use omr_console::{ConsoleError, Ui};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

/// Runs the command line of this process and returns its exit code. `build` is the name of the build: its commit, or
/// the version.
#[must_use]
pub fn main(build: &'static str) -> ExitCode {
    omr_console::set_build(build);
    omr_disk::temporary::remove_on_signals();
    panics::install();
    let cli = match args::parse() {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    if commands::holds_secrets(&cli.command) {
        dumps::forbid();
    }
    let ui = Ui::new(cli.quiet, cli.json)
        .with_timeout(cli.timeout.map(Duration::from_secs))
        .with_proxy(cli.proxy.clone());
    match catch_unwind(AssertUnwindSafe(|| commands::run(&cli, &ui))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // The reader of the pipe has all that it wanted.
        Ok(Err(error)) if is_broken_pipe(&error) => ExitCode::FAILURE,
        Ok(Err(error)) => {
            omr_console::progress::error(error.code(), &error.text());
            ExitCode::from(error.code().exit())
        }
        Err(_) => {
            panics::print_kept();
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &CliError) -> bool {
    match error {
        CliError::Console(ConsoleError::Output(error)) => {
            error.kind() == std::io::ErrorKind::BrokenPipe
        }
        _ => false,
    }
}
