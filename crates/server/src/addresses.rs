//! Addresses that clients published, by their fingerprints.

use crate::caller::Caller;
use crate::error::ServerError;
use crate::records::{self, Id};
use crate::refuse;
use crate::share::{Full, Taken};
use crate::strangers::ANONYMOUS;
use omr_store::{Change, Store};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tonic::Status;

/// The name of the table of publishers and times.
const TABLE: &str = "addresses";
/// The name of the table of addresses, as messages of the protocol.
const TEXTS: &str = "address-texts";
/// The time after which another publication is written to the disk, in milliseconds of the store's clock.
const NOTED_MS: u64 = 24 * 3600 * 1000;

#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Record {
    account: String,
    /// The time of the last publication by the store's clock.
    published: u64,
    /// The first publisher, if this process knows it. It is not stored, since it would distinguish network addresses.
    #[serde(default, skip)]
    client: u64,
    /// The first period after those whose keys the address contains; 0 if it contains none.
    #[serde(default, skip_serializing_if = "is_zero")]
    periods_end: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The addresses on the disk.
pub(crate) struct Addresses {
    store: Store,
    known: Mutex<HashMap<Id, Record>>,
    limit: usize,
}

impl Addresses {
    /// Opens the addresses on the disk.
    ///
    /// Errors: `Store`, `Record`.
    pub(crate) fn open(store: Store, limit: usize) -> Result<Self, ServerError> {
        let known = records::load(&store, TABLE)?.into_iter().collect();
        Ok(Self {
            store,
            known: Mutex::new(known),
            limit,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Record>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an address under its fingerprint. An address that is stored already is kept longer, even if another client
    /// published it; one with keys of later periods replaces it. `periods_end` is the first period without a key.
    ///
    /// Errors: FAILED_PRECONDITION, and those of the store.
    pub(crate) fn publish(
        &self,
        caller: &Caller,
        fingerprint: Id,
        address: Vec<u8>,
        periods_end: u32,
    ) -> Result<(), Status> {
        let mut known = self.lock();
        let now = self.store.clock();
        if let Some(record) = known.get_mut(&fingerprint) {
            let is_later = record.periods_end < periods_end;
            if now.saturating_sub(record.published) < NOTED_MS && !is_later {
                return Ok(());
            }
            let again = Record {
                published: now,
                periods_end: record.periods_end.max(periods_end),
                ..record.clone()
            };
            let mut changes = vec![records::put_json(TABLE, &fingerprint, &again)];
            if is_later {
                changes.push(records::put(TEXTS, &fingerprint, address));
            }
            self.write(&changes)?;
            *record = again;
            return Ok(());
        }
        let mut taken = Taken::default();
        for record in known.values() {
            let own = record.account == caller.account
                && (!caller.is_anonymous() || record.client == caller.client);
            taken.add(own, record.account == ANONYMOUS);
        }
        match taken.check(caller.is_anonymous(), caller.addresses as usize, self.limit) {
            Ok(()) => {}
            Err(Full::Own(most)) => return Err(refuse::over_quota("published addresses", most)),
            Err(Full::All(most)) => {
                let what = "published addresses of all clients";
                return Err(refuse::over_quota(what, most));
            }
        }
        let record = Record {
            account: caller.account.clone(),
            published: now,
            client: caller.client,
            periods_end,
        };
        self.write(&[
            records::put(TEXTS, &fingerprint, address),
            records::put_json(TABLE, &fingerprint, &record),
        ])?;
        known.insert(fingerprint, record);
        Ok(())
    }

    /// Returns the address with a fingerprint.
    ///
    /// Errors: NOT_FOUND, and those of the store.
    pub(crate) fn find(&self, fingerprint: &Id) -> Result<Vec<u8>, Status> {
        let found = self
            .store
            .get(TEXTS, fingerprint)
            .map_err(|error| refuse::store(&error))?;
        found.ok_or_else(|| {
            Status::not_found(
                "expected the fingerprint of a published address, found another, or of one that was not published \
                 again in time",
            )
        })
    }

    /// Deletes addresses that were not published again for this time.
    pub(crate) fn tidy(&self, age: Duration) {
        let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let mut known = self.lock();
        let now = self.store.clock();
        let is_old = |record: &Record| now.saturating_sub(record.published) >= millis;
        let old: Vec<Id> = known
            .iter()
            .filter(|(_, record)| is_old(record))
            .map(|(id, _)| *id)
            .collect();
        let gone: Vec<Change> = old
            .iter()
            .flat_map(|id| records::forget([TABLE, TEXTS], id))
            .collect();
        match self.store.write(&gone) {
            Ok(()) => old.iter().for_each(|id| drop(known.remove(id))),
            Err(error) => tracing::warn!(%error, "old addresses stay"),
        }
    }

    fn write(&self, changes: &[Change]) -> Result<(), Status> {
        self.store
            .write(changes)
            .map_err(|error| refuse::store(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::test_store as store;
    use crate::strangers::of_strangers;

    fn publish(addresses: &Addresses, caller: &Caller, number: u8) -> Result<(), Status> {
        addresses.publish(caller, [number; 16], vec![number], 0)
    }

    #[test]
    fn keys_of_later_periods_replace_earlier_ones_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let addresses = Addresses::open(store(&dir), 8).unwrap();
        let (owner, stranger) = (Caller::test("", 1), Caller::test("", 2));
        for (caller, end, kept) in [
            (&owner, 24, 24),
            (&stranger, 23, 24),
            (&stranger, 24, 24),
            (&owner, 30, 30),
        ] {
            addresses
                .publish(caller, [1; 16], vec![end], end.into())
                .unwrap();
            assert_eq!(addresses.find(&[1; 16]).unwrap(), [kept]);
        }
        drop(addresses);
        let addresses = Addresses::open(store(&dir), 8).unwrap();
        addresses.publish(&owner, [1; 16], vec![29], 29).unwrap();
        assert_eq!(addresses.find(&[1; 16]).unwrap(), [30]);
    }

    #[test]
    fn nobody_publishes_more_than_their_share() {
        let dir = tempfile::tempdir().unwrap();
        let addresses = Addresses::open(store(&dir), 8).unwrap();
        let caller = |account, client| Caller {
            addresses: 3,
            ..Caller::test(account, client)
        };
        let refused = |caller: &Caller, number| {
            let error = publish(&addresses, caller, number).unwrap_err();
            assert_eq!(error.code(), tonic::Code::FailedPrecondition);
        };
        for number in 0..3 {
            publish(&addresses, &caller("", 1), number).unwrap();
        }
        refused(&caller("", 1), 3);
        // Anybody may publish a stored address again, at no cost.
        publish(&addresses, &caller("", 1), 2).unwrap();
        publish(&addresses, &caller("", 2), 2).unwrap();
        for number in 3..6 {
            publish(&addresses, &caller("", 2), number).unwrap();
        }
        // Clients without a token have six of eight.
        assert_eq!(of_strangers(8), 6);
        refused(&caller("", 3), 6);
        publish(&addresses, &caller("known", 4), 6).unwrap();
        assert_eq!(addresses.find(&[6; 16]).unwrap(), [6]);
        let missing = addresses.find(&[7; 16]).unwrap_err();
        assert_eq!(missing.code(), tonic::Code::NotFound);
        drop(addresses);

        let addresses = Addresses::open(store(&dir), 8).unwrap();
        assert_eq!(addresses.lock().len(), 7);
        assert_eq!(addresses.find(&[1; 16]).unwrap(), [1]);
        assert_eq!(addresses.lock()[&[6; 16]].account, "known");
    }

    #[test]
    fn addresses_that_are_not_published_again_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let addresses = Addresses::open(store(&dir), 8).unwrap();
        let caller = Caller::test("", 1);
        publish(&addresses, &caller, 1).unwrap();
        addresses.tidy(Duration::from_secs(60));
        assert!(addresses.find(&[1; 16]).is_ok());
        std::thread::sleep(Duration::from_millis(20));
        publish(&addresses, &Caller::test("", 2), 2).unwrap();
        addresses.tidy(Duration::from_millis(15));
        assert!(addresses.find(&[1; 16]).is_err());
        addresses.tidy(Duration::ZERO);
        assert!(addresses.lock().is_empty());
        drop(addresses);
        assert!(Addresses::open(store(&dir), 8).unwrap().lock().is_empty());
    }

    #[test]
    fn the_disk_does_not_distinguish_network_addresses() {
        let dir = tempfile::tempdir().unwrap();
        let addresses = Addresses::open(store(&dir), 8).unwrap();
        publish(&addresses, &Caller::test("", 0x1234_5678_9abc), 1).unwrap();
        let kept = addresses.store.scan(TABLE).unwrap();
        let text = String::from_utf8_lossy(&kept[0].1);
        assert!(
            !text.contains("client") && !text.contains("20015998343868"),
            "{text}"
        );
    }
}
