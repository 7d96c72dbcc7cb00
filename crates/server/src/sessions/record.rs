//! A session as it is kept on the disk: what was asked for, and the detector's file.

use crate::error::ServerError;
use crate::records::{self, Id};
use omr_store::{Change, Store};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Table of sessions.
const SESSIONS: &str = "sessions";
/// Table of their files.
const FILES: &str = "session-files";
/// Table of how often sessions were begun since the server last got on with them: none where it did.
const ATTEMPTS: &str = "session-attempts";

/// What a client asked for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionRecord {
    pub(crate) account: String,
    pub(crate) key: [u8; 32],
    pub(crate) start: u64,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
    /// Most messages of a digest; 0: as many as come.
    #[serde(default)]
    pub(crate) room: u32,
    /// The running hash of the log at `start`, if it was known when the session was opened.
    pub(crate) start_hash: Option<[u8; 32]>,
}

impl SessionRecord {
    /// Most messages of a digest, where there is an end.
    pub(super) fn room(&self) -> Option<u64> {
        (self.room > 0).then_some(self.room.into())
    }

    /// Whether both are of the same request: a hash that was lost since changes nothing.
    pub(super) fn is_same_request(&self, other: &Self) -> bool {
        let both = self.start_hash.zip(other.start_hash);
        let other = Self {
            start_hash: self.start_hash,
            ..other.clone()
        };
        both.is_none_or(|(own, other)| own == other) && *self == other
    }

    pub(crate) fn change(&self, id: &Id) -> Change {
        records::put_json(SESSIONS, id, self)
    }
}

/// Keeps a session's file.
pub(super) fn save(id: &Id, file: Vec<u8>) -> Change {
    records::put(FILES, id, file)
}

/// Keeps how often a session was begun.
pub(super) fn attempts(id: &Id, attempts: u32) -> Change {
    if attempts > 0 {
        return records::put_json(ATTEMPTS, id, &attempts);
    }
    let [none] = records::forget([ATTEMPTS], id);
    none
}

/// How often sessions were begun since the server last got on with them, where that is known.
///
/// Errors: `Store`, `Record`.
pub(super) fn all_attempts(store: &Store) -> Result<HashMap<Id, u32>, ServerError> {
    Ok(records::load(store, ATTEMPTS)?.into_iter().collect())
}

/// The file of a session, if there is one yet.
pub(super) fn file(store: &Store, id: &Id) -> Result<Option<Vec<u8>>, omr_store::StoreError> {
    store.get(FILES, id)
}

/// Takes a session out.
pub(super) fn forget(id: &Id) -> [Change; 3] {
    records::forget([SESSIONS, FILES, ATTEMPTS], id)
}

/// All sessions that are kept.
///
/// Errors: `Store`, `Record`.
pub(super) fn load(store: &Store) -> Result<Vec<(Id, SessionRecord)>, ServerError> {
    records::load(store, SESSIONS)
}
