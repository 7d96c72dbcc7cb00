//! From the command line to arguments.

use super::{Cli, command};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{ArgMatches, FromArgMatches};
use omr_console::Code;
use omr_console::{Ui, progress};
use std::process::ExitCode;

/// Reads the command line.
///
/// Errors: what to exit with, after help or what was wrong has been printed.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    let matches = command().try_get_matches();
    let parsed = matches.and_then(|matches| {
        check_json(&matches)?;
        Cli::from_arg_matches(&matches)
    });
    parsed.map_err(|error| refuse(&error))
}

/// Errors: `--json` for a command that has no such option, nor has a command that it is part of.
fn check_json(matches: &ArgMatches) -> Result<(), Error> {
    // Wherever it stands, clap sets it for all commands on the way.
    if !is_set(matches) {
        return Ok(());
    }
    let all = command();
    let (mut at, mut found) = (matches, &all);
    let mut path = all.get_name().to_owned();
    let mut has = false;
    while let Some((name, inner)) = at.subcommand() {
        let Some(next) = found.find_subcommand(name) else {
            break;
        };
        path = format!("{path} {name}");
        (at, found) = (inner, next);
        has |= found.get_arguments().any(|arg| arg.get_id() == "json");
    }
    if has {
        return Ok(());
    }
    let text = format!("expected a command that has --json, found `{path}`\n");
    Err(command().error(ErrorKind::UnknownArgument, text))
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
    let lacking = left_out(error);
    if std::env::args_os().any(|arg| arg == "--json") {
        let _ui = Ui::new(true, true);
        progress::error(Code::Usage, &lacking.unwrap_or_else(|| summary(error)));
    } else if let Some(lacking) = lacking {
        progress::error(Code::Usage, &lacking);
    } else {
        let _ = error.print();
    }
    ExitCode::from(Code::Usage.exit())
}

/// Commands of the feature `full`.
const OF_FULL: [&str; 12] = [
    "id", "address", "contact", "send", "inbox", "watch", "serve", "token", "data", "health",
    "pdq", "worker",
];

/// How to get the command that was asked for, where another build has it.
fn left_out(error: &Error) -> Option<String> {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    OF_FULL.contains(&found.as_str()).then(|| {
        format!(
            "expected a command of this build, found `{found}`, which it was built without: \
             `cargo build --release --features full` builds an omr that has it"
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> Option<String> {
        let refused = command().try_get_matches_from(words);
        left_out(&refused.expect_err("not a command"))
    }

    /// As in a build without it, a name of the list is unknown below another command.
    #[test]
    fn commands_of_other_builds_are_told_apart_from_errors() {
        let told = refused(&["omr", "board", "serve"]).expect("a command of the feature full");
        assert!(told.contains("`serve`"), "{told}");
        assert!(told.contains("--features full`"), "{told}");
        assert_eq!(refused(&["omr", "sevre"]), None);
        assert_eq!(refused(&["omr", "board", "init"]), None);
    }

    #[test]
    fn every_name_of_the_list_is_a_command() {
        let all = command();
        for name in OF_FULL {
            assert!(all.find_subcommand(name).is_some(), "{name}");
        }
    }
}
