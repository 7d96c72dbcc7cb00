//! Recipients, and the sending of letters.

use crate::{BindingError, OpenInbox, Watch};
use omr_mail::{
    Address, Letter, MailError, Named, Reply, Rules, Server, ShortAddress, publish, send, stated,
};
use omr_protocol::Sealing;

/// A letter to be sent, and the sender's choices.
pub struct Outgoing {
    /// The name that its recipient sees.
    pub name: Option<String>,
    /// The content.
    pub content: Vec<u8>,
    /// The subject.
    pub subject: Option<String>,
    /// The media type of the content.
    pub media_type: Option<String>,
    /// The sealing, where the address does not fix it.
    pub sealing: Option<Sealing>,
    /// Whether it may have more messages than the address allows.
    pub large: bool,
}

impl OpenInbox {
    /// Sends a letter to an address, at the recipient's server; with `signed` it names the sender. Returns the indices of
    /// its messages.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub fn send(
        &self,
        to: &Address,
        letter: Outgoing,
        signed: bool,
        watch: &impl Watch,
    ) -> Result<Vec<u64>, BindingError> {
        self.post(to, letter, signed, None, watch)
    }

    /// Answers the letter of this number: to its sender, in its conversation, signed. Returns the indices of the answer's
    /// messages.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub fn reply(
        &self,
        number: u64,
        letter: Outgoing,
        watch: &impl Watch,
    ) -> Result<Vec<u64>, BindingError> {
        let reply = Reply::to(&self.mailbox.inbox, number)?;
        let to = self.found(&reply.to, watch)?;
        self.post(&to, letter, true, Some(&reply), watch)
    }

    fn post(
        &self,
        to: &Address,
        letter: Outgoing,
        signed: bool,
        reply: Option<&Reply>,
        watch: &impl Watch,
    ) -> Result<Vec<u64>, BindingError> {
        let signer = if signed {
            Some(self.mailbox.identity.signer()?)
        } else {
            None
        };
        let rules = Rules {
            sealing: letter.sealing,
            large: letter.large,
            signer: signer.as_ref(),
        };
        let letters = [Letter {
            name: letter.name,
            content: letter.content,
            header: stated(signed, reply, letter.subject, letter.media_type),
        }];
        let own = Some(self.server.clone());
        let server = Server::named(to.server.as_deref(), own).ok_or(MailError::NoServer)?;
        let client = self.network.connect(server.endpoint())?;
        let sent = self
            .network
            .wait(watch, send(&client, to, &letters, &rules))?;
        Ok(sent
            .into_iter()
            .flat_map(|letter| letter.ranges)
            .flatten()
            .collect())
    }

    /// Publishes the identity's address at its server, which sends it to everybody who has the short form, and then knows
    /// whose address it is. Returns the short form. Fetches keep the address published.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub fn publish(&self, watch: &impl Watch) -> Result<ShortAddress, BindingError> {
        let client = self.client()?;
        let published = publish(&self.mailbox.identity, &client);
        let (short, _) = self.network.wait(watch, published)?;
        Ok(short)
    }

    /// Returns the address of a recipient: an address, a short address or the name of a contact.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub fn recipient(&self, text: &str, watch: &impl Watch) -> Result<Address, BindingError> {
        if ShortAddress::is_meant(text) {
            return self.found(&text.parse()?, watch);
        }
        // The text of an address has several lines, a name has one.
        if text.contains('\n') {
            return self.recipient_in(text.as_bytes().to_vec(), watch);
        }
        Ok(self.mailbox.identity.home.contact(text)?)
    }

    /// Returns the address in a file: an address, a short address or a `clue.key`.
    ///
    /// Errors: `Mail`, `Stopped`.
    pub fn recipient_in(&self, file: Vec<u8>, watch: &impl Watch) -> Result<Address, BindingError> {
        match Named::from_file(file)? {
            Named::Whole(address) => Ok(address),
            Named::Short(short) => self.found(&short, watch),
        }
    }

    /// Returns the address of a short one: a known one, or a server's answer after a check. The server is called
    /// without a token, so that the caller stays unknown.
    fn found(&self, short: &ShortAddress, watch: &impl Watch) -> Result<Address, BindingError> {
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
