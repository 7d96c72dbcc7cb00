//! The choice of a worker's next jobs.

use super::leases::WorkerId;
use super::queue::{First, Group, Item, Kinds};
use super::{Ending, Entry, Id, Inner, JobRecord, Jobs, QUERIES, State, Work};
use omr_detector::placement_seed;
use omr_protocol::{EngineKind, Scheme};
use omr_runner::{KeyRef, Seed, Unit, in_words};
use omr_store::StoreError;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// The time after which a worker that has not asked for work is forgotten.
pub(super) const AWAY: Duration = Duration::from_secs(600);
/// The time for which a worker counts as present after it asked for work.
const PRESENT: Duration = Duration::from_secs(60);
/// The time for which a worker gets no work after a failed attempt. It doubles with each further failure without a
/// digest in between.
const REST: Duration = Duration::from_secs(1);
/// The greatest number of these doublings.
const DOUBLINGS: u32 = 5;
/// The time for which the server's own thread waits before it looks for free memory again.
const MEMORY: Duration = Duration::from_secs(10);
/// The time for which no jobs are lent while results cannot be written to the disk.
const DISK: Duration = Duration::from_secs(5);

/// The answer to a worker that asks for work.
pub(crate) enum Lent {
    Unit(Arc<Unit>),
    /// There is no work before this time, or before something changes.
    Until(Option<Instant>),
    /// The server stops.
    Ended,
}

/// A worker that asks for work.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) who: Arc<WorkerId>,
    /// The greatest number of jobs that one of the worker's runs serves.
    pub(crate) most: usize,
    /// The engines of the worker.
    pub(crate) engines: Kinds,
    /// The time for which the worker may be silent; unlimited for the server's own thread.
    pub(crate) lasts: Option<Duration>,
}

impl Asking {
    /// Returns whether the server's own thread asks.
    fn is_local(&self) -> bool {
        self.lasts.is_none()
    }
}

/// The state of a worker.
pub(super) struct WorkerState {
    /// The engines of the worker.
    engines: Kinds,
    seen: Instant,
    /// The number of failed attempts since the worker's last digest.
    failures: u32,
    /// The time until which the worker gets no work. It is never in the future for the server's own thread.
    rests: Instant,
}

impl WorkerState {
    fn new(asking: &Asking, now: Instant) -> Self {
        Self {
            engines: asking.engines,
            seen: now,
            failures: 0,
            rests: now,
        }
    }

    /// Returns whether the worker has these engines.
    pub(super) fn can(&self, needs: Kinds) -> bool {
        self.engines.include(needs)
    }

    /// Notes a failure. A worker elsewhere that only fails gets work less and less often.
    pub(super) fn note_failure(&mut self, now: Instant) {
        self.rests = now + REST * (1 << self.failures.min(DOUBLINGS));
        self.failures += 1;
    }

    pub(super) fn note_digest(&mut self) {
        self.failures = 0;
    }
}

/// The result of a look at the queue.
enum Next {
    Jobs(Vec<Work>),
    Until(Option<Instant>),
    Ended,
}

impl Jobs {
    /// Returns the next unit, if there is one now.
    pub(crate) fn lend(&self, asking: &Asking) -> Lent {
        loop {
            let jobs = match self.begin(asking) {
                Next::Ended => return Lent::Ended,
                Next::Until(at) => return Lent::Until(at),
                Next::Jobs(jobs) => jobs,
            };
            // Keys are looked up without the lock.
            if let Some((made, ids)) = self.unit(&asking.who, jobs) {
                let unit = Arc::new(made);
                let mut inner = self.lock();
                let (now, who) = (Instant::now(), asking.who.clone());
                if asking.is_local()
                    && let Err(error) = self.write_running(&inner, &ids)
                {
                    tracing::error!(%error, "digests wait for the disk");
                    inner.disk_rests = Some(now + DISK);
                    ids.iter().for_each(|id| self.requeue(&mut inner, id));
                    return Lent::Until(inner.disk_rests);
                }
                inner
                    .leases
                    .grant(unit.clone(), ids, who, now, asking.lasts);
                self.count(&inner);
                return Lent::Unit(unit);
            }
        }
    }

    /// Waits for the next unit, at most for `wait`.
    pub(crate) fn wait(&self, asking: &Asking, wait: Duration) -> Lent {
        let end = Instant::now() + wait;
        loop {
            let changes = self.lock().changes;
            let until = match self.lend(asking) {
                Lent::Until(until) => until,
                lent => return lent,
            };
            let inner = self.lock();
            let now = Instant::now();
            if now >= end {
                return Lent::Until(until);
            }
            if inner.changes == changes {
                let left = until.map_or(end, |until| until.min(end)) - now;
                drop(self.more.wait_timeout(inner, left));
            }
        }
    }

    fn begin(&self, asking: &Asking) -> Next {
        let mut inner = self.lock();
        let now = Instant::now();
        self.expire(&mut inner, now);
        if self.stopping.load(Ordering::Relaxed) {
            return Next::Ended;
        }
        let worker = inner
            .workers
            .entry(asking.who.clone())
            .or_insert_with(|| WorkerState::new(asking, now));
        worker.seen = now;
        worker.engines = asking.engines;
        if worker.rests > now && !asking.is_local() {
            return Next::Until(Some(worker.rests));
        }
        if !inner.unwritten.is_empty() {
            return Next::Until(Some(now + DISK));
        }
        let memory_rests = inner.memory_rests.filter(|_| asking.is_local());
        let rests = inner.disk_rests.into_iter().chain(memory_rests).max();
        if rests.is_some_and(|until| until > now) {
            return Next::Until(rests);
        }
        let retry_from = match self.retry(&mut inner, asking, now) {
            Ok(job) => return Next::Jobs(vec![job]),
            Err(from) => from,
        };
        let Some(first) = inner.queue.first(asking.engines).cloned() else {
            let ends = inner.leases.next();
            return Next::Until(retry_from.into_iter().chain(ends).min());
        };
        let mut most = self.together.most.min(asking.most.max(1));
        if asking.is_local() {
            most = self.fitting(&inner.entries, &first, most);
        }
        if most == 0 {
            inner.memory_rests = Some(now + MEMORY);
            return Next::Until(inner.memory_rests);
        }
        if let Some(until) = self.waits_until(&inner, &first, most, now) {
            return Next::Until(Some(until));
        }
        match inner.queue.pop(asking.engines) {
            Some(first) => Next::Jobs(self.take(&mut inner, first, most)),
            None => Next::Until(None),
        }
    }

    /// Returns the number of jobs, at most `most`, whose digests this process has the memory to make in one run with
    /// `first`. The number depends on the request and on the machine, never on the content of messages.
    fn fitting(&self, entries: &HashMap<Id, Entry>, first: &Item, most: usize) -> usize {
        let Some(entry) = entries.get(&first.id) else {
            return most;
        };
        let record = &entry.record;
        let engines = self.narrowed(record).engines();
        let batches = record.stride().count().div_ceil(self.slots);
        let fitting = self.room.recipients(engines, most, batches);
        if fitting == 0 {
            self.log_shortage(self.room.run(engines, batches), record.stride().count());
        }
        fitting
    }

    /// Logs that a digest waits for memory, at most once a minute.
    fn log_shortage(&self, needs: u64, messages: u64) {
        let mut logged = self
            .shortage_logged
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if logged.is_none_or(|at| at.elapsed() >= PRESENT) {
            *logged = Some(Instant::now());
            tracing::warn!(
                needs = in_words(needs),
                messages,
                "a digest waits for memory"
            );
        }
    }

    /// Returns a job whose last attempt failed, if this worker may have one, or the time from which it may have one.
    fn retry(
        &self,
        inner: &mut Inner,
        asking: &Asking,
        now: Instant,
    ) -> Result<Work, Option<Instant>> {
        let Inner {
            retries,
            workers,
            leases,
            queue,
            entries,
            ..
        } = &mut *inner;
        let busy: HashSet<&WorkerId> = leases.live().map(|lease| &*lease.who).collect();
        let is_there = |who: &WorkerId, worker: &WorkerState| {
            now.saturating_duration_since(worker.seen) < PRESENT || busy.contains(who)
        };
        let others = |item: &Item| {
            let needs = item.needs;
            workers
                .iter()
                .filter(move |(_, worker)| worker.can(needs))
                .filter(|(who, worker)| **who != asking.who && is_there(who, worker))
                .map(|(who, _)| &**who)
        };
        let can = |item: &Item| {
            asking.engines.include(item.needs)
                && (!asking.is_local() || self.fitting(entries, item, 1) > 0)
        };
        let retry = retries.take(&asking.who, can, others, now)?;
        queue.charge_for(retry.client, retry.item.cost);
        let id = retry.item.id;
        let taken = self.start(inner, &id).ok_or(None);
        self.count(inner);
        taken
    }

    /// Returns the time until which a digest waits for others that run together with it: until their number suffices,
    /// but at most for the configured time since the job was queued. Scans and fetches are too short to wait. The time
    /// depends on requests only, never on the content of messages.
    fn waits_until(
        &self,
        inner: &Inner,
        first: &Item,
        most: usize,
        now: Instant,
    ) -> Option<Instant> {
        let is_digest = |group: &Group| group.scheme != Scheme::TwoRounds.tag();
        let shares = first.group.as_ref().is_some_and(is_digest) && most > 1;
        let full = inner.queue.together(first) >= most;
        let until = inner.entries.get(&first.id)?.queued + self.together.wait;
        (shares && !full && until > now).then_some(until)
    }

    /// Takes a job and those that run together with it from the queue.
    fn take(&self, inner: &mut Inner, first: First, most: usize) -> Vec<Work> {
        let mates = inner.queue.batch_mates(&first, most);
        let mut all = Vec::new();
        for item in std::iter::once(first.item).chain(mates) {
            all.extend(self.start(inner, &item.id));
        }
        self.count(inner);
        all
    }

    /// Notes that a worker begins a job.
    fn start(&self, inner: &mut Inner, id: &Id) -> Option<Work> {
        let entry = inner.entries.get_mut(id)?;
        let record = JobRecord {
            state: State::Running,
            ..entry.record.clone()
        };
        entry.view.send_modify(|view| {
            (view.state, view.started) = (State::Running, Some(Instant::now()));
        });
        self.metrics
            .queue_wait(entry.queued.elapsed().as_secs_f64());
        inner.change(id, record.clone());
        Some(Work { id: *id, record })
    }

    /// Returns the unit of jobs that run together, and their ids. A job whose key is missing fails; if a key cannot be
    /// read, the attempt fails.
    fn unit(&self, who: &Arc<WorkerId>, jobs: Vec<Work>) -> Option<(Unit, Vec<Id>)> {
        let (mut ids, mut keys, mut first) = (Vec::new(), Vec::new(), None);
        let mut queries = Vec::new();
        for work in jobs {
            let scheme = self.narrowed(&work.record);
            let found = self.keys(&work.record, scheme);
            match found.and_then(|own| Ok((own, self.query(&work)?))) {
                Ok((own, query)) => {
                    ids.push(work.id);
                    keys.push(own);
                    queries.extend(query);
                    first.get_or_insert((work.record, scheme));
                }
                Err(ending) => {
                    tracing::warn!(?ending, "a digest failed");
                    self.end(&mut self.lock(), &work.id, who, ending);
                }
            }
        }
        let (record, scheme) = first?;
        let board = self.store.board();
        let unit = Unit {
            id: random_id(),
            board_id: board.board_id,
            history_id: self.store.history().id,
            sealing: self.sealing,
            payload_bytes: board.payload_bytes as usize,
            scheme,
            stride: record.stride(),
            bound: record.bound,
            indices_only: record.indices_only,
            seeds: self.seeds(scheme, keys.len()),
            queries,
            costs: self.costs,
            jobs: keys,
            lease: self.lease,
        };
        Some((unit, ids))
    }

    /// Returns the query of a fetch; `None` for another job.
    ///
    /// Errors: the failure of the job or of this attempt, if the query is missing or the store cannot be read.
    fn query(&self, work: &Work) -> Result<Option<Vec<u8>>, Ending> {
        if work.record.query.is_none() {
            return Ok(None);
        }
        let found = self.store.get(QUERIES, &work.id);
        match found.map_err(|error| Ending::Attempt(error.to_string()))? {
            Some(query) => Ok(Some(query)),
            None => Err(Ending::Final("the query is no longer stored".to_owned())),
        }
    }

    /// Returns the seeds of a unit's jobs: SophOMR serves all jobs with one placement, InstantOMR serves each with a
    /// placement of its own, and two rounds derive the seeds of pages from one secret.
    fn seeds(&self, scheme: Scheme, jobs: usize) -> Vec<Seed> {
        let mut seeds = Vec::new();
        for &engine in scheme.engines() {
            match engine {
                EngineKind::Sophomr => seeds.push(Seed {
                    engine,
                    seed: placement_seed(),
                }),
                EngineKind::Instantomr => seeds.extend((0..jobs).map(|_| Seed {
                    engine,
                    seed: placement_seed(),
                })),
                EngineKind::Rounds => seeds.push(Seed {
                    engine,
                    seed: self.pages.get(),
                }),
            }
        }
        seeds
    }

    /// Returns the keys of a job that a scheme needs. Other keys, which may take seconds to load, are left out.
    ///
    /// Errors: the failure of the job or of this attempt, if a key is missing or the store cannot be read.
    fn keys(&self, record: &JobRecord, scheme: Scheme) -> Result<Vec<KeyRef>, Ending> {
        let mut keys = Vec::new();
        for &hash in &record.keys {
            let gone = || Ending::Final(StoreError::NoKey(hash).to_string());
            let key = self.keys.key(&hash).ok_or_else(gone)?;
            let bytes = self
                .store
                .key_bytes(hash)
                .map_err(|error| Ending::Attempt(error.to_string()))?
                .ok_or_else(gone)?;
            if scheme.engines().contains(&key.kind) {
                let kind = key.kind;
                keys.push(KeyRef { hash, kind, bytes });
            }
        }
        Ok(keys)
    }

    /// Forgets workers that have not asked for work for long, and leases that ended long ago.
    pub(super) fn tidy_workers(&self) {
        let mut inner = self.lock();
        let now = Instant::now();
        let busy: Vec<Arc<WorkerId>> = inner.leases.live().map(|lease| lease.who.clone()).collect();
        inner.workers.retain(|who, worker| {
            now.saturating_duration_since(worker.seen) < AWAY || busy.contains(who)
        });
        inner.leases.tidy(now);
    }
}

/// Returns a random id.
///
/// Panics: if the operating system has no randomness.
fn random_id() -> Id {
    *placement_seed().first_chunk().expect("32 bytes")
}
