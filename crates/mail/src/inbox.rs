//! The inbox in a file: the records of [`omr_inbox`] in one database.

mod database;
mod records;
mod turn;

use crate::keys::storage_key;
use crate::{Home, Identity, MailError, periods, unix_now};
use database::{Store, put_aside};
use omr_client::os_rng;
use omr_inbox::{Asking, Taken};
use std::ops::Deref;
use std::path::PathBuf;
use turn::Turn;

/// The name of the database in the folder.
pub(crate) const FILE: &str = "inbox.redb";

/// The network half's view of an inbox: ranges, ids and undecoded digests.
pub type Requests<'a> = omr_inbox::Requests<'a, Store>;

/// A recipient's messages and the state of the requests, in a file that is encrypted with a key of the secret: without
/// the passphrase of the secret nobody can read it.
pub struct Inbox {
    core: omr_inbox::Inbox<Store>,
    /// The lock of fetching, if this value has it.
    turn: Option<Turn>,
}

impl Deref for Inbox {
    type Target = omr_inbox::Inbox<Store>;

    fn deref(&self) -> &Self::Target {
        &self.core
    }
}

impl Inbox {
    /// Opens the inbox of a folder to fetch and to decode, which only one process can do at a time; creates an empty
    /// one where there is none.
    ///
    /// Errors: `Busy`, `File`, `Damaged`, `OtherInbox`, `Database`; `NoIdentity`, `Locked`, `Unlock`.
    pub fn open(home: &Home) -> Result<Self, MailError> {
        let turn = Turn::take(home)?;
        Self::with(home, Some(turn))
    }

    /// Opens the inbox of a folder to list it and to mark messages as read, also while another process fetches; creates
    /// an empty one where there is none.
    ///
    /// Errors: `File`, `Damaged`, `OtherInbox`, `Database`; `NoIdentity`, `Locked`, `Unlock`.
    pub fn beside(home: &Home) -> Result<Self, MailError> {
        Self::with(home, None)
    }

    fn with(home: &Home, turn: Option<Turn>) -> Result<Self, MailError> {
        let store = Store::open(&home.path(FILE), &storage_key(home)?)?;
        store.complete()?;
        let core = omr_inbox::Inbox::open(store)?;
        Ok(Self { core, turn })
    }

    /// Returns whether it was opened to fetch and to decode.
    #[must_use]
    pub fn fetches(&self) -> bool {
        self.turn.is_some()
    }

    /// Runs `act` while no other process can write to the file.
    pub(crate) fn held<T>(
        &self,
        act: impl FnOnce() -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        self.core.store().writing(|_| act())
    }

    /// Renames the inbox of a folder, damaged or not, and creates an empty one in its place: the next fetch requests
    /// all messages from `start` on. Returns the new name of the old file.
    ///
    /// Errors: `Busy`, `File`, `Database`.
    pub fn rebuild(home: &Home, start: u64) -> Result<Option<PathBuf>, MailError> {
        let turn = Turn::take(home)?;
        let aside = put_aside(&home.path(FILE))?;
        Self::with(home, Some(turn))?.begin_at(start, None)?;
        Ok(aside)
    }

    /// Decodes every received digest, oldest first; each in one transaction, so that a message is delivered once
    /// however often this is interrupted. Then deletes the secrets of periods whose letters have all been received.
    ///
    /// Errors: `Busy` unless the inbox was opened by [`Inbox::open`]; `Database`, `Record`.
    pub fn take_in(&self, reader: &Reader) -> Result<Vec<Taken>, MailError> {
        if self.turn.is_none() {
            return Err(MailError::Busy);
        }
        let taken = self.core.take_in(&reader.core, unix_now())?;
        reader.kept.forget(&reader.core, self)?;
        Ok(taken)
    }

    /// Makes the query of a fetch with the secret, and keeps it.
    pub(crate) fn ask(&self, reader: &Reader, asking: &Asking) -> Result<(), MailError> {
        self.core.ask(&reader.core, asking, &mut os_rng())
    }

    /// Copies the letters in a retired identity's inbox that were not copied yet; every call copies a letter at most
    /// once. Returns their numbers in this inbox. The originals stay, so that this inbox can be built again.
    ///
    /// Errors: `Params`, `Clue`, `File`, `Damaged`, `Database`, `Record`.
    pub fn adopt(
        &self,
        name: &str,
        retired: &Identity,
        from: &Self,
    ) -> Result<Vec<u64>, MailError> {
        let address = retired.clue_key(&retired.set()?)?.id;
        self.core.adopt(name, address, &from.core)
    }
}

/// The secrets for decoding. A reader has no connection, so it cannot reveal the content of a digest.
pub struct Reader {
    core: omr_inbox::Reader,
    kept: periods::Kept,
}

impl Reader {
    /// Reads the secrets of an identity.
    ///
    /// Errors: `Keys` where those of periods are missing; `NotRegistered`, `NoIdentity`, `File`, `Params`, `Secret`.
    pub fn new(identity: &Identity) -> Result<Self, MailError> {
        let set = identity.set()?;
        let secret = identity.secret(&set)?;
        let board_id = identity.profile.board_id.ok_or(MailError::NotRegistered)?;
        let kept = periods::Kept::new(&identity.home, &secret);
        let periods = periods::read(identity, &secret)?;
        let mut core = omr_inbox::Reader::new(set, secret, board_id, identity.profile.sealing);
        if let Some(periods) = periods {
            core = core.with_periods(periods, unix_now());
        }
        Ok(Self { core, kept })
    }
}
