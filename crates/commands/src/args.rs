//! The command line.

mod examples;
pub(crate) mod headings;
mod parse;
mod span;

pub(crate) use parse::parse;
pub(crate) use span::Span;

use crate::commands::{Command, GROUPS};
use clap::{CommandFactory, Parser};
use omr_console::grouped;

/// Oblivious message retrieval: messages wait on a public board, an untrusted detector finds yours
/// under encryption, and a short digest holds them.
#[derive(Parser)]
#[command(name = "omr", version, after_help = examples::omr())]
pub(crate) struct Cli {
    /// No bars and notes on the terminal; warnings and errors stay
    #[arg(long, short, global = true, display_order = 900)]
    pub(crate) quiet: bool,
    /// Commands that call a server: seconds without an answer after which they give up; 2 where it never answered, else
    /// 120, unless given
    #[arg(long, global = true, value_name = "SECONDS", env = "OMR_TIMEOUT", hide_env_values = true, display_order = 901, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// Print JSON, as the same option after a command that has it
    #[arg(long, global = true, hide = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

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
}
