//! Sessions: InstantOMR processes every message as it is posted.

mod live;
mod record;
mod runner;

pub(crate) use record::SessionRecord;

use crate::caller::Caller;
use crate::damage::Damage;
use crate::error::ServerError;
use crate::jobs::{ATTEMPTS, Id};
use crate::priority::Priority;
use crate::refuse;
use crate::room::Room;
use crate::share::{Full, Taken};
use crate::strangers::ANONYMOUS;
use live::{Live, Place};
use omr_cuda::Cards;
use omr_ops::Metrics;
use omr_protocol::{ParamSet, Sealing};
use omr_store::{Change, Store, StoreError};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tonic::Status;

/// The error of a session that is not continued.
const ENDED: &str = "the server's process ended during each of the last attempts to continue this session, perhaps for lack \
     of memory: close it and request digests, or have the operator lower detector.session_keys_in_memory";

/// The error of a session whose messages were withdrawn.
const WITHDRAWN: &str =
    "messages that this session has seen were withdrawn from the board: open another session";

/// The parts that all sessions use.
pub(crate) struct Tools {
    pub(crate) store: Store,
    pub(crate) set: Arc<ParamSet>,
    pub(crate) cards: Arc<Cards>,
    pub(crate) sealing: Sealing,
    pub(crate) priority: Arc<Priority>,
    pub(crate) metrics: Metrics,
    pub(crate) damage: Arc<Damage>,
    /// The greatest number of sessions whose keys are in memory.
    pub(crate) in_memory: usize,
    /// Counts the memory of these sessions.
    pub(crate) room: Arc<Room>,
    pub(crate) limit: usize,
    /// The threads of sessions, which digests do not use.
    pub(crate) pool: rayon::ThreadPool,
}

/// A session.
pub(crate) struct Slot {
    id: Id,
    record: SessionRecord,
    /// The client that opened the session, if this process knows it.
    client: u64,
    /// The time at which a client last used the session. It begins again with a restart.
    used: Mutex<Instant>,
    live: Mutex<Option<Live>>,
    place: Mutex<Place>,
    closed: AtomicBool,
    /// The number of attempts since the session last made progress. It is written to the disk before a step begins.
    attempts: AtomicU32,
    /// Whether the session is marked on the disk as being at work.
    begun: AtomicBool,
    error: Mutex<String>,
}

/// The state of a session that clients see.
pub(crate) struct View {
    pub(crate) next: u64,
    /// The running hash of the log at `next`, if it is known.
    pub(crate) log_hash: Option<[u8; 32]>,
    pub(crate) cuts: u64,
    pub(crate) error: String,
}

/// A digest that was cut off.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The file of the digest.
    pub(crate) digest: Vec<u8>,
    /// The running hash of the log at the digest's end, if it is known.
    pub(crate) log_hash: Option<[u8; 32]>,
}

/// All sessions.
pub(crate) struct Sessions {
    tools: Tools,
    slots: Mutex<HashMap<Id, Arc<Slot>>>,
    /// The sessions in memory, the latest used last.
    order: Mutex<VecDeque<Id>>,
    stopping: AtomicBool,
    changed: Condvar,
    waiting: Mutex<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_found() -> Status {
    Status::not_found("expected one of the caller's sessions, found none of this id")
}

impl Slot {
    fn new(id: Id, record: SessionRecord, client: u64, place: Place) -> Arc<Self> {
        Arc::new(Self {
            id,
            record,
            client,
            used: Mutex::new(Instant::now()),
            live: Mutex::new(None),
            place: Mutex::new(place),
            closed: AtomicBool::new(false),
            attempts: AtomicU32::new(0),
            begun: AtomicBool::new(false),
            error: Mutex::default(),
        })
    }

    fn view(&self) -> View {
        let place = self.place();
        View {
            next: place.seen.next.length,
            log_hash: place.seen.next.hash,
            cuts: place.cuts,
            error: lock(&self.error).clone(),
        }
    }

    /// Returns the position of the session.
    fn place(&self) -> Place {
        *lock(&self.place)
    }

    /// Returns the number of messages that the session has yet to process, on a board of `len` messages.
    fn behind(&self, len: u64) -> u64 {
        let place = self.place();
        len.min(place.end).saturating_sub(place.seen.next.length)
    }

    /// Stores the position of the session.
    fn stands(&self, place: Place) {
        *lock(&self.place) = place;
    }

    /// Returns whether each of the last attempts ended with the server's process.
    fn is_exhausted(&self) -> bool {
        let attempts = self.attempts.load(Ordering::Relaxed);
        attempts >= ATTEMPTS && !self.begun.load(Ordering::Relaxed)
    }

    /// Marks the session on the disk as being at work, if it is not. If the process ends after that, it counts as one
    /// more attempt.
    ///
    /// Errors: that of the store; [`ENDED`] after too many attempts.
    fn begin(&self, store: &Store) -> Result<(), String> {
        if self.is_exhausted() {
            return Err(ENDED.to_owned());
        }
        if self.begun.load(Ordering::Relaxed) {
            return Ok(());
        }
        let attempts = self.attempts.load(Ordering::Relaxed) + 1;
        store
            .write(&[record::attempts(&self.id, attempts)])
            .map_err(|error| error.to_string())?;
        self.attempts.store(attempts, Ordering::Relaxed);
        self.begun.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Writes changes, and that the session has made progress.
    ///
    /// Errors: those of the store.
    fn gets_on(&self, store: &Store, changes: Vec<Change>) -> Result<(), StoreError> {
        let mut changes = changes;
        if self.begun.load(Ordering::Relaxed) {
            changes.push(record::attempts(&self.id, 0));
        }
        if changes.is_empty() {
            return Ok(());
        }
        store.write(&changes)?;
        self.attempts.store(0, Ordering::Relaxed);
        self.begun.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Notes that an attempt failed without ending the process, which does not count.
    fn has_failed(&self, store: &Store) {
        if let Err(error) = self.gets_on(store, Vec::new()) {
            tracing::warn!(%error, "a session stays marked on the disk as being at work");
        }
    }

    /// Returns whether an earlier attempt ended with the process. The next step is then saved at once.
    fn is_doubted(&self) -> bool {
        self.attempts.load(Ordering::Relaxed) > 1
    }

    fn fail(&self, error: &str) {
        tracing::warn!(error, "a session cannot continue");
        *lock(&self.error) = error.to_owned();
    }
}

impl Sessions {
    /// Opens the sessions on the disk.
    ///
    /// Errors: `Store`, `Record`.
    pub(crate) fn open(tools: Tools) -> Result<Self, ServerError> {
        let mut slots = HashMap::new();
        let all_attempts = record::all_attempts(&tools.store)?;
        for (id, record) in record::load(&tools.store)? {
            // The position is in the session's file, which is read together with the key.
            let place = Place::on_disk(&tools, &id, &record);
            let slot = Slot::new(id, record, 0, place);
            let attempts = all_attempts.get(&id).copied().unwrap_or(0);
            slot.attempts.store(attempts, Ordering::Relaxed);
            if slot.is_exhausted() {
                slot.fail(ENDED);
            }
            // On a board that has become shorter no new message would reveal the difference.
            if let Err(error) = tools.check_history(&place.seen) {
                slot.fail(&error.to_string());
            }
            slots.insert(id, slot);
        }
        Ok(Self {
            tools,
            slots: Mutex::new(slots),
            order: Mutex::default(),
            stopping: AtomicBool::new(false),
            changed: Condvar::new(),
            waiting: Mutex::new(()),
        })
    }

    /// Opens a session, or finds it if it was opened before.
    ///
    /// Errors: ALREADY_EXISTS, FAILED_PRECONDITION, RESOURCE_EXHAUSTED, and those of the store.
    pub(crate) fn create(
        &self,
        id: Id,
        record: SessionRecord,
        caller: &Caller,
    ) -> Result<View, Status> {
        let mut slots = lock(&self.slots);
        if let Some(known) = slots.get(&id) {
            if known.record.is_same_request(&record) {
                return Ok(known.view());
            }
            return Err(Status::already_exists(
                "expected a new request id, found that of another session",
            ));
        }
        let mut taken = Taken::default();
        for slot in slots.values() {
            let account = &slot.record.account;
            let own = *account == caller.account
                && (!caller.is_anonymous() || slot.client == caller.client);
            taken.add(own, account == ANONYMOUS);
        }
        match taken.check(
            caller.is_anonymous(),
            caller.sessions as usize,
            self.tools.limit,
        ) {
            Ok(()) => {}
            Err(Full::Own(most)) => return Err(refuse::over_quota("sessions", most)),
            Err(Full::All(most)) => {
                return Err(refuse::over_quota("sessions of all clients", most));
            }
        }
        self.tools
            .store
            .write(&[record.change(&id)])
            .map_err(|error| refuse::store(&error))?;
        let place = Place::start(&record);
        let slot = Slot::new(id, record, caller.client, place);
        let view = slot.view();
        slots.insert(id, slot);
        drop(slots);
        self.wake();
        Ok(view)
    }

    fn of(&self, account: &str, id: &Id) -> Result<Arc<Slot>, Status> {
        let slots = lock(&self.slots);
        let slot = slots
            .get(id)
            .filter(|slot| slot.record.account == account)
            .cloned()
            .ok_or_else(not_found)?;
        *lock(&slot.used) = Instant::now();
        Ok(slot)
    }

    /// Returns the state of a session.
    ///
    /// Errors: NOT_FOUND.
    pub(crate) fn view(&self, account: &str, id: &Id) -> Result<View, Status> {
        Ok(self.of(account, id)?.view())
    }

    /// Cuts off a digest. Returns it with the running hash of the log at its end.
    ///
    /// Errors: NOT_FOUND; FAILED_PRECONDITION for a wrong number or a session that cannot continue; those of the store.
    pub(crate) fn cut(&self, account: &str, id: &Id, number: u64) -> Result<Cut, Status> {
        let slot = self.of(account, id)?;
        let _urgent = self.tools.priority.urgent();
        let mut live = lock(&slot.live);
        if slot.closed.load(Ordering::Relaxed) {
            return Err(not_found());
        }
        if let Err(error) = self.ensure_live(&slot, &mut live) {
            slot.fail(&error);
            slot.has_failed(&self.tools.store);
            return Err(Status::failed_precondition(error));
        }
        let Some(session) = live.as_mut() else {
            return Err(Status::internal("a session left memory; please report it"));
        };
        let cut = self
            .tools
            .pool
            .install(|| session.cut(&self.tools, &slot, number));
        slot.gets_on(&self.tools.store, Vec::new())
            .map_err(|error| refuse::store(&error))?;
        // A full session continues after a cut.
        self.wake();
        if session.is_ahead() {
            // The step was not saved, and the digest was never returned, so the state on the disk is valid.
            *live = None;
        }
        cut
    }

    /// Closes a session.
    ///
    /// Errors: NOT_FOUND, and those of the store.
    pub(crate) fn close(&self, account: &str, id: &Id) -> Result<(), Status> {
        let slot = self.of(account, id)?;
        self.end(&slot)
    }

    fn end(&self, slot: &Slot) -> Result<(), Status> {
        let id = &slot.id;
        // The runner must not write the session again.
        let mut live = lock(&slot.live);
        self.tools
            .store
            .write(&record::forget(id))
            .map_err(|error| refuse::store(&error))?;
        slot.closed.store(true, Ordering::Relaxed);
        *live = None;
        let mut slots = lock(&self.slots);
        slots.remove(id);
        Ok(())
    }

    /// Closes the sessions that no client has used for this time, since each costs work with every message.
    pub(crate) fn tidy(&self, unused: Duration) {
        let is_old = |slot: &&Arc<Slot>| lock(&slot.used).elapsed() >= unused;
        let old: Vec<Arc<Slot>> = lock(&self.slots).values().filter(is_old).cloned().collect();
        for slot in old {
            match self.end(&slot) {
                Ok(()) => tracing::info!("an unused session is closed"),
                Err(error) => tracing::warn!(%error, "an old session stays"),
            }
        }
    }

    /// Returns the keys of open sessions, with their accounts.
    pub(crate) fn keys(&self) -> Vec<([u8; 32], String)> {
        let slots = lock(&self.slots);
        let key = |slot: &Arc<Slot>| (slot.record.key, slot.record.account.clone());
        slots.values().map(key).collect()
    }

    /// Closes an account's sessions with a key.
    ///
    /// Errors: those of the store.
    pub(crate) fn revoke(&self, account: &str, key: &[u8; 32]) -> Result<(), Status> {
        let with_key =
            |slot: &&Arc<Slot>| slot.record.account == account && slot.record.key == *key;
        let ids: Vec<Id> = lock(&self.slots)
            .values()
            .filter(with_key)
            .map(|slot| slot.id)
            .collect();
        ids.iter().try_for_each(|id| self.close(account, id))
    }

    /// Ends the sessions that have seen messages from `start` on, since they were withdrawn. Their clients open others.
    pub(crate) fn withdraw(&self, start: u64) {
        let has_seen = |slot: &&Arc<Slot>| slot.place().seen.next.length > start;
        let seen: Vec<Arc<Slot>> = lock(&self.slots)
            .values()
            .filter(has_seen)
            .cloned()
            .collect();
        for slot in seen {
            slot.fail(WITHDRAWN);
        }
    }

    /// Notifies the runner that there is work.
    pub(crate) fn wake(&self) {
        let _waiting = lock(&self.waiting);
        self.changed.notify_all();
    }

    /// Stops the runner once it has saved everything.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Returns the number of sessions, and the number of messages by which the slowest is behind the board.
    pub(crate) fn overview(&self) -> (usize, u64) {
        let slots = lock(&self.slots);
        let len = self.tools.store.len();
        let behind = slots.values().map(|slot| slot.behind(len));
        (slots.len(), behind.max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::parts::Parts;

    #[test]
    fn a_session_that_nobody_asks_for_is_closed() {
        let data = tempfile::tempdir().unwrap();
        let parts = Parts::open(Config::tiny(data.path())).unwrap();
        let sessions = parts.sessions().unwrap().unwrap();
        let hash = parts.store.hash_at(0).unwrap();
        let record = SessionRecord {
            start_hash: hash,
            ..asked_for()
        };
        for id in [[1; 16], [2; 16]] {
            sessions.create(id, record.clone(), &caller()).unwrap();
        }
        // The request is repeated after its hash was lost.
        let on = |start_hash: Option<[u8; 32]>| SessionRecord {
            start_hash,
            ..record.clone()
        };
        let again = sessions.create([1; 16], on(None), &caller());
        assert_eq!(again.unwrap().log_hash, hash);
        let other = sessions.create([1; 16], on(Some([8; 32])), &caller());
        let other = other.err().unwrap();
        assert_eq!(other.code(), tonic::Code::AlreadyExists);
        std::thread::sleep(Duration::from_millis(30));
        // A request for a session keeps it open, and its key counts as used.
        sessions.view("ann", &[1; 16]).unwrap();
        sessions.tidy(Duration::from_millis(25));
        assert!(sessions.view("ann", &[1; 16]).is_ok());
        assert_eq!(sessions.keys(), [([5; 32], "ann".to_owned())]);
        let gone = sessions.view("ann", &[2; 16]).err().unwrap();
        assert_eq!(gone.code(), tonic::Code::NotFound);
        drop(sessions);
        let left = record::load(&parts.store).unwrap();
        assert_eq!(left.len(), 1);
    }

    fn asked_for() -> SessionRecord {
        SessionRecord {
            account: "ann".into(),
            key: [5; 32],
            start: 0,
            bound: 3,
            indices_only: false,
            room: 0,
            start_hash: None,
        }
    }

    fn caller() -> Caller {
        Caller {
            sessions: 2,
            ..Caller::test("ann", 1)
        }
    }

    #[test]
    fn a_session_that_ends_the_process_is_begun_three_times() {
        let data = tempfile::tempdir().unwrap();
        let parts = Parts::open(Config::tiny(data.path())).unwrap();
        let (id, other) = ([1; 16], [2; 16]);
        let sessions = parts.sessions().unwrap().unwrap();
        for id in [id, other] {
            sessions.create(id, asked_for(), &caller()).unwrap();
        }
        drop(sessions);
        for attempt in 1..=ATTEMPTS {
            let sessions = parts.sessions().unwrap().unwrap();
            let slot = sessions.of("ann", &id).unwrap();
            assert_eq!(slot.view().error, "");
            slot.begin(&parts.store).unwrap();
            // Further steps before the session is saved belong to the same attempt.
            slot.begin(&parts.store).unwrap();
            assert_eq!(slot.is_doubted(), attempt > 1);
            // The other session makes progress each time.
            let slot = sessions.of("ann", &other).unwrap();
            slot.begin(&parts.store).unwrap();
            slot.gets_on(&parts.store, Vec::new()).unwrap();
        }
        let sessions = parts.sessions().unwrap().unwrap();
        assert_eq!(sessions.view("ann", &id).unwrap().error, ENDED);
        assert_eq!(sessions.view("ann", &other).unwrap().error, "");
        let refused = sessions.cut("ann", &id, 0).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
        assert_eq!(refused.message(), ENDED);
        assert_eq!(
            record::all_attempts(&parts.store).unwrap(),
            [(id, 3)].into()
        );
        // The session can be closed, and leaves nothing.
        sessions.close("ann", &id).unwrap();
        assert!(record::all_attempts(&parts.store).unwrap().is_empty());
    }

    #[test]
    fn a_session_that_fails_without_ending_the_process_is_begun_again() {
        let data = tempfile::tempdir().unwrap();
        let parts = Parts::open(Config::tiny(data.path())).unwrap();
        let sessions = parts.sessions().unwrap().unwrap();
        sessions.create([1; 16], asked_for(), &caller()).unwrap();
        // There is no key with this hash.
        for _ in 0..=ATTEMPTS {
            let refused = sessions.cut("ann", &[1; 16], 0).unwrap_err();
            assert_ne!(refused.message(), ENDED);
        }
        assert!(record::all_attempts(&parts.store).unwrap().is_empty());
    }
}
