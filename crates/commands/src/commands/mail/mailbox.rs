//! An identity with its inbox, and the retired ones that are still read.

use super::{home, own_client};
use crate::args::{HomeArg, PassphraseArg, TokenArg};
use crate::commands::mail::unlocked;
use crate::error::CliError;
use omr_console::Ui;
use omr_console::chain;
use omr_mail::{Collected, Home, Identity, Inbox, MailError, Reader, Stage, Taken, collect};

/// What a fetch needs.
pub(super) struct Mailbox {
    pub(super) identity: Identity,
    pub(super) inbox: Inbox,
    pub(super) reader: Reader,
    pub(super) retired: Vec<Retired>,
    pub(super) token: TokenArg,
}

/// An identity that was replaced: its requests are its own, its letters are listed with the others.
pub(super) struct Retired {
    pub(super) name: String,
    pub(super) identity: Identity,
    pub(super) inbox: Inbox,
    reader: Option<Reader>,
}

/// The identity in a home whose secret can be read.
pub(super) fn readable(dir: &HomeArg, passphrase: &PassphraseArg) -> Result<Identity, CliError> {
    Ok(Identity::open(&unlocked(home(dir)?, passphrase)?)?)
}

impl Mailbox {
    /// Opens everything, so that a wrong passphrase is told before anybody is asked for anything.
    pub(super) fn open(identity: Identity, token: &TokenArg, ui: &Ui) -> Result<Self, CliError> {
        let reader = Reader::new(&identity)?;
        let inbox = Inbox::open(&identity.home)?;
        let retired = Retired::all(&identity.home, ui)?;
        Ok(Self {
            identity,
            inbox,
            reader,
            retired,
            token: token.clone(),
        })
    }

    /// Decodes what is here of all identities.
    pub(super) fn take_in(&self) -> Result<Vec<Taken>, CliError> {
        let mut taken = self.inbox.take_in(&self.reader)?;
        for retired in &self.retired {
            taken.extend(retired.take_in(&self.inbox)?.1);
        }
        Ok(taken)
    }
}

impl Retired {
    /// All that can be read; one that cannot holds up nothing.
    pub(super) fn all(home: &Home, ui: &Ui) -> Result<Vec<Self>, CliError> {
        let mut all = Vec::new();
        for (name, home) in home.retired()? {
            let dir = home.dir().display().to_string();
            match Self::open(name, &home) {
                Ok(retired) => all.push(retired),
                Err(error) => ui.warn(&format!(
                    "the retired identity in {dir} is not read: {}",
                    chain(&error)
                )),
            }
        }
        Ok(all)
    }

    fn open(name: String, home: &Home) -> Result<Self, MailError> {
        let identity = Identity::open(home)?;
        let inbox = Inbox::open(home)?;
        // One that was never registered, or whose digests are all decoded and whose secret is not open, has nothing
        // to decode.
        let is_open = home.passphrase().is_some() || !home.is_locked()?;
        let decodes = identity.profile.board_id.is_some() && (is_open || inbox.pending()? > 0);
        let reader = decodes.then(|| Reader::new(&identity)).transpose()?;
        Ok(Self {
            name,
            identity,
            inbox,
            reader,
        })
    }

    /// The network half of its fetch; nothing where its keys are not registered any more.
    pub(super) async fn collect(
        &self,
        token: &TokenArg,
        ui: &Ui,
        progress: impl FnMut(Stage),
    ) -> Result<Option<Collected>, CliError> {
        if self.identity.registered().is_err() {
            return Ok(None);
        }
        let client = own_client(&self.identity.home, token, ui)?;
        let collected = collect(&client, &self.identity, self.inbox.requests(), progress).await;
        collected.map(Some).map_err(|source| CliError::Retired {
            name: self.name.clone(),
            source,
        })
    }

    /// Decodes what is here and adds its letters to an inbox; gives their numbers there.
    pub(super) fn take_in(&self, into: &Inbox) -> Result<(Vec<u64>, Vec<Taken>), MailError> {
        let taken = match &self.reader {
            Some(reader) => self.inbox.take_in(reader)?,
            None => Vec::new(),
        };
        Ok((into.adopt(&self.name, &self.identity, &self.inbox)?, taken))
    }
}
