//! An identity with its inbox, and the retired ones that are still read.

use crate::{Collected, Home, Identity, Inbox, MailError, Reader, Stage, Taken, apply, collect};
use omr_remote::Client;
use std::path::PathBuf;

/// An identity with all that a fetch needs.
pub struct Mailbox {
    /// The identity.
    pub identity: Identity,
    /// The inbox of its letters.
    pub inbox: Inbox,
    /// The secrets for decoding.
    pub reader: Reader,
    /// The identities that were replaced and are still read.
    pub retired: Vec<Retired>,
    /// The folders of retired identities that cannot be read, with the errors; they hold up nothing.
    pub unread: Vec<(PathBuf, MailError)>,
}

/// An identity that was replaced: it has requests of its own, and its letters are listed with the others.
pub struct Retired {
    /// The name of the retired identity.
    pub name: String,
    /// The identity, in a home of its own.
    pub identity: Identity,
    /// The state of its requests.
    pub inbox: Inbox,
    reader: Option<Reader>,
}

impl Mailbox {
    /// Opens everything, so that a wrong passphrase is reported before anything is requested.
    ///
    /// Errors: those of [`Reader::new`] and [`Inbox::open`].
    pub fn open(identity: Identity) -> Result<Self, MailError> {
        Self::with(identity, Inbox::open)
    }

    /// Opens everything to list it and to mark messages as read, also while another process fetches.
    /// [`Mailbox::take_in`] then returns `Busy`.
    ///
    /// Errors: those of [`Reader::new`] and [`Inbox::beside`].
    pub fn beside(identity: Identity) -> Result<Self, MailError> {
        Self::with(identity, Inbox::beside)
    }

    fn with(
        mut identity: Identity,
        open: fn(&Home) -> Result<Inbox, MailError>,
    ) -> Result<Self, MailError> {
        let reader = Reader::new(&identity)?;
        let inbox = open(&identity.home)?;
        if inbox.fetches() {
            identity.renew_periods()?;
        }
        let (retired, unread) = Retired::all(&identity.home, open)?;
        Ok(Self {
            identity,
            inbox,
            reader,
            retired,
            unread,
        })
    }

    /// Decodes the received digests of all identities, and applies letters of this person's other devices. Returns the
    /// results, and the numbers of letters to retired identities.
    ///
    /// Errors: those of [`Inbox::take_in`] and [`apply`].
    pub fn take_in(&self) -> Result<(Vec<Taken>, Vec<u64>), MailError> {
        let mut taken = self.inbox.take_in(&self.reader)?;
        let mut adopted = Vec::new();
        for retired in &self.retired {
            let (letters, theirs) = retired.take_in(&self.inbox)?;
            taken.extend(theirs);
            adopted.extend(letters);
        }
        let applied = apply(&self.identity.home, &self.inbox)?;
        adopted.retain(|number| !applied.letters.contains(number));
        for taken in &mut taken {
            taken.leave_out(&applied.letters);
        }
        Ok((taken, adopted))
    }
}

impl Retired {
    /// Returns all retired identities that can be read, and the folders of the others. `open` opens their inboxes:
    /// [`Inbox::open`] or [`Inbox::beside`].
    ///
    /// Errors: `File`.
    #[expect(clippy::type_complexity, reason = "two lists")]
    pub fn all(
        home: &Home,
        open: fn(&Home) -> Result<Inbox, MailError>,
    ) -> Result<(Vec<Self>, Vec<(PathBuf, MailError)>), MailError> {
        let (mut all, mut unread) = (Vec::new(), Vec::new());
        for (name, home) in home.retired()? {
            match Self::open(name, &home, open) {
                Ok(retired) => all.push(retired),
                Err(error) => unread.push((home.dir().to_owned(), error)),
            }
        }
        Ok((all, unread))
    }

    fn open(
        name: String,
        home: &Home,
        open: fn(&Home) -> Result<Inbox, MailError>,
    ) -> Result<Self, MailError> {
        let identity = Identity::open(home)?;
        let inbox = open(home)?;
        // A retired identity that was never registered has nothing to decode.
        let decodes = inbox.fetches() && identity.profile.board_id.is_some();
        let reader = decodes.then(|| Reader::new(&identity)).transpose()?;
        Ok(Self {
            name,
            identity,
            inbox,
            reader,
        })
    }

    /// Runs the network half of its fetch. Makes no call, not even a connection, where its keys are no longer
    /// registered, and returns `None` there, and for an inbox that was not opened to fetch.
    ///
    /// Errors: those of `connect` and of [`collect`].
    pub async fn collect<E: From<MailError>>(
        &self,
        connect: impl FnOnce(&Home) -> Result<Client, E>,
        progress: impl FnMut(Stage),
    ) -> Result<Option<Collected>, E> {
        let reader = self.reader.as_ref();
        let Some(reader) = reader.filter(|_| self.identity.registered().is_ok()) else {
            return Ok(None);
        };
        let client = connect(&self.identity.home)?;
        let (identity, inbox) = (&self.identity, &self.inbox);
        Ok(Some(
            collect(&client, identity, inbox, reader, progress).await?,
        ))
    }

    /// Decodes the received digests and adds their letters to an inbox. Returns the letters' numbers there.
    ///
    /// Errors: those of [`Inbox::take_in`].
    pub fn take_in(&self, into: &Inbox) -> Result<(Vec<u64>, Vec<Taken>), MailError> {
        let taken = match &self.reader {
            Some(reader) => self.inbox.take_in(reader)?,
            None => Vec::new(),
        };
        Ok((into.adopt(&self.name, &self.identity, &self.inbox)?, taken))
    }
}
