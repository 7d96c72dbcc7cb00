//! Parses the command line.

use super::{Cli, command};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{ArgMatches, FromArgMatches};
use omr_console::Code;
use omr_console::{Ui, progress};
use std::process::ExitCode;

/// Parses the command line of this process.
///
/// Errors: the exit code, after help or an error was printed.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    let matches = command().try_get_matches();
    let parsed = matches.and_then(|matches| {
        check_json(&matches)?;
        Cli::from_arg_matches(&matches)
    });
    parsed.map_err(|error| refuse(&error))
}

/// Refuses `--json` for a command without this option.
///
/// Errors: those of clap.
fn check_json(matches: &ArgMatches) -> Result<(), Error> {
    // Clap sets the option for all commands of the path, wherever it is.
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

/// Prints the help or the error.
fn refuse(error: &Error) -> ExitCode {
    if !error.use_stderr() {
        // A reader that closed the pipe is no error.
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

/// The commands of the feature `full`.
const OF_FULL: [&str; 13] = [
    "id", "address", "contact", "send", "inbox", "watch", "serve", "feed", "token", "data",
    "health", "pdq", "worker",
];

/// Returns the way to get a command that another build has.
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

/// Returns the error in one line.
fn summary(error: &Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim);
    // The usage follows an empty line.
    let words: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let head = words.join(" ");
    let message = head.strip_prefix("error: ").unwrap_or(&head);
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "expected a subcommand, found none: --help lists them".into()
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> Option<String> {
        let refused = command().try_get_matches_from(words);
        left_out(&refused.expect_err("not a command"))
    }

    /// As in a build without it, a name in the list is unknown below another command.
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
