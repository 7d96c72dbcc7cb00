//! The commands, one module each.

mod ask;
mod board;
mod clues;
mod decode;
mod demo;
mod digest;
mod engines;
mod fetch;
#[cfg(feature = "full")]
pub(crate) mod full;
mod keygen;
mod lab;
mod params;
mod passphrase;
mod post;
mod scan;
mod shell;
mod source;
mod stream;
mod words;

use crate::args::Cli;
use crate::error::CliError;
use crate::io;
use omr_console::{Groups, Ui};
use omr_protocol::params::SetSpec;
use serde::Serialize;
use std::path::Path;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Make a recipient's keys: secret.key, clue.key (the address) and detection.key
    #[command(after_help = keygen::KEYGEN)]
    Keygen(keygen::Keygen),
    /// Show the published parameter sets
    #[command(subcommand, after_help = params::PARAMS)]
    Params(params::ParamsCommand),
    /// Create and examine boards
    #[command(subcommand, after_help = board::BOARD)]
    Board(board::BoardCommand),
    /// Post files to a recipient
    #[command(after_help = post::POST)]
    Post(post::Post),
    /// Scan a board with a detection key
    #[command(after_help = digest::DIGEST)]
    Digest(digest::Digest),
    /// Scan a board in the first of two rounds
    #[command(after_help = scan::SCAN)]
    Scan(scan::Scan),
    /// Ask for the messages of a scan
    #[command(after_help = ask::ASK)]
    Ask(ask::Ask),
    /// Answer a query in the second of two rounds
    #[command(after_help = fetch::FETCH)]
    Fetch(fetch::Fetch),
    /// Process messages one by one as they come, and make digests at any time
    #[command(subcommand, after_help = stream::STREAM)]
    Stream(stream::Stream),
    /// Decode a digest, or the answer to a query, into messages
    #[command(after_help = decode::DECODE)]
    Decode(decode::Decode),
    /// Play every part on real transactions and check the outcome
    #[command(after_help = demo::DEMO)]
    Demo(demo::Demo),
    /// Measure: starts the program omr-lab, which is beside this one
    #[command(hide = true, disable_help_flag = true)]
    Bench(lab::Lab),
    /// Compare schemes: starts the program omr-lab, which is beside this one
    #[command(hide = true, disable_help_flag = true)]
    Compare(lab::Lab),
    /// Print a shell's completions for these commands
    #[command(after_help = shell::COMPLETIONS)]
    Completions(shell::Completions),
    /// Write manual pages of all commands
    #[command(after_help = shell::MAN)]
    Man(shell::Man),
    #[cfg(feature = "full")]
    #[command(flatten)]
    Full(full::Command),
}

/// The commands by the people who need them, as `--help` lists them; each once.
pub(crate) const GROUPS: &Groups = &[
    ("Recipient", &["keygen", "ask", "decode"]),
    ("Sender", &["post"]),
    ("Board", &["board"]),
    ("Detector", &["digest", "scan", "fetch", "stream"]),
    (
        "Mail over a server",
        &["id", "address", "contact", "send", "inbox", "watch"],
    ),
    (
        "Server",
        &["serve", "worker", "feed", "token", "data", "health"],
    ),
    ("Private queries", &["pdq"]),
    ("Evidence", &["demo", "params", "compare", "bench"]),
    ("Shell", &["completions", "man"]),
];

/// Runs the command of the command line.
///
/// Errors: those of the command.
pub(crate) fn run(cli: &Cli, ui: &Ui) -> Result<(), CliError> {
    match &cli.command {
        Command::Keygen(args) => keygen::run(args, ui),
        Command::Params(command) => params::run(command),
        Command::Board(command) => board::run(command, ui),
        Command::Post(args) => post::run(args, ui),
        Command::Digest(args) => digest::run(args, ui),
        Command::Scan(args) => scan::run(args, ui),
        Command::Ask(args) => ask::run(args, ui),
        Command::Fetch(args) => fetch::run(args, ui),
        Command::Stream(command) => stream::run(command, ui),
        Command::Decode(args) => decode::run(args, ui),
        Command::Demo(args) => demo::run(args, ui),
        Command::Bench(args) => lab::run("bench", args, cli.quiet),
        Command::Compare(args) => lab::run("compare", args, cli.quiet),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
        #[cfg(feature = "full")]
        Command::Full(command) => full::run(command, ui),
    }
}

/// Returns whether a command may hold a recipient's secrets, letters or passphrases. Servers and workers do not, and
/// their operators may want to know why they crash.
pub(crate) fn holds_secrets(command: &Command) -> bool {
    match command {
        #[cfg(feature = "full")]
        Command::Full(command) => full::holds_secrets(command),
        Command::Bench(_) | Command::Compare(_) => false,
        _ => true,
    }
}

/// Warns that a set protects nothing.
fn warn_if_insecure(set: &SetSpec, ui: &Ui) {
    if set.insecure {
        ui.warn(&format!(
            "{} is a small set for tests: what is made with it protects nothing",
            set.name
        ));
    }
}

/// Prints figures for programs, or one line for people, also without a terminal.
fn summary(figures: &impl Serialize, line: &str, json: bool, ui: &Ui) -> Result<(), CliError> {
    if json {
        io::print_json(figures)?;
    } else {
        ui.announce(line);
    }
    Ok(())
}

/// Returns a list of the first messages, and the number of the others.
fn listed(messages: &[u64]) -> String {
    const MOST: usize = 16;
    let shown: Vec<_> = messages.iter().take(MOST).map(u64::to_string).collect();
    let more = match messages.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("messages {}{more}", shown.join(", "))
}

/// Reports on a result that was written to `out`: as JSON, on standard error where `out` is standard output, or as a
/// note for people.
///
/// Errors: `Output`.
fn report_beside(
    ui: &Ui,
    out: &Path,
    json: bool,
    report: &impl Serialize,
    note: &str,
) -> Result<(), CliError> {
    match (json, io::is_standard(out)) {
        (true, false) => io::print_json(report)?,
        (true, true) => ui.line(io::json_line(report)?.trim_end()),
        (false, _) => ui.note(note),
    }
    Ok(())
}
