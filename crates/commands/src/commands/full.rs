//! Commands of builds with the feature `full`: mail, servers and private queries.

mod access;
mod data;
mod data_jobs;
mod error;
mod feed;
mod headings;
mod health;
mod mail;
mod network;
mod pdq;
mod serve;
mod token;
mod worker;

pub(crate) use error::{FullError, RecipientError};
pub(super) use mail::clue_key;
pub(crate) use pdq::PdqError;

use crate::error::CliError;
use omr_console::Ui;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Make an identity and register its detection keys at a server
    #[command(subcommand, after_help = mail::ID)]
    Id(mail::Id),
    /// Print an identity's address, for everybody who writes to it
    #[command(after_help = mail::ADDRESS)]
    Address(mail::AddressArgs),
    /// Manage addresses by name
    #[command(subcommand, after_help = mail::CONTACT)]
    Contact(mail::Contact),
    /// Send letters
    #[command(after_help = mail::SEND)]
    Send(mail::Send),
    /// Fetch, list and read messages
    #[command(after_help = mail::INBOX)]
    Inbox(mail::InboxArgs),
    /// Fetch on a fixed schedule and print messages as they come
    #[command(after_help = mail::WATCH)]
    Watch(mail::Watch),
    /// Serve a board and its detector over the network
    #[command(after_help = serve::SERVE)]
    Serve(serve::Serve),
    /// Make digests for a server on another machine
    #[command(after_help = worker::WORKER)]
    Worker(worker::WorkerArgs),
    /// Append blocks of a ledger to its board on a server
    #[command(after_help = feed::FEED)]
    Feed(feed::Feed),
    /// Manage access to a server
    #[command(subcommand, after_help = token::TOKEN)]
    Token(token::TokenCommand),
    /// Check, back up and restore a server's data
    #[command(subcommand, after_help = data::DATA)]
    Data(data::DataCommand),
    /// Check whether a server is ready
    #[command(after_help = serve::SERVE)]
    Health(health::Health),
    /// Query a table on a server without revealing which rows you want
    #[command(subcommand, after_help = pdq::PDQ)]
    Pdq(pdq::Pdq),
}

/// Runs the command of the command line.
///
/// Errors: those of the command.
pub(super) fn run(command: &Command, ui: &Ui) -> Result<(), CliError> {
    match command {
        Command::Id(command) => mail::id(command, ui),
        Command::Address(args) => mail::address(args),
        Command::Contact(command) => mail::contact(command, ui),
        Command::Send(args) => mail::send(args, ui),
        Command::Inbox(args) => mail::inbox(args, ui),
        Command::Watch(args) => mail::watch(args, ui),
        Command::Serve(args) => serve::run(args, ui),
        Command::Worker(args) => worker::run(args, ui),
        Command::Feed(args) => feed::run(args, ui),
        Command::Token(command) => token::run(command, ui),
        Command::Data(command) => data::run(command, ui),
        Command::Health(args) => health::run(args),
        Command::Pdq(command) => pdq::run(command, ui),
    }
}

/// Returns whether a command may hold a recipient's secrets, letters or passphrases.
pub(super) fn holds_secrets(command: &Command) -> bool {
    !matches!(
        command,
        Command::Serve(_)
            | Command::Worker(_)
            | Command::Feed(_)
            | Command::Pdq(pdq::Pdq::Serve(_))
    )
}
