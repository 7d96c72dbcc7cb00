//! The home of an identity, and its server.

use crate::fault::Fault;
use omr_client::locked::Passphrase;
use omr_mail::{Home, Server};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// A server, as given by Python.
pub(super) struct Place {
    pub(super) url: String,
    pub(super) token: Option<String>,
    pub(super) ca: Option<PathBuf>,
}

impl Place {
    /// Returns the server's settings, with the content of the CA's file.
    ///
    /// Errors: `Io`.
    pub(super) fn server(self) -> Result<Server, Fault> {
        Ok(Server {
            url: self.url,
            ca_certificate: certificate(self.ca)?,
            token: self.token,
        })
    }
}

/// Returns the content of the CA's file.
///
/// Errors: `Io`.
pub(super) fn certificate(ca: Option<PathBuf>) -> Result<Option<String>, Fault> {
    Ok(ca.map(std::fs::read_to_string).transpose()?)
}

/// Returns a home, whose secret is under a passphrase if one is given.
///
/// Errors: `Lock`.
pub(super) fn located(folder: PathBuf, passphrase: Option<String>) -> Result<Home, Fault> {
    let home = Home::new(folder);
    match passphrase.map(Zeroizing::new) {
        Some(text) => Ok(home.with_passphrase(Passphrase::new(text)?)),
        None => Ok(home),
    }
}
