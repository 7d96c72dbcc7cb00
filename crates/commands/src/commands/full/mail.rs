//! Identities, letters and the inbox: a thin layer over `omr-mail`.

mod advice;
mod history;
mod identity;
mod inbox;
mod kept;
mod letters;
mod mailbox;
mod recipient;
mod seen;
mod senders;
mod socket;
mod time;
mod watch;

pub(super) use advice::advice;
pub(super) use identity::{ADDRESS, AddressArgs, ID, Id, address, id};
pub(super) use inbox::run as inbox;
pub(super) use inbox::{INBOX, InboxArgs};
pub(super) use letters::{CONTACT, Contact, SEND, Send, contact, send};
pub(in crate::commands) use recipient::clue_key;
pub(super) use watch::run as watch;
pub(super) use watch::{WATCH, Watch};

use crate::commands::full::access::TokenArg;
use crate::commands::full::network::connect;
use crate::commands::passphrase::{PassphraseArg, known};
use crate::error::{CliError, InputError};
use crate::io;
use omr_console::Ui;
use omr_mail::{Choice, Home, Identity, Inbox, MailError, Server, Stage, choose};
use omr_remote::Client;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct HomeArg {
    /// The identity's folder [default: $OMR_HOME, $XDG_DATA_HOME/omr or ~/.local/share/omr]
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
}

/// The folder of an identity whose letters are read.
#[derive(clap::Args)]
pub(crate) struct OwnArgs {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
}

impl OwnArgs {
    /// Returns the identity, whose secret and inbox can be read.
    fn identity(&self) -> Result<Identity, CliError> {
        Ok(Identity::open(&self.home()?)?)
    }

    fn home(&self) -> Result<Home, CliError> {
        unlocked(home(&self.home)?, &self.passphrase)
    }
}

/// The server of a command.
#[derive(clap::Args)]
pub(crate) struct PlaceArgs {
    /// The server: https://HOST:PORT, or http:// on this machine
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Certificate of the CA that signed the server's, as PEM [default: the system's CAs]
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) ca: Option<PathBuf>,
}

/// The server of a command, with a token.
#[derive(clap::Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) token: TokenArg,
}

/// Parses a time such as 500ms, 60s, 5m, 1h or 90d; at least 100 ms.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let wrong = || format!("expected a time such as 500ms, 60s, 5m, 1h or 90d, found {text:?}");
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let ms = number.checked_mul(unit).filter(|ms| *ms >= 100);
    ms.map(Duration::from_millis)
        .ok_or_else(|| format!("expected at least 100ms, found {text:?}"))
}

/// The highest number of bytes of a certificate or an address file.
const MAX_TEXT_BYTES: u64 = 1 << 20;

fn home(arg: &HomeArg) -> Result<Home, CliError> {
    match &arg.home {
        Some(dir) => Ok(Home::new(dir)),
        None => Ok(Home::usual()?),
    }
}

/// Returns the server on the command line, if one is given.
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

/// Returns the identity's server, with the token of this call in place of the stored one.
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

/// Returns a connection to an identity's server.
fn own_client(home: &Home, token: &TokenArg, ui: &Ui) -> Result<Client, CliError> {
    connect(own_server(home, token)?.endpoint(), ui)
}

/// Returns connections to all operators of an identity's board, the identity's own server first.
fn operators(home: &Home, token: &TokenArg, ui: &Ui) -> Result<Vec<Client>, CliError> {
    let own = own_server(home, token)?;
    let others = home.operators()?.into_iter().skip(1);
    let all = std::iter::once(own).chain(others);
    all.map(|one| connect(one.endpoint(), ui)).collect()
}

/// Returns the operator that a fetch calls, after warnings about the others. `clients` are those of [`operators`].
async fn chosen<'a>(
    clients: &'a [Client],
    identity: &Identity,
    inbox: &Inbox,
    ui: &Ui,
) -> Result<&'a Client, CliError> {
    let Choice { at, findings } = choose(clients, identity, inbox).await?;
    if !findings.is_empty() {
        let all = identity.home.operators()?;
        for (other, finding) in findings {
            ui.warn(&format!("{}: {finding}", all[other].url));
        }
    }
    Ok(&clients[at])
}

/// Runs an asynchronous task on a new runtime.
fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    super::serve::runtime()?.block_on(work)
}

/// Shows the server's progress on a bar.
fn show(bar: &omr_console::Bar, stage: Stage) {
    match stage {
        Stage::Queued(ahead) => bar.at("waiting".into(), 0, ahead),
        Stage::Running(name, done, total) => bar.at(name, done, total),
    }
}

/// Returns a home whose secret can be read.
///
/// Errors: `Mail`, `Input`, `Lock`, `NoPassphrase`.
fn unlocked(home: Home, arg: &PassphraseArg) -> Result<Home, CliError> {
    if home.is_locked()? {
        let passphrase = known(arg, &home.path(crate::commands::keygen::SECRET_KEY))?;
        Ok(home.with_passphrase(passphrase))
    } else {
        io::warn_if_shared(&home.path(crate::commands::keygen::SECRET_KEY));
        Ok(home)
    }
}
