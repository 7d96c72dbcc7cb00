//! The commands by who needs them, as `--help` lists them.

use super::Cli;
use clap::CommandFactory;
use omr_console::{Groups, grouped};

/// Every command that people see, once.
const GROUPS: &Groups = &[
    ("Recipient", &["keygen", "decode"]),
    ("Sender", &["post"]),
    ("Board", &["board"]),
    ("Detector", &["digest", "stream"]),
    (
        "Mail over a server",
        &["id", "address", "contact", "send", "inbox", "watch"],
    ),
    ("Server", &["serve", "worker", "token", "data", "health"]),
    ("Private queries", &["pdq"]),
    ("Evidence", &["demo", "params", "compare", "bench"]),
    ("Shell", &["completions", "man"]),
];

/// The command line, its commands in groups.
pub(crate) fn command() -> clap::Command {
    grouped(Cli::command(), GROUPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let names = GROUPS.iter().flat_map(|(_, names)| *names);
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            assert_eq!(names.clone().filter(|n| **n == name).count(), 1, "{name}");
        }
    }

    #[test]
    #[cfg(feature = "full")]
    fn every_name_of_a_group_is_a_command() {
        let omr = command();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(omr.find_subcommand(name).is_some(), "{name}");
        }
    }
}
