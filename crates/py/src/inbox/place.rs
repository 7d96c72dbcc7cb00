//! Where an identity lives, and its server.

use crate::fault::Fault;
use omr_client::locked::Passphrase;
use omr_mail::{Home, MailError, Server};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// A server as Python names it.
pub(super) struct Place {
    pub(super) url: String,
    pub(super) token: Option<String>,
    pub(super) ca: Option<PathBuf>,
}

impl Place {
    /// Errors: `Io`.
    pub(super) fn server(self) -> Result<Server, Fault> {
        Ok(Server {
            url: self.url,
            ca_certificate: self.ca.map(std::fs::read_to_string).transpose()?,
            token: self.token,
        })
    }
}

/// A home whose secret is under a passphrase if one is given.
///
/// Errors: `Lock`.
pub(super) fn located(home: PathBuf, passphrase: Option<String>) -> Result<Home, Fault> {
    let home = Home::new(home);
    match passphrase.map(Zeroizing::new) {
        Some(text) => Ok(home.with_passphrase(Passphrase::new(text)?)),
        None => Ok(home),
    }
}

/// The identity's own server, with the token of this call in place of the one that it keeps.
pub(super) fn own_server(home: &Home, token: Option<String>) -> Result<Server, MailError> {
    let mut own = home.server()?;
    if token.is_some() {
        own.token = token;
    }
    Ok(own)
}
