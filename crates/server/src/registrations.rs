//! Which account has registered which key.

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

/// Table of registrations: hash, then account. The value: the tag of the key's engine, 1 byte; when the key was last used,
/// 8 bytes of the store's clock; the key's id, 16 bytes; the seed of the masks that it shares, 32 bytes, or nothing.
const TABLE: &str = "registrations";
/// Milliseconds of the store's clock after which a use is written down: the disk need not know of each.
const NOTED_MS: u64 = 24 * 3600 * 1000;

/// What the head of a key's file states. It is read once, when the key is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The engine that the key is for.
    pub(crate) kind: EngineKind,
    /// The id that stands in digests made with the key.
    pub(crate) id: [u8; 16],
    /// The seed of the masks that it shares with keys which one run serves; `None` for a key that is served alone.
    pub(crate) masks: Option<[u8; 32]>,
}

/// A key's registration by an account.
#[derive(Clone, Copy)]
struct Registration {
    key: Key,
    /// Who registered it, as far as this process knows.
    client: u64,
    /// When it was last used, by the store's clock, and what the disk knows of that.
    used: u64,
    noted: u64,
}

/// By hash, then account: whoever registered one key stands together. A registration takes some 150 bytes.
#[derive(Default)]
struct Known {
    all: BTreeMap<([u8; 32], Arc<str>), Registration>,
    owned: Owned,
    /// The accounts, each once.
    accounts: HashSet<Arc<str>>,
}

impl Known {
    fn account(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.accounts.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.accounts.insert(name.clone());
        name
    }

    fn insert(&mut self, hash: [u8; 32], account: &str, registration: Registration) {
        self.remove(&hash, account);
        let owner = Owner::new(account, registration.client);
        let account = self.account(account);
        self.all.insert((hash, account), registration);
        self.owned.add(owner);
    }

    fn remove(&mut self, hash: &[u8; 32], account: &str) {
        if let Some(gone) = self.all.remove(&(*hash, account.into())) {
            self.owned.remove(&Owner::new(account, gone.client));
        }
    }

    /// One of a key's registrations.
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

/// Writes a registration down.
fn note(hash: &[u8; 32], account: &str, key: &Key, used: u64) -> Change {
    let masks = key.masks.as_ref().map_or(&[][..], |masks| &masks[..]);
    Change::Put {
        table: TABLE.into(),
        key: record_key(hash, account),
        value: [&[key.kind.tag()][..], &used.to_le_bytes(), &key.id, masks].concat(),
    }
}

/// Reads a row: the key, and when it was last used. `None` for bytes that are no row.
fn noted(row: &[u8]) -> Option<(Key, u64)> {
    let (tag, rest) = row.split_first()?;
    let (used, rest) = rest.split_first_chunk()?;
    let (id, masks) = rest.split_first_chunk()?;
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

    /// The kind of a key that an account has registered, and is about to use.
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

    /// Returns what is known of a key that anybody has registered.
    pub(crate) fn key(&self, hash: &[u8; 32]) -> Option<Key> {
        self.lock().first(hash).map(|found| found.key)
    }

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
                "registered keys: expected at most {most}, found as many already: `omr id forget` gives those of \
                 addresses back that were replaced, `omr id revoke` those of an identity"
            ))),
            Err(Full::All(most)) => Err(refuse::over_quota("registered keys of all clients", most)),
        }
    }

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

    /// Notes what was used, keys of open sessions among it, and ends registrations that were not used in so long.
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
                Ok(()) => tracing::info!("a key that nobody used any more is forgotten"),
                Err(error) => tracing::warn!(%error, "an unused key stays"),
            }
        }
    }

    /// Ends a registration, where there is one; the key's file goes with the last one.
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
    fn what_a_key_states_is_kept() {
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
        // A job is a use, and so is an open session.
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
        // Each may have one: the same again needs no room.
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
