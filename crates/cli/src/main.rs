//! The omr command: keys, boards, digests and messages as files.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod error;
mod io;
mod progress;

use args::Cli;
use clap::Parser;
use progress::Ui;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;

/// The commit that was built, or the version.
pub(crate) const BUILD: &str = env!("OMR_BUILD");

/// Where and why the last panic was; some are caught on the way and are no concern of the user.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = info.to_string();
        }
    }));
    let cli = Cli::parse();
    let ui = Ui::new(cli.quiet);
    match catch_unwind(AssertUnwindSafe(|| commands::run(&cli, &ui))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            ui.error(&error);
            ExitCode::from(error.exit_code())
        }
        Err(_) => {
            let cause = LAST_PANIC
                .lock()
                .map(|last| last.clone())
                .unwrap_or_default();
            ui.line(&format!("omr: internal error, please report it: {cause}"));
            ExitCode::FAILURE
        }
    }
}
