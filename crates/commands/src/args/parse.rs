//! From the command line to arguments.

use super::Cli;
use clap::error::{Error, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use omr_console::Code;
use omr_console::{Ui, progress};
use std::process::ExitCode;

/// Reads the command line; also gives whether its command was asked for JSON.
///
/// Errors: what to exit with, after help or what was wrong has been printed.
pub(crate) fn parse() -> Result<(Cli, bool), ExitCode> {
    let matches = Cli::command().try_get_matches();
    let parsed = matches.and_then(|matches| {
        let json = wants_json(&matches);
        Cli::from_arg_matches(&matches).map(|cli| (cli, json))
    });
    parsed.map_err(|error| refuse(&error))
}

/// Whether the innermost command has `--json`, and it was given.
fn wants_json(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, inner)) => wants_json(inner) || is_set(matches),
        None => is_set(matches),
    }
}

fn is_set(matches: &ArgMatches) -> bool {
    matches!(matches.try_get_one::<bool>("json"), Ok(Some(true)))
}

/// Prints help where it was asked for, else what is wrong.
fn refuse(error: &Error) -> ExitCode {
    if !error.use_stderr() {
        // A reader that went away is no error.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if std::env::args_os().any(|arg| arg == "--json") {
        let _ui = Ui::new(true, true);
        progress::error(Code::Usage, &summary(error));
    } else {
        let _ = error.print();
    }
    ExitCode::from(Code::Usage.exit())
}

/// What is wrong, in one line.
fn summary(error: &Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim);
    // The usage comes after an empty line.
    let head: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let head = head.join(" ");
    let told = head.strip_prefix("error: ").unwrap_or(&head);
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "expected a subcommand, found none: --help lists them".into()
        }
        _ => told.to_owned(),
    }
}
