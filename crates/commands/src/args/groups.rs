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
    ("Evidence", &["demo", "params", "compare", "bench", "fpga"]),
    ("Shell", &["completions", "man"]),
];

/// The command line, its commands in groups.
pub(crate) fn command() -> clap::Command {
    let omr = grouped(Cli::command(), GROUPS);
    #[cfg(feature = "lab")]
    let omr = omr.mut_subcommand("bench", |bench| grouped(bench, omr_lab::help::GROUPS));
    omr
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn each_once(command: &clap::Command, groups: &Groups) {
        let names = groups.iter().flat_map(|(_, names)| *names);
        for command in command.get_subcommands() {
            let name = command.get_name();
            assert_eq!(names.clone().filter(|n| **n == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn every_command_stands_in_one_group() {
        each_once(&Cli::command(), GROUPS);
        #[cfg(feature = "lab")]
        {
            let omr = Cli::command();
            let bench = omr.find_subcommand("bench").expect("bench");
            each_once(bench, omr_lab::help::GROUPS);
        }
    }

    #[test]
    #[cfg(all(feature = "full", feature = "lab"))]
    fn every_name_of_a_group_is_a_command() {
        let omr = command();
        let bench = omr.find_subcommand("bench").expect("bench");
        for (command, groups) in [(&omr, GROUPS), (bench, omr_lab::help::GROUPS)] {
            for name in groups.iter().flat_map(|(_, names)| *names) {
                assert!(command.find_subcommand(name).is_some(), "{name}");
            }
        }
    }
}
