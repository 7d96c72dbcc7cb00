//! Identities, letters, the inbox: thin over `omr-mail`.

mod identity;
mod inbox;
mod kept;
mod letters;
mod mailbox;
mod time;
mod watch;

pub(super) use identity::{address, id};
pub(super) use inbox::run as inbox;
pub(super) use letters::{contact, send};
pub(super) use watch::run as watch;

use crate::args::{HomeArg, ServerArgs};
use crate::commands::network::connect;
use crate::error::{CliError, InputError};
use crate::io;
use crate::progress::Ui;
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

/// Where a token came from: one on the command line was meant for this call, one of the environment perhaps not.
enum Token {
    Argument(String),
    Environment(String),
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Argument(text) | Self::Environment(text) => text,
        }
    }
}

/// The token of a call, if there is one.
fn token(args: &ServerArgs) -> Option<Token> {
    let variable = || std::env::var("OMR_TOKEN").ok();
    let given = args.token.clone().map(Token::Argument);
    let given = given.or_else(|| variable().map(Token::Environment));
    given.filter(|token| !token.text().is_empty())
}

/// The server on the command line, if one is given.
fn server(args: &ServerArgs) -> Result<Option<Server>, CliError> {
    let Some(url) = args.server.clone() else {
        return Ok(None);
    };
    let ca_certificate = args.ca.as_deref().map(certificate).transpose()?;
    Ok(Some(Server {
        url,
        ca_certificate,
        token: token(args).map(|token| token.text().to_owned()),
    }))
}

/// The identity's own server, with the token of this call in place of the one it keeps.
fn own_server(home: &Home, args: &ServerArgs) -> Result<Server, MailError> {
    let mut own = home.server()?;
    if let Some(token) = token(args) {
        own.token = Some(token.text().to_owned());
    }
    Ok(own)
}

fn certificate(path: &Path) -> Result<String, CliError> {
    let text = String::from_utf8(io::read_file(path, MAX_TEXT_BYTES)?);
    let no_text = |error| InputError::Io(std::io::Error::other(error));
    text.map_err(no_text).map_err(CliError::input(path))
}

/// A connection to an identity's own server.
fn own_client(home: &Home, ui: &Ui) -> Result<Client, CliError> {
    connect(home.server()?.endpoint(), ui)
}

/// Runs what waits for a network.
fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    super::serve::runtime()?.block_on(work)
}

/// How far the server is, for people.
fn show(bar: &crate::progress::Bar, stage: Stage) {
    match stage {
        Stage::Queued(ahead) => bar.at("waiting".into(), 0, ahead),
        Stage::Running(name, done, total) => bar.at(name, done, total),
    }
}
