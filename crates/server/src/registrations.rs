//! Which account has registered which key.

use crate::error::ServerError;
use crate::refuse;
use omr_protocol::frame::Kind;
use omr_store::{Change, Store};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tonic::Status;

/// Table of registrations: hash, then account; the value is the kind of key.
const TABLE: &str = "registrations";

type Known = HashMap<([u8; 32], String), Kind>;

/// The registrations on the disk.
pub(crate) struct Registrations {
    store: Store,
    known: Mutex<Known>,
    limit: usize,
}

fn record_key(hash: &[u8; 32], account: &str) -> Vec<u8> {
    [&hash[..], account.as_bytes()].concat()
}

impl Registrations {
    /// Errors: `Store`.
    pub(crate) fn open(store: Store, limit: usize) -> Result<Self, ServerError> {
        let mut known = HashMap::new();
        for (key, value) in store.scan(TABLE)? {
            let Some((hash, account)) = key.split_first_chunk::<32>() else {
                continue;
            };
            let kind = match value[..] {
                [1] => Kind::DetectionKey,
                _ => Kind::InstantKey,
            };
            known.insert((*hash, String::from_utf8_lossy(account).into_owned()), kind);
        }
        Ok(Self {
            store,
            known: Mutex::new(known),
            limit,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kind of a key that an account has registered.
    ///
    /// Errors: NOT_FOUND.
    pub(crate) fn kind(&self, account: &str, hash: &[u8; 32]) -> Result<Kind, Status> {
        let known = self.lock();
        let kind = known.get(&(*hash, account.to_owned())).copied();
        kind.ok_or_else(|| {
            Status::not_found(
                "expected one of the caller's registered keys, found another: register it first",
            )
        })
    }

    /// Whether anybody has registered a key.
    pub(crate) fn has(&self, hash: &[u8; 32]) -> Option<Kind> {
        let known = self.lock();
        known
            .iter()
            .find(|((known, _), _)| known == hash)
            .map(|(_, kind)| *kind)
    }

    /// Errors: FAILED_PRECONDITION where there is no room for another key.
    pub(crate) fn room(&self, account: &str, hash: &[u8; 32], quota: u32) -> Result<(), Status> {
        let known = self.lock();
        if known.contains_key(&(*hash, account.to_owned())) {
            return Ok(());
        }
        let own = known.keys().filter(|(_, of)| of == account).count();
        if own >= quota as usize {
            return Err(refuse::over_quota("registered keys", quota));
        }
        if known.len() >= self.limit {
            return Err(refuse::over_quota(
                "registered keys of all clients",
                self.limit,
            ));
        }
        Ok(())
    }

    /// Errors: those of the store.
    pub(crate) fn add(&self, account: &str, hash: &[u8; 32], kind: Kind) -> Result<(), Status> {
        let mut known = self.lock();
        let change = Change::Put {
            table: TABLE.into(),
            key: record_key(hash, account),
            value: vec![if kind == Kind::DetectionKey { 1 } else { 2 }],
        };
        self.store
            .write(&[change])
            .map_err(|error| refuse::store(&error))?;
        known.insert((*hash, account.to_owned()), kind);
        Ok(())
    }

    /// Ends a registration; the key's file goes with the last one.
    ///
    /// Errors: NOT_FOUND, those of the store.
    pub(crate) fn remove(&self, account: &str, hash: &[u8; 32]) -> Result<(), Status> {
        self.kind(account, hash)?;
        let mut known = self.lock();
        let change = Change::Delete {
            table: TABLE.into(),
            key: record_key(hash, account),
        };
        self.store
            .write(&[change])
            .map_err(|error| refuse::store(&error))?;
        known.remove(&(*hash, account.to_owned()));
        if known.keys().any(|(of, _)| of == hash) {
            return Ok(());
        }
        self.store
            .delete_key(*hash)
            .map_err(|error| refuse::store(&error))
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}
