//! A session as it is kept on the disk: what was asked for, and the detector's file.

use crate::error::ServerError;
use crate::jobs::Id;
use omr_store::{Change, Store};
use serde::{Deserialize, Serialize};

/// Table of sessions.
const SESSIONS: &str = "sessions";
/// Table of their files.
const FILES: &str = "session-files";

/// What a client asked for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionRecord {
    pub(crate) account: String,
    pub(crate) key: [u8; 32],
    pub(crate) start: u64,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
}

impl SessionRecord {
    pub(crate) fn change(&self, id: &Id) -> Change {
        Change::Put {
            table: SESSIONS.into(),
            key: id.to_vec(),
            value: serde_json::to_vec(self).unwrap_or_default(),
        }
    }
}

/// Keeps a session's file.
pub(super) fn save(id: &Id, file: Vec<u8>) -> Change {
    Change::Put {
        table: FILES.into(),
        key: id.to_vec(),
        value: file,
    }
}

/// The file of a session, if there is one yet.
pub(super) fn file(store: &Store, id: &Id) -> Result<Option<Vec<u8>>, omr_store::StoreError> {
    store.get(FILES, id)
}

/// Takes a session out.
pub(super) fn forget(id: &Id) -> [Change; 2] {
    [SESSIONS, FILES].map(|table| Change::Delete {
        table: table.into(),
        key: id.to_vec(),
    })
}

/// All sessions that are kept.
///
/// Errors: `Store`, `Record`.
pub(super) fn load(store: &Store) -> Result<Vec<(Id, SessionRecord)>, ServerError> {
    let mut sessions = Vec::new();
    for (key, value) in store.scan(SESSIONS)? {
        let table = SESSIONS;
        let record = serde_json::from_slice(&value)
            .map_err(|source| ServerError::Record { table, source })?;
        if let Ok(id) = Id::try_from(&key[..]) {
            sessions.push((id, record));
        }
    }
    Ok(sessions)
}
