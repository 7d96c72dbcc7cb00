//! The commands, one module each.

mod board;
mod clues;
#[cfg(feature = "full")]
mod data;
#[cfg(feature = "full")]
mod data_jobs;
mod decode;
mod demo;
mod digest;
mod engines;
#[cfg(feature = "full")]
mod health;
mod keygen;
mod lab;
#[cfg(feature = "full")]
mod mail;
#[cfg(feature = "full")]
mod network;
mod params;
mod passphrase;
#[cfg(feature = "full")]
mod pdq;
mod post;
#[cfg(feature = "full")]
mod serve;
mod shell;
mod source;
mod stream;
#[cfg(feature = "full")]
mod token;
#[cfg(feature = "full")]
mod worker;

use crate::args::{Cli, Command};
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_protocol::params::SetSpec;
use serde::Serialize;
use std::path::Path;

/// Runs the command asked for.
///
/// Errors: the command's.
pub(crate) fn run(cli: &Cli, ui: &Ui) -> Result<(), CliError> {
    match &cli.command {
        Command::Keygen(args) => keygen::run(args, ui),
        Command::Params(command) => params::run(command),
        Command::Board(command) => board::run(command, ui),
        Command::Post(args) => post::run(args, ui),
        Command::Digest(args) => digest::run(args, ui),
        Command::Stream(command) => stream::run(command, ui),
        Command::Decode(args) => decode::run(args, ui),
        #[cfg(feature = "full")]
        Command::Id(command) => mail::id(command, ui),
        #[cfg(feature = "full")]
        Command::Address(args) => mail::address(args),
        #[cfg(feature = "full")]
        Command::Contact(command) => mail::contact(command, ui),
        #[cfg(feature = "full")]
        Command::Send(args) => mail::send(args, ui),
        #[cfg(feature = "full")]
        Command::Inbox(args) => mail::inbox(args, ui),
        #[cfg(feature = "full")]
        Command::Watch(args) => mail::watch(args, ui),
        Command::Demo(args) => demo::run(args, ui),
        #[cfg(feature = "full")]
        Command::Serve(args) => serve::run(args, ui),
        #[cfg(feature = "full")]
        Command::Worker(args) => worker::run(args, ui),
        #[cfg(feature = "full")]
        Command::Token(command) => token::run(command, ui),
        #[cfg(feature = "full")]
        Command::Data(command) => data::run(command, ui),
        #[cfg(feature = "full")]
        Command::Health(args) => health::run(args),
        #[cfg(feature = "full")]
        Command::Pdq(command) => pdq::run(command, ui),
        Command::Bench(args) => lab::run("bench", args, cli.quiet),
        Command::Compare(args) => lab::run("compare", args, cli.quiet),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}

/// Whether a command may hold a recipient's secrets, letters or passphrases. Servers and workers do not, and their
/// operators may want to see why they crash.
pub(crate) fn holds_secrets(command: &Command) -> bool {
    match command {
        #[cfg(feature = "full")]
        Command::Serve(_) | Command::Worker(_) => false,
        #[cfg(feature = "full")]
        Command::Pdq(crate::args::Pdq::Serve(_)) => false,
        Command::Bench(_) | Command::Compare(_) => false,
        _ => true,
    }
}

/// Says aloud that a set protects nothing.
fn warn_if_insecure(set: &SetSpec, ui: &Ui) {
    if set.insecure {
        ui.warn(&format!(
            "{} is a small set for tests: what is made with it protects nothing",
            set.name
        ));
    }
}

/// Prints figures for programs, or one line for people, also where no terminal is.
fn summary(figures: &impl Serialize, line: &str, json: bool, ui: &Ui) -> Result<(), CliError> {
    if json {
        io::print_json(figures)?;
    } else {
        ui.announce(line);
    }
    Ok(())
}

/// The first of some messages, and how many more there are.
fn listed(messages: &[u64]) -> String {
    const MOST: usize = 16;
    let shown: Vec<_> = messages.iter().take(MOST).map(u64::to_string).collect();
    let more = match messages.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("messages {}{more}", shown.join(", "))
}

/// Reports on a result that went to `out`: as JSON where that is not standard output too, else as a
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
