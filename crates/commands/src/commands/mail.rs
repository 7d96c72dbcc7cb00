//! Identities, letters, the inbox: thin over `omr-mail`.

mod history;
mod identity;
mod inbox;
mod kept;
mod letters;
mod mailbox;
mod recipient;
mod time;
mod watch;

pub(super) use identity::{address, id};
pub(super) use inbox::run as inbox;
pub(super) use letters::{contact, send};
pub(super) use recipient::clue_key;
pub(super) use watch::run as watch;

use crate::args::{HomeArg, PassphraseArg, PlaceArgs, TokenArg};
use crate::commands::network::connect;
use crate::commands::passphrase::known;
use crate::error::{CliError, InputError};
use crate::io;
use omr_console::Ui;
use omr_mail::{Home, MailError, Server, Stage};
use omr_remote::Client;
use std::path::Path;

/// Largest certificate or address file.
const MAX_TEXT_BYTES: u64 = 1 << 20;

fn home(arg: &HomeArg) -> Result<Home, CliError> {
    match &arg.home {
        Some(dir) => Ok(Home::new(dir)),
        None => Ok(Home::usual()?),
    }
}

/// The server on the command line, if one is given.
fn server(args: &PlaceArgs, token: Option<String>) -> Result<Option<Server>, CliError> {
    let Some(url) = args.server.clone() else {
        return Ok(None);
    };
    let ca_certificate = args.ca.as_deref().map(certificate).transpose()?;
    Ok(Some(Server {
        url,
        ca_certificate,
        token,
    }))
}

/// The identity's own server, with the token of this call in place of the one it keeps.
fn own_server(home: &Home, token: &TokenArg) -> Result<Server, MailError> {
    let mut own = home.server()?;
    if let Some(text) = token.text() {
        own.token = Some(text);
    }
    Ok(own)
}

fn certificate(path: &Path) -> Result<String, CliError> {
    let text = String::from_utf8(io::read_file(path, MAX_TEXT_BYTES)?);
    let no_text = |error| InputError::Io(std::io::Error::other(error));
    text.map_err(no_text).map_err(CliError::input(path))
}

/// A connection to an identity's own server.
fn own_client(home: &Home, token: &TokenArg, ui: &Ui) -> Result<Client, CliError> {
    connect(own_server(home, token)?.endpoint(), ui)
}

/// Runs what waits for a network.
fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    super::serve::runtime()?.block_on(work)
}

/// How far the server is, for people.
fn show(bar: &omr_console::Bar, stage: Stage) {
    match stage {
        Stage::Queued(ahead) => bar.at("waiting".into(), 0, ahead),
        Stage::Running(name, done, total) => bar.at(name, done, total),
    }
}

/// A home whose secret can be read.
///
/// Errors: `Mail`, `Input`, `Lock`, `NoPassphrase`.
fn unlocked(home: Home, arg: &PassphraseArg) -> Result<Home, CliError> {
    match home.is_locked()? {
        true => {
            let passphrase = known(arg, &home.path(crate::commands::keygen::SECRET_KEY))?;
            Ok(home.with_passphrase(passphrase))
        }
        false => {
            io::warn_if_shared(&home.path(crate::commands::keygen::SECRET_KEY));
            Ok(home)
        }
    }
}
