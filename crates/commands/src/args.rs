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

/// Oblivious message retrieval: messages wait on a public board, an untrusted detector finds yours under encryption,
/// and a short digest contains them.
#[derive(Parser)]
#[command(name = "omr", version, after_help = examples::omr())]
pub(crate) struct Cli {
    /// Show no bars and notes on the terminal; warnings and errors stay
    #[arg(long, short, global = true, display_order = 900)]
    pub(crate) quiet: bool,
    /// Time in seconds after which a command gives up a server that does not answer [default: 120, or 2 for the first
    /// answer]
    #[arg(long, global = true, value_name = "SECONDS", env = "OMR_TIMEOUT", hide_env_values = true, display_order = 901, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// SOCKS5 proxy of all connections to servers of mail, posts and queries, such as Tor's socks5h://127.0.0.1:9050;
    /// every connection of a command gets a circuit of its own
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "OMR_PROXY",
        hide_env_values = true,
        display_order = 902
    )]
    pub(crate) proxy: Option<String>,
    /// Print JSON, as the same option after a command that has it
    #[arg(long, global = true, hide = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Returns the command line, with its commands in groups.
pub(crate) fn command() -> clap::Command {
    grouped(Cli::command(), GROUPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
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
