//! The inbox of an identity in a home folder.

use crate::watch::Watched;
use crate::{Fetched, Kept, Letter, OmrError, Waiting, Watch, Words};
use omr_binding::{
    Network, OpenInbox, Outgoing, Wanted, create, located, open, own_server, register,
    short_address,
};
use omr_errors::chain;
use omr_mail::{MAX_LEVELS, MailError, NewIdentity, Server, delete};
use omr_protocol::{ClueKind, Sealing};
use std::collections::HashMap;
use std::sync::Arc;

/// A recipient at a server, in a home folder, with the received letters.
///
/// The calls that a server sees, and their times, do not depend on the letters that were found. With `proxy`, such as
/// `socks5h://127.0.0.1:9050`, all connections of this object are made through it; it is not stored. The inbox is open
/// for other programs again once this object is closed and its calls are over.
#[derive(uniffi::Object)]
pub struct Inbox {
    opened: OpenInbox,
}

#[uniffi::export]
impl Inbox {
    /// Makes an identity for a server's board and registers its detection keys. The secret is under the passphrase if
    /// one is given; nothing recovers a lost one.
    ///
    /// With `words` its keys are made from them. `birthday` is the index of the first message that can be for these
    /// keys, or for keys that are in the home: the first fetch begins there, or without it with the board's first
    /// message. `ca` is the certificate of the server's authority as PEM, `params` the name of the parameter set that
    /// the board must have.
    #[uniffi::constructor(default(
        token = None, ca = None, proxy = None, params = None, bound = 50, words = None, birthday = None, watch = None
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "Kotlin and Swift pass them by name"
    )]
    pub fn create(
        home: String,
        url: String,
        passphrase: Option<String>,
        token: Option<String>,
        ca: Option<String>,
        proxy: Option<String>,
        params: Option<String>,
        bound: u32,
        words: Option<Arc<Words>>,
        birthday: Option<u64>,
        watch: Option<Arc<dyn Watch>>,
    ) -> Result<Arc<Self>, OmrError> {
        let home = located(home, passphrase)?;
        let network = Network::new(proxy.as_deref())?;
        let server = Server {
            url,
            ca_certificate: ca,
            token,
        };
        let wanted = Wanted {
            new: NewIdentity {
                params: String::new(),
                scheme: None,
                clues: ClueKind::Bound,
                bound,
                spares: MAX_LEVELS,
                sealing: Sealing::HpkeX25519,
                board_id: None,
                own_masks: false,
                batches: false,
            },
            params: params.as_deref(),
            sealing: None,
            words: words.as_ref().map(|words| &words.inner),
            birthday,
        };
        let opened = Watched::run(watch, |watch| create(&home, server, network, wanted, watch))?;
        Ok(Arc::new(Self { opened }))
    }

    /// Continues an interrupted registration. What the server has is not sent again. A `url` replaces the stored
    /// server.
    #[uniffi::constructor(default(url = None, token = None, ca = None, proxy = None, watch = None))]
    pub fn register(
        home: String,
        passphrase: Option<String>,
        url: Option<String>,
        token: Option<String>,
        ca: Option<String>,
        proxy: Option<String>,
        watch: Option<Arc<dyn Watch>>,
    ) -> Result<Arc<Self>, OmrError> {
        let home = located(home, passphrase)?;
        let network = Network::new(proxy.as_deref())?;
        let server = match url {
            Some(url) => Server {
                url,
                ca_certificate: ca,
                token,
            },
            None => own_server(&home, ca, token)?,
        };
        let opened = Watched::run(watch, |watch| register(&home, server, network, watch))?;
        Ok(Arc::new(Self { opened }))
    }

    /// Opens the inbox of an identity.
    ///
    /// If another program fetches into it, letters can still be listed, read and sent; `fetch`, `raiseBound` and
    /// `retryDamaged` fail with the kind `InboxBusy`.
    #[uniffi::constructor(default(token = None, proxy = None))]
    pub fn open(
        home: String,
        passphrase: Option<String>,
        token: Option<String>,
        proxy: Option<String>,
    ) -> Result<Arc<Self>, OmrError> {
        let home = located(home, passphrase)?;
        let opened = open(&home, token, Network::new(proxy.as_deref())?)?;
        Ok(Arc::new(Self { opened }))
    }

    /// Returns the address for senders, as text that can be sent by mail.
    pub fn address(&self) -> Result<String, OmrError> {
        Ok(self.opened.mailbox.identity.address()?.to_text())
    }

    /// Publishes the address at the server and returns its short form, `omr1..`, which is easily passed on. The server
    /// then sends the address to everybody who has the short form, and knows whose address it is. Fetches keep it
    /// published.
    #[uniffi::method(default(watch = None))]
    pub fn publish(&self, watch: Option<Arc<dyn Watch>>) -> Result<String, OmrError> {
        let short = Watched::run(watch, |watch| self.opened.publish(watch))?;
        Ok(short.to_string())
    }

    /// Returns the name of the parameter set.
    pub fn params(&self) -> String {
        self.opened.mailbox.identity.profile.params.clone()
    }

    /// Returns the number of messages for which a digest has room.
    pub fn bound(&self) -> u32 {
        self.opened.mailbox.identity.profile.bound
    }

    /// Returns the index of the first message of the board that can be for the identity.
    pub fn birthday(&self) -> u64 {
        self.opened.mailbox.identity.profile.begins
    }

    /// Returns warnings for the program's log about retired identities that could not be read when the inbox was
    /// opened.
    pub fn warnings(&self) -> Vec<String> {
        let unread = self.opened.mailbox.unread.iter();
        unread
            .map(|(folder, error)| {
                let (folder, error) = (folder.display(), chain(error));
                format!("the retired identity in {folder} is not read: {error}")
            })
            .collect()
    }

    /// Fetches all messages since the last fetch and decodes them. Letters that arrived before an error are in
    /// `letters`; the next fetch goes on where this one ended.
    ///
    /// The server sees when: call it on a schedule that does not depend on what came before.
    #[uniffi::method(default(watch = None))]
    pub fn fetch(&self, watch: Option<Arc<dyn Watch>>) -> Result<Fetched, OmrError> {
        let decoded = Watched::run(watch, |watch| {
            self.opened.take(|error: &MailError| chain(error), watch)
        })?;
        Ok(decoded.into())
    }

    /// Returns the letters in the inbox, in the order of the board: the unread ones, or all.
    #[uniffi::method(default(all = false))]
    pub fn letters(&self, all: bool) -> Result<Vec<Letter>, OmrError> {
        let letters = self.opened.letters(all)?.into_iter();
        Ok(letters.map(Letter::from).collect())
    }

    /// Marks the letters of these numbers as read, so that `letters` lists them no more.
    pub fn mark_read(&self, numbers: Vec<u64>) -> Result<(), OmrError> {
        Ok(self.opened.mailbox.inbox.mark_read(&numbers)?)
    }

    /// Removes the letters of these numbers. Later fetches do not bring them back.
    pub fn delete(&self, numbers: Vec<u64>) -> Result<(), OmrError> {
        Ok(delete(&self.opened.mailbox.identity.home, &numbers)?)
    }

    /// Has all letters of a sender, a contact or a short address, count as read, also those to come.
    pub fn mute(&self, sender: String) -> Result<(), OmrError> {
        let mailbox = &self.opened.mailbox;
        let fingerprint = mailbox.identity.home.sender(&sender)?;
        Ok(mailbox.inbox.mute(&fingerprint)?)
    }

    /// Ends the muting of a sender. Returns whether the sender was muted.
    pub fn unmute(&self, sender: String) -> Result<bool, OmrError> {
        let mailbox = &self.opened.mailbox;
        let fingerprint = mailbox.identity.home.sender(&sender)?;
        Ok(mailbox.inbox.unmute(&fingerprint)?)
    }

    /// Returns the short addresses of muted senders, without their servers.
    pub fn muted(&self) -> Result<Vec<String>, OmrError> {
        let muted = self.opened.mailbox.inbox.muted()?.into_iter();
        Ok(muted
            .filter_map(|sender| short_address(&sender, None))
            .collect())
    }

    /// Returns the ranges with missing messages.
    pub fn kept(&self) -> Result<Vec<Kept>, OmrError> {
        let kept = self.opened.mailbox.inbox.kept()?.into_iter();
        Ok(kept.map(Kept::from).collect())
    }

    /// Returns how many messages were found that did not come yet.
    pub fn waiting(&self) -> Result<Waiting, OmrError> {
        let waiting = self.opened.mailbox.inbox.waiting()?;
        Ok(Waiting {
            messages: waiting.messages,
            fetches: waiting.syncs,
        })
    }

    /// Has the next fetch request all overflowed ranges again, with a larger bound. Returns their number.
    ///
    /// The detector learns that the old bound was too small.
    #[uniffi::method(default(watch = None))]
    pub fn raise_bound(&self, bound: u32, watch: Option<Arc<dyn Watch>>) -> Result<u64, OmrError> {
        self.opened.check_fetches()?;
        let asked = Watched::run(watch, |watch| self.opened.raise_bound(bound, watch))?;
        Ok(asked as u64)
    }

    /// Has the next fetch request all ranges again whose digests did not decode, which the detector learns. Returns
    /// their number.
    pub fn retry_damaged(&self) -> Result<u64, OmrError> {
        self.opened.check_fetches()?;
        Ok(self.opened.mailbox.inbox.retry_damaged()? as u64)
    }

    /// Returns the addresses of contacts, by name.
    pub fn contacts(&self) -> Result<HashMap<String, String>, OmrError> {
        let contacts = self.opened.mailbox.identity.home.contacts()?.into_iter();
        Ok(contacts
            .map(|(name, address)| (name, address.to_text()))
            .collect())
    }

    /// Keeps an address or a short address under a name.
    #[uniffi::method(default(watch = None))]
    pub fn add_contact(
        &self,
        name: String,
        address: String,
        watch: Option<Arc<dyn Watch>>,
    ) -> Result<(), OmrError> {
        Watched::run(watch, |watch| {
            let address = self.opened.recipient(&address, watch)?;
            let home = &self.opened.mailbox.identity.home;
            Ok(home.add_contact(&name, &address)?)
        })
    }

    /// Removes a name and its address.
    pub fn remove_contact(&self, name: String) -> Result<(), OmrError> {
        Ok(self.opened.mailbox.identity.home.remove_contact(&name)?)
    }

    /// Sends a letter to a contact, an address or a short address, at the recipient's server. Returns the messages'
    /// indices.
    ///
    /// With `signed` the letter names this recipient as its sender, with the time, and begins a conversation. With
    /// `large` it may have more messages than the address allows.
    #[uniffi::method(default(
        name = None, subject = None, media_type = None, signed = false, large = false, watch = None
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "Kotlin and Swift pass them by name"
    )]
    pub fn send(
        &self,
        to: String,
        data: Vec<u8>,
        name: Option<String>,
        subject: Option<String>,
        media_type: Option<String>,
        signed: bool,
        large: bool,
        watch: Option<Arc<dyn Watch>>,
    ) -> Result<Vec<u64>, OmrError> {
        let letter = Outgoing {
            name,
            content: data,
            subject,
            media_type,
            sealing: None,
            large,
        };
        Watched::run(watch, |watch| {
            let to = self.opened.recipient(&to, watch)?;
            self.opened.send(&to, letter, signed, watch)
        })
    }

    /// Answers the letter of this number: to its sender, in its conversation, with its subject, signed. Returns the
    /// messages' indices.
    ///
    /// A sender who is no contact is looked up by the short address, once.
    #[uniffi::method(default(
        name = None, subject = None, media_type = None, large = false, watch = None
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "Kotlin and Swift pass them by name"
    )]
    pub fn reply(
        &self,
        number: u64,
        data: Vec<u8>,
        name: Option<String>,
        subject: Option<String>,
        media_type: Option<String>,
        large: bool,
        watch: Option<Arc<dyn Watch>>,
    ) -> Result<Vec<u64>, OmrError> {
        let letter = Outgoing {
            name,
            content: data,
            subject,
            media_type,
            sealing: None,
            large,
        };
        Watched::run(watch, |watch| self.opened.reply(number, letter, watch))
    }
}
