//! Recipients, and the sending of letters.

use super::fetch::OpenInbox;
use crate::buffer::Bytes;
use crate::fault::Fault;
use crate::running::Watch;
use omr_mail::{Address, Letter, MailError, Named, Rules, Server, ShortAddress, send};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

/// A recipient.
#[derive(FromPyObject)]
pub(crate) enum To {
    /// The bytes of a file: an address, a short address or a `clue.key`.
    Bytes(Bytes),
    /// An address, a short address or the name of a contact, as text.
    Text(PyBackedStr),
}

impl OpenInbox {
    /// Sends a letter at its recipient's server. Returns the indices of its messages.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub(super) fn send(
        &self,
        to: &Address,
        letter: Letter,
        rules: &Rules<'_>,
        watch: &Watch,
    ) -> Result<Vec<u64>, Fault> {
        let own = Some(self.server.clone());
        let server = Server::named(to.server.as_deref(), own).ok_or(MailError::NoServer)?;
        let client = self.network.connect(server.endpoint())?;
        let letters = [letter];
        let sent = self
            .network
            .wait(watch, send(&client, to, &letters, rules))?;
        Ok(sent
            .into_iter()
            .flat_map(|letter| letter.ranges)
            .flatten()
            .collect())
    }

    /// Returns the address of a recipient.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub(super) fn address(&self, to: &To, watch: &Watch) -> Result<Address, Fault> {
        let home = &self.mailbox.identity.home;
        let named = match to {
            To::Bytes(bytes) => Named::from_file(bytes.to_vec())?,
            To::Text(text) if ShortAddress::is_meant(text) => Named::Short(text.parse()?),
            // The text of an address has several lines, a name has one.
            To::Text(text) if text.contains('\n') => Named::from_file(text.as_bytes().to_vec())?,
            To::Text(name) => return Ok(home.contact(name)?),
        };
        match named {
            Named::Whole(address) => Ok(address),
            Named::Short(short) => self.found(&short, watch),
        }
    }

    /// Returns the address of a short one: a known one, or a server's answer after a check. The server is called
    /// without a token, so that the caller stays unknown.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub(super) fn found(&self, short: &ShortAddress, watch: &Watch) -> Result<Address, Fault> {
        let home = &self.mailbox.identity.home;
        if let Some(known) = home.known(short)? {
            return Ok(known);
        }
        let own = Some(self.server.clone());
        let server = Server::named(short.server.as_deref(), own)
            .ok_or_else(|| MailError::NoResolver(short.to_string()))?;
        let client = self.network.connect(server.stranger())?;
        let found = self.network.wait(watch, short.find(&client))?;
        home.keep_found(&found)?;
        Ok(found)
    }
}
