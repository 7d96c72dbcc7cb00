//! The accounts that have registered keys.

use crate::caller::Caller;
use crate::error::ServerError;
use crate::refuse;
use crate::share::{Full, Owned, Owner};
use omr_protocol::EngineKind;
use omr_store::{Change, Store};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tonic::Status;

/// The table of registrations, by hash and account. The value of a row: the tag of the key's engine, 1 byte; the time
/// of the last use, 8 bytes of the store's clock; the key's id, 16 bytes; the seed of the masks that the key shares, 32
/// bytes, or nothing.
const TABLE: &str = "registrations";
/// The time after which a use is written to the disk, in milliseconds of the store's clock.
const NOTED_MS: u64 = 24 * 3600 * 1000;

/// The content of the head of a key's file. It is read once, when the key is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The engine of the key.
    pub(crate) kind: EngineKind,
    /// The id of the key in digests.
    pub(crate) id: [u8; 16],
    /// The seed of the masks that the key shares with keys that can run together; `None` for a key that runs alone.
    pub(crate) masks: Option<[u8; 32]>,
}

/// A key's registration by an account.
#[derive(Clone, Copy)]
struct Registration {
    key: Key,
    /// The client that registered it, if this process knows it.
    client: u64,
    /// The time of the last use by the store's clock, and the time that is on the disk.
    used: u64,
    noted: u64,
}

/// The registrations by hash and account, so that those of one key are together. A registration takes about 150 bytes.
#[derive(Default)]
struct Known {
    all: BTreeMap<([u8; 32], Arc<str>), Registration>,
    owned: Owned,
    /// The names of accounts, each once.
    accounts: HashSet<Arc<str>>,
}

impl Known {
    fn account(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.accounts.get(name) {
            return known.clone();
        }
        let shared: Arc<str> = name.into();
        self.accounts.insert(shared.clone());
        shared
    }

    fn insert(&mut self, hash: [u8; 32], account: &str, registration: Registration) {
        self.remove(&hash, account);
        let owner = Owner::new(account, registration.client);
        let name = self.account(account);
        self.all.insert((hash, name), registration);
        self.owned.add(owner);
    }

    fn remove(&mut self, hash: &[u8; 32], account: &str) {
        if let Some(gone) = self.all.remove(&(*hash, account.into())) {
            self.owned.remove(&Owner::new(account, gone.client));
        }
    }

    /// Returns one of the registrations of a key.
    fn first(&self, hash: &[u8; 32]) -> Option<&Registration> {
        let from = (*hash, Arc::from(""));
        let ((of, _), found) = self.all.range(from..).next()?;
        (of == hash).then_some(found)
    }
}

/// The registrations on the disk.
pub(crate) struct Registrations {
    store: Store,
    known: Mutex<Known>,
    limit: usize,
}

fn record_key(hash: &[u8; 32], account: &str) -> Vec<u8> {
    [&hash[..], account.as_bytes()].concat()
}

/// Returns the change that writes a registration.
fn note(hash: &[u8; 32], account: &str, key: &Key, used: u64) -> Change {
    let masks = key.masks.as_ref().map_or(&[][..], |masks| &masks[..]);
    Change::Put {
        table: TABLE.into(),
        key: record_key(hash, account),
        value: [&[key.kind.tag()][..], &used.to_le_bytes(), &key.id, masks].concat(),
    }
}

/// Decodes a row into the key and the time of its last use. Returns `None` for malformed bytes.
fn noted(row: &[u8]) -> Option<(Key, u64)> {
    let (tag, after_tag) = row.split_first()?;
    let (used, after_used) = after_tag.split_first_chunk()?;
    let (id, masks) = after_used.split_first_chunk()?;
    let key = Key {
        kind: EngineKind::from_tag(*tag)?,
        id: *id,
        masks: match masks {
            [] => None,
            masks => Some(masks.try_into().ok()?),
        },
    };
    Some((key, u64::from_le_bytes(*used)))
}

impl Registrations {
    /// Opens the registrations on the disk.
    ///
    /// Errors: `Store`.
    pub(crate) fn open(store: Store, limit: usize) -> Result<Self, ServerError> {
        let mut known = Known::default();
        for (place, row) in store.scan(TABLE)? {
            let (Some((hash, account)), Some((key, used))) =
                (place.split_first_chunk::<32>(), noted(&row))
            else {
                continue;
            };
            let registration = Registration {
                key,
                client: 0,
                used,
                noted: used,
            };
            known.insert(*hash, &String::from_utf8_lossy(account), registration);
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

    /// Returns the kind of a key that an account has registered, and marks the key as used.
    ///
    /// Errors: NOT_FOUND.
    pub(crate) fn kind(&self, account: &str, hash: &[u8; 32]) -> Result<EngineKind, Status> {
        let mut known = self.lock();
        let Some(found) = known.all.get_mut(&(*hash, account.into())) else {
            return Err(Status::not_found(
                "expected one of the caller's registered keys, found another: register it first",
            ));
        };
        if matches!(self.store.key_bytes(*hash), Ok(None)) {
            return Err(Status::not_found(
                "the server has lost this key to damage of its disk: register it again",
            ));
        }
        found.used = self.store.clock();
        Ok(found.key.kind)
    }

    /// Returns the content of a registered key's head.
    pub(crate) fn key(&self, hash: &[u8; 32]) -> Option<Key> {
        self.lock().first(hash).map(|found| found.key)
    }

    /// Checks that the caller may register another key.
    ///
    /// Errors: FAILED_PRECONDITION where there is no room for another key.
    pub(crate) fn room(&self, caller: &Caller, hash: &[u8; 32]) -> Result<(), Status> {
        let known = self.lock();
        if known.all.contains_key(&(*hash, (&*caller.account).into())) {
            return Ok(());
        }
        let taken = known.owned.taken(caller);
        match taken.check(caller.is_anonymous(), caller.keys as usize, self.limit) {
            Ok(()) => Ok(()),
            Err(Full::Own(most)) => Err(Status::failed_precondition(format!(
                "registered keys: expected at most {most}, found as many already: `omr id forget` removes those \
                 of replaced addresses, `omr id revoke` those of an identity"
            ))),
            Err(Full::All(most)) => Err(refuse::over_quota("registered keys of all clients", most)),
        }
    }

    /// Registers a key for a caller.
    ///
    /// Errors: those of the store.
    pub(crate) fn add(&self, caller: &Caller, hash: &[u8; 32], key: Key) -> Result<(), Status> {
        let mut known = self.lock();
        let now = self.store.clock();
        self.store
            .write(&[note(hash, &caller.account, &key, now)])
            .map_err(|error| refuse::store(&error))?;
        let registration = Registration {
            key,
            client: caller.client,
            used: now,
            noted: now,
        };
        known.insert(*hash, &caller.account, registration);
        Ok(())
    }

    /// Writes the uses of keys, including the keys of open sessions, and ends registrations that were unused for this
    /// time.
    pub(crate) fn tidy(&self, unused: Duration, open: &[([u8; 32], String)]) {
        let now = self.store.clock();
        let age = u64::try_from(unused.as_millis()).unwrap_or(u64::MAX);
        let (mut changes, mut old) = (Vec::new(), Vec::new());
        {
            let mut known = self.lock();
            for (hash, account) in open {
                if let Some(found) = known.all.get_mut(&(*hash, (&**account).into())) {
                    found.used = now;
                }
            }
            for ((hash, account), one) in known.all.iter_mut() {
                if now.saturating_sub(one.used) >= age {
                    old.push((*hash, account.clone()));
                } else if one.used.saturating_sub(one.noted) >= NOTED_MS {
                    changes.push(note(hash, account, &one.key, one.used));
                    one.noted = one.used;
                }
            }
        }
        if let Err(error) = self.store.write(&changes) {
            tracing::warn!(%error, "the use of keys is not noted");
        }
        for (hash, account) in old {
            match self.remove(&account, &hash) {
                Ok(()) => tracing::info!("an unused key is deleted"),
                Err(error) => tracing::warn!(%error, "an unused key stays"),
            }
        }
    }

    /// Ends a registration, if it exists. The key's file is deleted with its last registration.
    ///
    /// Errors: those of the store.
    pub(crate) fn remove(&self, account: &str, hash: &[u8; 32]) -> Result<(), Status> {
        let mut known = self.lock();
        let change = Change::Delete {
            table: TABLE.into(),
            key: record_key(hash, account),
        };
        self.store
            .write(&[change])
            .map_err(|error| refuse::store(&error))?;
        known.remove(hash, account);
        if known.first(hash).is_some() {
            return Ok(());
        }
        self.store
            .delete_key(*hash)
            .map_err(|error| refuse::store(&error))
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::test_store;

    fn key(kind: EngineKind) -> Key {
        Key {
            kind,
            id: [7; 16],
            masks: None,
        }
    }

    #[test]
    fn the_head_of_a_key_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let alone = key(EngineKind::Instantomr);
        let shared = Key {
            masks: Some([9; 32]),
            ..key(EngineKind::Sophomr)
        };
        let keys = Registrations::open(test_store(&dir), 8).unwrap();
        keys.add(&Caller::test("ann", 9), &[1; 32], alone).unwrap();
        keys.add(&Caller::test("ann", 9), &[2; 32], shared).unwrap();
        drop(keys);
        let keys = Registrations::open(test_store(&dir), 8).unwrap();
        assert_eq!(keys.key(&[1; 32]), Some(alone));
        assert_eq!(keys.key(&[2; 32]), Some(shared));
        assert_eq!(keys.key(&[3; 32]), None);
    }

    #[test]
    fn a_key_that_nobody_uses_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let store = test_store(&dir);
        let stored = |key: &[u8]| {
            let hash = *blake3::hash(key).as_bytes();
            let at = store.upload(hash, key.len() as u64).unwrap();
            store.upload_chunk(hash, at.next_offset, key).unwrap();
            hash
        };
        let (used, session, unused) = (stored(b"used"), stored(b"session"), stored(b"unused"));
        let keys = Registrations::open(store, 8).unwrap();
        for hash in [used, session, unused] {
            keys.add(&Caller::test("ann", 1), &hash, key(EngineKind::Instantomr))
                .unwrap();
        }
        keys.tidy(Duration::from_secs(60), &[]);
        assert_eq!(keys.len(), 3);
        std::thread::sleep(Duration::from_millis(30));
        // A job is a use of its key, and so is an open session.
        keys.kind("ann", &used).unwrap();
        keys.tidy(Duration::from_millis(25), &[(session, "ann".into())]);
        assert!(keys.kind("ann", &used).is_ok() && keys.kind("ann", &session).is_ok());
        let gone = keys.kind("ann", &unused).unwrap_err();
        assert_eq!(gone.code(), tonic::Code::NotFound);
        drop(keys);
        let keys = Registrations::open(test_store(&dir), 8).unwrap();
        assert_eq!(keys.len(), 2);
        keys.tidy(Duration::ZERO, &[]);
        assert_eq!(keys.len(), 0);
    }

    #[test]
    fn quotas_follow_each_registration_and_a_key_stays_until_its_last_one() {
        let dir = tempfile::tempdir().unwrap();
        let (ann, bob) = (Caller::test("ann", 1), Caller::test("bob", 2));
        let (first, second) = ([1; 32], [2; 32]);
        let keys = Registrations::open(test_store(&dir), 8).unwrap();
        for caller in [&ann, &bob, &ann] {
            keys.add(caller, &first, key(EngineKind::Sophomr)).unwrap();
        }
        assert_eq!(keys.len(), 2);
        drop(keys);
        let keys = Registrations::open(test_store(&dir), 8).unwrap();
        // Each client may have one key. Registering it again needs no room.
        assert!(keys.room(&ann, &first).is_ok());
        let full = keys.room(&ann, &second).unwrap_err();
        assert_eq!(full.code(), tonic::Code::FailedPrecondition);
        keys.remove("ann", &first).unwrap();
        assert!(keys.room(&ann, &second).is_ok() && keys.room(&bob, &second).is_err());
        assert_eq!(keys.key(&first), Some(key(EngineKind::Sophomr)));
        keys.remove("bob", &first).unwrap();
        assert_eq!((keys.key(&first), keys.len()), (None, 0));
        assert!(keys.room(&bob, &second).is_ok());
    }
}
