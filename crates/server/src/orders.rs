//! Orders: the digest of every batch is made as soon as the batch is full, so that the time of the work depends only on
//! the board.
//!
//! The result of an order is an ordinary job, which the client finds by its request id.

mod record;

pub(crate) use record::OrderRecord;

use crate::caller::Caller;
use crate::error::ServerError;
use crate::jobs::{Id, JobRecord, Jobs, derived};
use crate::refuse;
use crate::share::{Full, Owned, Owner};
use omr_api::order_batch_id;
use omr_store::Store;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tonic::Status;

/// An order in memory.
struct Known {
    record: OrderRecord,
    owner: Owner,
    /// The time at which a client last used it. It begins again with a restart.
    used: Instant,
}

#[derive(Default)]
struct Inner {
    all: HashMap<Id, Known>,
    /// The orders by their next batch.
    due: BTreeSet<(u64, Id)>,
    owned: Owned,
}

impl Inner {
    fn insert(&mut self, id: Id, record: OrderRecord, client: u64) {
        let owner = Owner::new(&record.account, client);
        self.due.insert((record.next, id));
        self.owned.add(owner.clone());
        let used = Instant::now();
        let known = Known {
            record,
            owner,
            used,
        };
        self.all.insert(id, known);
    }

    fn remove(&mut self, id: &Id) {
        if let Some(known) = self.all.remove(id) {
            self.due.remove(&(known.record.next, *id));
            self.owned.remove(&known.owner);
        }
    }

    /// Notes the progress of an order.
    fn stands(&mut self, id: &Id, next: u64) {
        if let Some(known) = self.all.get_mut(id) {
            self.due.remove(&(known.record.next, *id));
            known.record.next = next;
            self.due.insert((next, *id));
        }
    }
}

/// All orders.
pub(crate) struct Orders {
    store: Store,
    inner: Mutex<Inner>,
    limit: usize,
    /// The number of messages in a batch.
    batch: u64,
}

impl Orders {
    /// Opens the orders on the disk.
    ///
    /// Errors: `Store`, `Record`.
    pub(crate) fn open(store: Store, limit: usize, batch: u64) -> Result<Self, ServerError> {
        let mut inner = Inner::default();
        for (id, record) in record::load(&store)? {
            inner.insert(id, record, 0);
        }
        Ok(Self {
            store,
            inner: Mutex::new(inner),
            limit,
            batch,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of messages in a batch.
    pub(crate) fn batch(&self) -> u64 {
        self.batch
    }

    /// Accepts an order, from the first batch that begins at its next message or later, or finds it if it was given
    /// before. Returns its next message.
    ///
    /// Errors: ALREADY_EXISTS for another order under this id; FAILED_PRECONDITION for too many; those of the store.
    pub(crate) fn create(
        &self,
        id: Id,
        mut record: OrderRecord,
        caller: &Caller,
        each: u32,
    ) -> Result<u64, Status> {
        let mut inner = self.lock();
        if let Some(known) = inner.all.get_mut(&id) {
            known.used = Instant::now();
            return if known.record.is_same_request(&record) {
                Ok(known.record.next)
            } else {
                Err(Status::already_exists(
                    "expected a new request id, found that of another order",
                ))
            };
        }
        match inner
            .owned
            .taken(caller)
            .check(caller.is_anonymous(), each as usize, self.limit)
        {
            Ok(()) => {}
            Err(Full::Own(most)) => return Err(refuse::over_quota("orders", most)),
            Err(Full::All(most)) => return Err(refuse::over_quota("orders of all clients", most)),
        }
        record.next = self.begins(record.next);
        let next = record.next;
        self.store
            .write(&[record.change(&id)])
            .map_err(|error| refuse::store(&error))?;
        inner.insert(id, record, caller.client);
        Ok(next)
    }

    /// Returns the start of the first batch that begins at a message or later.
    fn begins(&self, message: u64) -> u64 {
        message.div_ceil(self.batch).saturating_mul(self.batch)
    }

    /// Returns the next message of an account's order.
    ///
    /// Errors: NOT_FOUND.
    pub(crate) fn next(&self, account: &str, id: &Id) -> Result<u64, Status> {
        let mut inner = self.lock();
        let known = inner
            .all
            .get_mut(id)
            .filter(|known| known.record.account == account)
            .ok_or_else(|| {
                Status::not_found("expected one of the caller's orders, found none of this id")
            })?;
        known.used = Instant::now();
        Ok(known.record.next)
    }

    /// Ends an account's order.
    ///
    /// Errors: NOT_FOUND, and those of the store.
    pub(crate) fn end(&self, account: &str, id: &Id) -> Result<(), Status> {
        self.next(account, id)?;
        self.end_all(&[*id]).map_err(|error| refuse::store(&error))
    }

    fn end_all(&self, ids: &[Id]) -> Result<(), omr_store::StoreError> {
        let mut inner = self.lock();
        let changes: Vec<_> = ids.iter().flat_map(record::forget).collect();
        self.store.write(&changes)?;
        ids.iter().for_each(|id| inner.remove(id));
        Ok(())
    }

    fn of(&self, is: impl Fn(&Known) -> bool) -> Vec<Id> {
        let inner = self.lock();
        let of_kind = inner.all.iter().filter(|(_, known)| is(known));
        of_kind.map(|(id, _)| *id).collect()
    }

    /// Ends an account's orders with a key.
    ///
    /// Errors: those of the store.
    pub(crate) fn revoke(&self, account: &str, key: &[u8; 32]) -> Result<(), Status> {
        let with_key =
            |known: &Known| known.record.account == account && known.record.keys.contains(key);
        let ids = self.of(with_key);
        self.end_all(&ids).map_err(|error| refuse::store(&error))
    }

    /// Ends the orders that no client has used for this time, since each costs work with every batch.
    pub(crate) fn tidy(&self, unused: Duration) {
        let old = self.of(|known| known.used.elapsed() >= unused);
        match self.end_all(&old) {
            Ok(()) if old.is_empty() => {}
            Ok(()) => tracing::info!(orders = old.len(), "unused orders are ended"),
            Err(error) => tracing::warn!(%error, "old orders stay"),
        }
    }

    /// Returns the keys of orders, with their accounts.
    pub(crate) fn keys(&self) -> Vec<([u8; 32], String)> {
        let inner = self.lock();
        let records = inner.all.values().map(|known| &known.record);
        records
            .flat_map(|of| of.keys.iter().map(|key| (*key, of.account.clone())))
            .collect()
    }

    /// Returns whether a batch is full whose digest is ordered and not queued.
    pub(crate) fn are_due(&self) -> bool {
        let inner = self.lock();
        let next = inner.due.first().map(|(next, _)| *next);
        next.is_some_and(|next| self.is_full(next))
    }

    fn is_full(&self, start: u64) -> bool {
        // Messages that may be withdrawn are not ordered.
        let settled = self.store.settled().unwrap_or_default();
        start.saturating_add(self.batch) <= settled
    }

    /// Queues the digests of full batches, up to the room in the queue. The others follow later.
    pub(crate) fn feed(&self, jobs: &Jobs) {
        let first = self.store.first();
        let mut room = jobs.room_for_ordered();
        let mut inner = self.lock();
        while let Some(&(next, id)) = inner.due.first() {
            if room == 0 || !self.is_full(next) {
                return;
            }
            // Batches with expired messages are left out.
            let start = next.max(self.begins(first));
            if !self.is_full(start) {
                inner.stands(&id, start);
                continue;
            }
            let Some(known) = inner.all.get(&id) else {
                return;
            };
            let after = OrderRecord {
                next: start + self.batch,
                ..known.record.clone()
            };
            let request = order_batch_id(&after.request_id, start);
            let job = derived(&after.account, &request);
            let log_hash = match self.store.hash_at(after.next) {
                Ok(hash) => hash,
                Err(error) => {
                    tracing::warn!(%error, "a digest for an order does not name the log's hash");
                    None
                }
            };
            let record = JobRecord {
                log_hash,
                ..after.job(start..after.next)
            };
            if let Err(error) = jobs.create_ordered(job, record, after.change(&id)) {
                tracing::warn!(%error, "orders wait");
                return;
            }
            inner.stands(&id, after.next);
            room -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
