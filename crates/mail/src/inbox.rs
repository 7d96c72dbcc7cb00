//! The inbox in a file: the core's records in one database.

mod database;
mod records;
mod turn;

use crate::{Home, Identity, MailError, unix_now};
use database::{Store, put_aside};
use omr_inbox::Taken;
use std::ops::Deref;
use std::path::PathBuf;
use turn::Turn;

/// Name of the database in the folder.
pub(crate) const FILE: &str = "inbox.redb";

/// What the network half of a fetch sees of an inbox: ranges, ids and digests that nobody has decoded.
pub type Requests<'a> = omr_inbox::Requests<'a, Store>;

/// A recipient's messages and the state of her requests, in a file.
pub struct Inbox {
    core: omr_inbox::Inbox<Store>,
    /// Present where nobody else fetches.
    turn: Option<Turn>,
}

impl Deref for Inbox {
    type Target = omr_inbox::Inbox<Store>;

    fn deref(&self) -> &Self::Target {
        &self.core
    }
}

impl Inbox {
    /// Opens the inbox of a folder to fetch and to decode, which one process at a time does; makes an empty one where
    /// there is none.
    ///
    /// Errors: `Busy`, `File`, `Damaged`, `Database`.
    pub fn open(home: &Home) -> Result<Self, MailError> {
        let turn = Turn::take(home)?;
        Self::with(home, Some(turn))
    }

    /// Opens the inbox of a folder to look at it and to note what was read, also while another process fetches; makes
    /// an empty one where there is none.
    ///
    /// Errors: `File`, `Damaged`, `Database`.
    pub fn beside(home: &Home) -> Result<Self, MailError> {
        Self::with(home, None)
    }

    fn with(home: &Home, turn: Option<Turn>) -> Result<Self, MailError> {
        let store = Store::open(&home.path(FILE))?;
        store.complete()?;
        let core = omr_inbox::Inbox::open(store)?;
        Ok(Self { core, turn })
    }

    /// Whether it was opened to fetch and to decode.
    #[must_use]
    pub fn fetches(&self) -> bool {
        self.turn.is_some()
    }

    /// Does something while no process writes to the file.
    pub(crate) fn held<T>(
        &self,
        act: impl FnOnce() -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        self.core.store().writing(|_| act())
    }

    /// Puts the inbox of a folder aside, damaged as it may be, and begins an empty one in its place: the next
    /// fetch asks for all messages from `start` on. Gives the name that the old file has now.
    ///
    /// Errors: `Busy`, `File`, `Database`.
    pub fn rebuild(home: &Home, start: u64) -> Result<Option<PathBuf>, MailError> {
        let turn = Turn::take(home)?;
        let aside = put_aside(&home.path(FILE))?;
        Self::with(home, Some(turn))?.begin_at(start, None)?;
        Ok(aside)
    }

    /// Decodes every digest that is here, oldest first; each in one transaction, so that a message is
    /// delivered once however often this is interrupted.
    ///
    /// Errors: `Busy` unless the inbox was opened by [`Inbox::open`]; `Database`, `Record`.
    pub fn take_in(&self, reader: &Reader) -> Result<Vec<Taken>, MailError> {
        match self.turn {
            Some(_) => self.core.take_in(&reader.core, unix_now()),
            None => Err(MailError::Busy),
        }
    }

    /// Copies the letters of a retired identity's inbox that did not come here yet, each once however often this is
    /// called; gives their numbers here. Theirs stay, so that this inbox can be made anew.
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

/// The secrets that decoding needs. A reader has no connection, so it cannot reveal what it
/// decodes.
pub struct Reader {
    core: omr_inbox::Reader,
}

impl Reader {
    /// Reads her secret.
    ///
    /// Errors: `NotRegistered`, `NoIdentity`, `File`, `Params`, `Secret`.
    pub fn new(identity: &Identity) -> Result<Self, MailError> {
        let set = identity.set()?;
        let secret = identity.secret(&set)?;
        let board_id = identity.profile.board_id.ok_or(MailError::NotRegistered)?;
        let core = omr_inbox::Reader::new(set, secret, board_id, identity.profile.sealing);
        Ok(Self { core })
    }
}
