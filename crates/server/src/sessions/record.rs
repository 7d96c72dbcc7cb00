//! The data of a session on the disk: the request, and the detector's file.

use crate::error::ServerError;
use crate::records::{self, Id};
use omr_store::{Change, Store};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The name of the table of sessions.
const SESSIONS: &str = "sessions";
/// The name of the table of sessions' files.
const FILES: &str = "session-files";
/// The name of the table of attempts since a session last made progress. A session without a row has none.
const ATTEMPTS: &str = "session-attempts";

/// A client's request for a session.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionRecord {
    pub(crate) account: String,
    pub(crate) key: [u8; 32],
    pub(crate) start: u64,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
    /// The greatest number of messages in a digest; 0 for no limit.
    #[serde(default)]
    pub(crate) room: u32,
    /// The running hash of the log at `start`, if it was known when the session was opened.
    pub(crate) start_hash: Option<[u8; 32]>,
}

impl SessionRecord {
    /// Returns the greatest number of messages in a digest, if there is a limit.
    pub(super) fn room(&self) -> Option<u64> {
        (self.room > 0).then_some(self.room.into())
    }

    /// Returns whether both records make the same request. A hash that was lost meanwhile makes no difference.
    pub(super) fn is_same_request(&self, other: &Self) -> bool {
        let both = self.start_hash.zip(other.start_hash);
        let with_own_hash = Self {
            start_hash: self.start_hash,
            ..other.clone()
        };
        both.is_none_or(|(own, other)| own == other) && *self == with_own_hash
    }

    pub(crate) fn change(&self, id: &Id) -> Change {
        records::put_json(SESSIONS, id, self)
    }
}

/// Returns the change that stores a session's file.
pub(super) fn save(id: &Id, file: Vec<u8>) -> Change {
    records::put(FILES, id, file)
}

/// Returns the change that stores the number of a session's attempts.
pub(super) fn attempts(id: &Id, attempts: u32) -> Change {
    if attempts > 0 {
        return records::put_json(ATTEMPTS, id, &attempts);
    }
    let [none] = records::forget([ATTEMPTS], id);
    none
}

/// Returns the stored numbers of attempts.
///
/// Errors: `Store`, `Record`.
pub(super) fn all_attempts(store: &Store) -> Result<HashMap<Id, u32>, ServerError> {
    Ok(records::load(store, ATTEMPTS)?.into_iter().collect())
}

/// Returns the file of a session, if there is one yet.
pub(super) fn file(store: &Store, id: &Id) -> Result<Option<Vec<u8>>, omr_store::StoreError> {
    store.get(FILES, id)
}

/// Returns the changes that delete a session.
pub(super) fn forget(id: &Id) -> [Change; 3] {
    records::forget([SESSIONS, FILES, ATTEMPTS], id)
}

/// Loads all sessions from the disk.
///
/// Errors: `Store`, `Record`.
pub(super) fn load(store: &Store) -> Result<Vec<(Id, SessionRecord)>, ServerError> {
    records::load(store, SESSIONS)
}
