//! Jobs: digests that clients requested.

mod completion;
mod ended;
mod finished;
mod leases;
mod lend;
mod line;
mod local;
mod queue;
mod record;
mod retries;
mod run;
mod stored;
mod tally;
#[cfg(test)]
pub(crate) mod trial;

pub(crate) use completion::{ATTEMPTS, Ending, Step};
pub(crate) use leases::{Refusal, WorkerId};
pub(crate) use lend::{Asking, Lent};
pub(crate) use local::Local;
pub(crate) use queue::Kinds;
pub(crate) use record::{DIGESTS, Id, JOBS, JobRecord, QUERIES, State, derived};
pub use stored::{StoredJob, drop_jobs, stored_jobs};

use crate::caller::Caller;
use crate::error::ServerError;
use crate::pages::PageSecret;
use crate::records;
use crate::refuse;
use crate::registrations::Registrations;
use crate::room::Room;
use crate::share::Full;
use finished::Finished;
use omr_detector::engines::Costs;
use omr_ops::{FinishedDigest, Metrics};
use omr_protocol::{ParamSet, Sealing};
use omr_store::{Change, Store, StoreError};
use queue::{Group, Queue};
use retries::Retries;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tally::Tally;
use tokio::sync::watch;
use tonic::Status;

/// The number of finished jobs that one client may have. The oldest are deleted first.
const FINISHED: usize = 256;
/// The number of finished jobs that all clients without a token may have.
const STRANGERS_FINISHED: usize = 16 * FINISHED;

/// The greatest number of unfinished digests for orders.
const ORDERED: u64 = 256;

/// The error of an attempt that ended with the server's process.
const ENDED: &str = "the server's process ended while it made the digest, perhaps for lack of memory: its operator \
     can lower detector.together or limits.digest_messages, have `omr worker` make digests on a larger machine, or \
     choose a smaller parameter set";

/// The error of a job whose messages were withdrawn.
const WITHDRAWN: &str = "messages of the range were withdrawn from the board: ask for its present length, and request the digest again";

/// The number of digests that the status page shows.
const SHOWN: usize = 10;

/// The state of a job that clients see.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) state: State,
    pub(crate) scheme: &'static str,
    /// The time at which it began to run.
    pub(crate) started: Option<Instant>,
    pub(crate) stage: Cow<'static, str>,
    pub(crate) done: u64,
    pub(crate) total: u64,
    pub(crate) digest_bytes: u64,
    pub(crate) error: String,
    /// The running hash of the log at the end of the range.
    pub(crate) log_hash: Option<[u8; 32]>,
}

/// The result of a job: its digest, or the reason for which there is none.
type Outcome = Result<Vec<u8>, String>;

struct Entry {
    record: JobRecord,
    /// The workers whose attempts failed, as far as this process knows.
    failed_by: Vec<Arc<WorkerId>>,
    /// The group of jobs that can run together with this one.
    group: Option<Group>,
    view: watch::Sender<View>,
    cancelled: Arc<AtomicBool>,
    queued: Instant,
}

#[derive(Default)]
struct Inner {
    /// The jobs that are not finished.
    entries: HashMap<Id, Entry>,
    /// The results that are not on the disk yet. No client sees them before.
    unwritten: HashMap<Id, Outcome>,
    retries: Retries,
    /// The time until which no job is lent, because a write to the disk failed.
    disk_rests: Option<Instant>,
    /// The time until which the server's own thread gets no work, because memory was short.
    memory_rests: Option<Instant>,
    finished: Finished,
    queue: Queue,
    tally: Tally,
    leases: leases::Table,
    workers: HashMap<Arc<WorkerId>, lend::WorkerState>,
    /// The number of notifications to waiting workers so far.
    changes: u64,
    next_number: u64,
    /// The last digests, newest first.
    last: VecDeque<FinishedDigest>,
}

impl Inner {
    /// Removes a job from the queue, if it is there.
    fn leave_line(&mut self, id: &Id) {
        self.queue.remove(id);
        self.retries.remove(id);
    }

    /// Replaces the record of a job.
    fn change(&mut self, id: &Id, record: JobRecord) {
        if let Some(entry) = self.entries.get_mut(id) {
            self.tally.remove(id, &entry.record);
            self.tally.add(id, &record);
            entry.record = record;
        }
    }
}

/// All jobs. Records are written to the disk before any client sees them.
pub(crate) struct Jobs {
    store: Store,
    keys: Arc<Registrations>,
    inner: Mutex<Inner>,
    more: Condvar,
    /// Notifies tasks when `more` notifies threads.
    changed: watch::Sender<()>,
    stopping: AtomicBool,
    set: Arc<ParamSet>,
    costs: Costs,
    slots: u64,
    limit: usize,
    keep: Keep,
    together: Together,
    sealing: Sealing,
    /// The secret from which the seeds of pages are derived.
    pages: PageSecret,
    lease: Duration,
    room: Arc<Room>,
    /// The time at which the log last mentioned that memory is short.
    shortage_logged: Mutex<Option<Instant>>,
    metrics: Metrics,
    /// Whether writes to the disk fail.
    #[cfg(test)]
    disk_fails: AtomicBool,
}

/// The times for which finished digests are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// The time for digests that clients requested.
    pub(crate) asked: Duration,
    /// The time for digests of orders.
    pub(crate) ordered: Duration,
}

/// The rule for jobs that run together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Together {
    /// The greatest number of jobs in a run, at least one.
    pub(crate) most: usize,
    /// The time for which the first of them may wait for others, from its arrival.
    pub(crate) wait: Duration,
}

/// A job that a worker begins.
struct Work {
    id: Id,
    record: JobRecord,
}

/// The limits of all jobs together.
pub(crate) struct Bounds {
    pub(crate) unfinished: usize,
    pub(crate) keep: Keep,
    pub(crate) costs: Costs,
    pub(crate) together: Together,
    pub(crate) sealing: Sealing,
    /// The secret from which the seeds of pages are derived.
    pub(crate) pages: PageSecret,
    /// The time for which a worker elsewhere may be silent.
    pub(crate) lease: Duration,
    /// The memory for digests.
    pub(crate) room: Arc<Room>,
}

impl Jobs {
    /// Opens the jobs on the disk. Unfinished ones are queued again.
    ///
    /// Errors: `Store`, `Record`.
    pub(crate) fn open(
        store: Store,
        set: Arc<ParamSet>,
        keys: Arc<Registrations>,
        bounds: Bounds,
        metrics: Metrics,
    ) -> Result<Self, ServerError> {
        let jobs = Self {
            store,
            keys,
            inner: Mutex::default(),
            more: Condvar::new(),
            changed: watch::Sender::new(()),
            stopping: AtomicBool::new(false),
            slots: set
                .sophomr()
                .map_or(u64::MAX, |params| params.slots() as u64),
            set,
            costs: bounds.costs,
            together: bounds.together,
            sealing: bounds.sealing,
            pages: bounds.pages,
            lease: bounds.lease,
            room: bounds.room,
            shortage_logged: Mutex::default(),
            limit: bounds.unfinished,
            keep: bounds.keep,
            metrics,
            #[cfg(test)]
            disk_fails: AtomicBool::new(false),
        };
        jobs.load()?;
        Ok(jobs)
    }

    /// Loads the jobs on the disk. A job that the server's own thread was making when the process ended gets one more
    /// failed attempt, and fails after the last one. In this way a job that crashes the process does not do so for
    /// ever.
    fn load(&self) -> Result<(), ServerError> {
        let (mut waiting, mut ended, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        let mut inner = self.lock();
        record::each(&self.store, |id, mut record| {
            inner.next_number = inner.next_number.max(record.number + 1);
            if record.state == State::Running {
                record.attempts += 1;
                tracing::warn!(
                    attempts = record.attempts,
                    messages = record.stride().count(),
                    "the last process ended while it made a digest"
                );
                if record.attempts >= ATTEMPTS {
                    record.fail(completion::exhausted(ENDED));
                    failed.push(record.change(&id));
                }
            }
            if record.state.is_final() {
                inner.tally.add(&id, &record);
                ended.push((record.number, id, record.ordered));
            } else {
                waiting.push((id, record));
            }
        })?;
        self.store.write(&failed)?;
        ended.sort_unstable();
        for (number, id, ordered) in ended {
            inner.finished.push(id, number, ordered);
        }
        waiting.sort_by_key(|(_, record)| record.number);
        for (id, mut record) in waiting {
            record.state = State::Queued;
            let group = self.group(&record);
            self.insert(&mut inner, id, record, group);
        }
        Ok(())
    }

    /// Writes changes to the disk.
    ///
    /// Errors: those of the store.
    fn write(&self, changes: &[Change]) -> Result<(), StoreError> {
        #[cfg(test)]
        if self.disk_fails.load(Ordering::Relaxed) {
            return Err(StoreError::Suspended);
        }
        self.store.write(changes)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds the jobs, as a thread that hangs does.
    #[cfg(test)]
    pub(crate) fn held(&self) -> impl Sized + '_ {
        self.lock()
    }

    /// Puts a job into the queue.
    fn insert(&self, inner: &mut Inner, id: Id, record: JobRecord, group: Option<Group>) {
        self.line_up(inner, id, &record, group.clone());
        let entry = Entry {
            view: watch::Sender::new(View::of(&record)),
            record,
            failed_by: Vec::new(),
            group,
            cancelled: Arc::default(),
            queued: Instant::now(),
        };
        inner.tally.add(&id, &entry.record);
        inner.entries.insert(id, entry);
        self.wake(inner);
        self.count(inner);
    }

    fn count(&self, inner: &Inner) {
        let [queued, running] = inner.tally.unfinished();
        self.metrics.jobs(queued, running);
        let remote = inner.leases.live().filter(|lease| !lease.is_local());
        self.metrics.leases(remote.count() as u64);
    }

    /// Queues a job, or finds it if it was requested before. `query` is the file of the query, empty unless the job is a
    /// fetch.
    ///
    /// Errors: ALREADY_EXISTS for another request under this id; FAILED_PRECONDITION and RESOURCE_EXHAUSTED for too
    /// many jobs; FAILED_PRECONDITION where neither this process nor a worker has the memory for it; those of the
    /// store.
    pub(crate) fn create(
        &self,
        id: Id,
        mut record: JobRecord,
        query: &[u8],
        caller: &Caller,
    ) -> Result<(), Status> {
        let group = self.group(&record);
        let mut inner = self.lock();
        if let Some(known) = self.known(&inner, &id)? {
            return if known.is_same_request(&record) {
                Ok(())
            } else {
                Err(Status::already_exists(
                    "expected a new request id, found that of another job",
                ))
            };
        }
        let taken = inner.tally.taken(caller);
        match taken.check(caller.is_anonymous(), caller.jobs as usize, self.limit) {
            Ok(()) => {}
            Err(Full::Own(most)) => return Err(refuse::over_quota("unfinished jobs", most)),
            Err(Full::All(_)) => {
                let after = Duration::from_secs_f64(self.costs.batch_s.clamp(1.0, 600.0));
                return Err(refuse::busy("the queue is full: try again later", after));
            }
        }
        self.check_workers(&inner, &record)?;
        record.number = inner.next_number;
        inner.next_number += 1;
        let mut changes = vec![record.change(&id)];
        if record.query.is_some() {
            changes.push(records::put(QUERIES, &id, query.to_vec()));
        }
        let old = oldest_finished(&inner, caller);
        changes.extend(old.iter().flat_map(|(_, id)| record::forget(id)));
        self.store
            .write(&changes)
            .map_err(|error| refuse::store(&error))?;
        for place in &old {
            inner.tally.remove_finished(&caller.account, place);
            inner.entries.remove(&place.1);
        }
        self.insert(&mut inner, id, record, group);
        Ok(())
    }

    /// Returns a description of what is short of memory, if anything is.
    pub(crate) fn shortage(&self) -> Option<&str> {
        self.room.shortage()
    }

    /// Checks that a worker can make a digest if this process does not have the memory for it.
    ///
    /// Errors: FAILED_PRECONDITION.
    fn check_workers(&self, inner: &Inner, record: &JobRecord) -> Result<(), Status> {
        let Some(shortage) = self.room.shortage() else {
            return Ok(());
        };
        let engines = self.narrowed(record).engines().iter().copied();
        let needs = Kinds::of(engines);
        let possible = self.room.engines().include(needs)
            || inner.workers.values().any(|worker| worker.can(needs));
        if possible {
            Ok(())
        } else {
            Err(Status::failed_precondition(format!(
                "{shortage}, and no worker elsewhere is there: ask the server's operator"
            )))
        }
    }

    /// Returns the number of digests for orders that the queue has room for. This room is separate from that of clients
    /// who wait.
    pub(crate) fn room_for_ordered(&self) -> u64 {
        ORDERED.saturating_sub(self.lock().tally.ordered())
    }

    /// Queues the digest of a batch for an order, unless it was queued before, and stores the progress of the order in
    /// the same transaction.
    ///
    /// Errors: those of the store.
    pub(crate) fn create_ordered(
        &self,
        id: Id,
        mut record: JobRecord,
        order: Change,
    ) -> Result<(), StoreError> {
        let group = self.group(&record);
        let mut inner = self.lock();
        if inner.entries.contains_key(&id) || self.store.get(JOBS, &id)?.is_some() {
            return self.store.write(&[order]);
        }
        record.number = inner.next_number;
        inner.next_number += 1;
        self.store.write(&[record.change(&id), order])?;
        self.insert(&mut inner, id, record, group);
        Ok(())
    }

    /// Returns a receiver of the state of an account's job, and the number of jobs ahead of it.
    ///
    /// Errors: NOT_FOUND, and those of the store.
    pub(crate) fn find(
        &self,
        account: &str,
        id: &Id,
    ) -> Result<(watch::Receiver<View>, u64), Status> {
        let mut inner = self.lock();
        let record = self.own(&inner, account, id)?;
        let view = match inner.entries.get(id) {
            Some(entry) => entry.view.subscribe(),
            None => watch::channel(View::of(&record)).1,
        };
        Ok((view, self.places_ahead(&mut inner, id)))
    }

    /// Returns the number of jobs ahead of a job; 0 for a job that is not in the queue.
    pub(crate) fn ahead(&self, id: &Id) -> u64 {
        self.places_ahead(&mut self.lock(), id)
    }

    fn places_ahead(&self, inner: &mut Inner, id: &Id) -> u64 {
        inner.queue.ahead(id, self.together.most).unwrap_or(0)
    }

    /// Returns the digest of a finished job.
    ///
    /// Errors: NOT_FOUND, FAILED_PRECONDITION for an unfinished job, and those of the store.
    pub(crate) fn digest(&self, account: &str, id: &Id) -> Result<Vec<u8>, Status> {
        let state = self.own(&self.lock(), account, id)?.state;
        if state != State::Done {
            return Err(Status::failed_precondition(format!(
                "expected a finished job, found one that is {state:?}"
            )));
        }
        self.store
            .get(DIGESTS, id)
            .map_err(|error| refuse::store(&error))?
            .ok_or_else(|| Status::not_found("the digest is no longer stored: request it again"))
    }

    /// Cancels and deletes an unfinished job, or deletes a finished one.
    ///
    /// Errors: NOT_FOUND, and those of the store.
    pub(crate) fn cancel(&self, account: &str, id: &Id) -> Result<(), Status> {
        let mut inner = self.lock();
        let record = self.own(&inner, account, id)?;
        self.store
            .write(&record::forget(id))
            .map_err(|error| refuse::store(&error))?;
        inner.leave_line(id);
        inner.unwritten.remove(id);
        let forgotten = inner.forget(id, &record);
        // Jobs that wait for others of the group may be able to run now.
        self.wake(&mut inner);
        self.count(&inner);
        if let Some(entry) = forgotten {
            entry.cancelled.store(true, Ordering::Relaxed);
            entry.view.send_modify(|view| {
                if !view.state.is_final() {
                    view.state = State::Cancelled;
                }
            });
        }
        Ok(())
    }

    /// Fails the unfinished jobs whose messages from `start` on were withdrawn, and all fetches, since the seeds of their
    /// queries changed.
    pub(crate) fn withdraw(&self, start: u64) {
        let mut inner = self.lock();
        let has_seen = |entry: &Entry| {
            let record = &entry.record;
            !record.state.is_final() && (record.range.end > start || record.query.is_some())
        };
        let entries = inner.entries.iter().filter(|(_, entry)| has_seen(entry));
        let ids: Vec<Id> = entries.map(|(id, _)| *id).collect();
        for id in ids {
            drop(self.finish(&mut inner, &id, Err(WITHDRAWN.to_owned())));
        }
        self.wake(&mut inner);
    }

    /// Cancels an account's unfinished jobs with a key.
    ///
    /// Errors: those of the store.
    pub(crate) fn revoke(&self, account: &str, key: &[u8; 32]) -> Result<(), Status> {
        let with_key = |entry: &Entry| {
            let record = &entry.record;
            record.account == account && record.keys.contains(key) && !record.state.is_final()
        };
        let ids: Vec<Id> = {
            let inner = self.lock();
            let of_key = inner.entries.iter().filter(|(_, entry)| with_key(entry));
            of_key.map(|(id, _)| *id).collect()
        };
        ids.iter().try_for_each(|id| self.cancel(account, id))
    }
}

/// Returns the finished jobs that are deleted for a new one: the caller's oldest, so that nobody displaces the jobs of
/// others, and the oldest of all clients without a token if these have too many together.
fn oldest_finished(inner: &Inner, caller: &Caller) -> Vec<tally::Place> {
    let most = if caller.is_local {
        STRANGERS_FINISHED / 2
    } else {
        FINISHED
    };
    inner.tally.oldest(caller, most, STRANGERS_FINISHED)
}
