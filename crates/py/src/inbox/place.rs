//! The server of an identity.

use crate::fault::Fault;
use omr_mail::Server;
use std::path::PathBuf;

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
