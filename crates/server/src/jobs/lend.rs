//! Which jobs a worker does next.

use super::leases::WorkerId;
use super::queue::{First, Item, Kinds};
use super::{Ending, Entry, Id, Inner, JobRecord, Jobs, State, Work};
use omr_detector::placement_seed;
use omr_protocol::{EngineKind, Scheme};
use omr_runner::{KeyRef, Seed, Unit, in_words};
use omr_store::StoreError;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How long a worker is remembered that does not come again.
pub(super) const AWAY: Duration = Duration::from_secs(600);
/// How long a worker counts as there that does not ask.
const PRESENT: Duration = Duration::from_secs(60);
/// How long a worker rests after a failed attempt; twice as long after each further one without a digest between.
const REST: Duration = Duration::from_secs(1);
/// The most by which that doubles.
const DOUBLINGS: u32 = 5;
/// How long the server's own thread waits before it looks whether there is more memory.
const MEMORY: Duration = Duration::from_secs(10);
/// How long nothing is lent while the disk does not take what comes of it.
const DISK: Duration = Duration::from_secs(5);

/// What there is for a worker.
pub(crate) enum Lent {
    Unit(Arc<Unit>),
    /// Nothing before then, or before something changes.
    Until(Option<Instant>),
    /// The server stops.
    Ended,
}

/// A worker that asks for work.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) who: Arc<WorkerId>,
    /// Jobs that one of its runs serves.
    pub(crate) most: usize,
    /// The engines that it has.
    pub(crate) engines: Kinds,
    /// How long it may be silent; the server's own thread for ever.
    pub(crate) lasts: Option<Duration>,
}

impl Asking {
    /// Whether the server's own thread asks.
    fn is_local(&self) -> bool {
        self.lasts.is_none()
    }
}

/// What is known of a worker.
pub(super) struct WorkerState {
    /// The engines that it has.
    engines: Kinds,
    seen: Instant,
    /// Attempts that failed since its last digest.
    failures: u32,
    /// Until when it has no work. Never in the future for the server's own thread.
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

    /// Whether it has some engines.
    pub(super) fn can(&self, needs: Kinds) -> bool {
        self.engines.include(needs)
    }

    /// A worker elsewhere that only fails has work less and less often.
    pub(super) fn note_failure(&mut self, now: Instant) {
        self.rests = now + REST * (1 << self.failures.min(DOUBLINGS));
        self.failures += 1;
    }

    pub(super) fn note_digest(&mut self) {
        self.failures = 0;
    }
}

/// What a look at the queue gives.
enum Next {
    Jobs(Vec<Work>),
    Until(Option<Instant>),
    Ended,
}

impl Jobs {
    /// The next unit, if there is one now.
    pub(crate) fn lend(&self, asking: &Asking) -> Lent {
        loop {
            let jobs = match self.begin(asking) {
                Next::Ended => return Lent::Ended,
                Next::Until(at) => return Lent::Until(at),
                Next::Jobs(jobs) => jobs,
            };
            // Keys are looked up without the lock.
            if let Some((unit, ids)) = self.unit(&asking.who, jobs) {
                let unit = Arc::new(unit);
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
                let leased = (unit.clone(), ids);
                inner.leases.grant(leased, who, now, asking.lasts);
                self.count(&inner);
                return Lent::Unit(unit);
            }
        }
    }

    /// Waits for the next unit, for so long at most.
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
        let most = self.together.most.min(asking.most.max(1));
        let most = if asking.is_local() {
            self.fitting(&inner.entries, &first, most)
        } else {
            most
        };
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

    /// For how many jobs, of `most` at most, this process has the memory to make digests in one run, one among them. It
    /// depends on what is asked for and on the machine, never on what messages hold.
    fn fitting(&self, entries: &HashMap<Id, Entry>, first: &Item, most: usize) -> usize {
        let Some(entry) = entries.get(&first.id) else {
            return most;
        };
        let record = &entry.record;
        let engines = self.narrowed(record).engines();
        let batches = record.stride().count().div_ceil(self.slots);
        let fitting = self.room.recipients(engines, most, batches);
        if fitting == 0 {
            self.tell_shortage(self.room.run(engines, batches), record.stride().count());
        }
        fitting
    }

    /// Logs that a digest waits for memory, once a minute at most.
    fn tell_shortage(&self, needs: u64, messages: u64) {
        let mut told = self
            .told_shortage
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|at| at.elapsed() >= PRESENT) {
            *told = Some(Instant::now());
            let needs = in_words(needs);
            tracing::warn!(needs, messages, "a digest waits for memory");
        }
    }

    /// A job whose last attempt failed, if a worker may have one; else from when on it may.
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
            let able = workers.iter().filter(move |(_, worker)| worker.can(needs));
            able.filter(|(who, worker)| **who != asking.who && is_there(who, worker))
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

    /// Until when a job waits for others that one run serves with it: until there are as many as one may serve, but no
    /// longer than configured since it came. Only those who ask decide how long, never what their messages hold.
    fn waits_until(
        &self,
        inner: &Inner,
        first: &Item,
        most: usize,
        now: Instant,
    ) -> Option<Instant> {
        let shares = first.group.is_some() && most > 1;
        let full = inner.queue.together(first) >= most;
        let until = inner.entries.get(&first.id)?.queued + self.together.wait;
        (shares && !full && until > now).then_some(until)
    }

    /// Takes a job and those that one run serves with it.
    fn take(&self, inner: &mut Inner, first: First, most: usize) -> Vec<Work> {
        let mates = inner.queue.batch_mates(&first, most);
        let mut all = Vec::new();
        for item in std::iter::once(first.item).chain(mates) {
            all.extend(self.start(inner, &item.id));
        }
        self.count(inner);
        all
    }

    /// Notes that somebody begins a job.
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

    /// The unit of jobs that one run serves, and their ids. A job fails whose key is none, and an attempt where the key
    /// cannot be read.
    fn unit(&self, who: &Arc<WorkerId>, jobs: Vec<Work>) -> Option<(Unit, Vec<Id>)> {
        let (mut ids, mut keys, mut record) = (Vec::new(), Vec::new(), None);
        for work in jobs {
            let scheme = self.narrowed(&work.record);
            match self.keys(&work.record, scheme) {
                Ok(own) => {
                    ids.push(work.id);
                    keys.push(own);
                    record.get_or_insert((work.record, scheme));
                }
                Err(ending) => {
                    tracing::warn!(?ending, "a digest failed");
                    self.end(&mut self.lock(), &work.id, who, ending);
                }
            }
        }
        let (record, scheme) = record?;
        let board = self.store.board();
        let unit = Unit {
            id: random_id(),
            board_id: board.board_id,
            sealing: self.sealing,
            payload_bytes: board.payload_bytes as usize,
            scheme,
            stride: record.stride(),
            bound: record.bound,
            indices_only: record.indices_only,
            seeds: seeds(scheme, keys.len()),
            costs: self.costs,
            jobs: keys,
            lease: self.lease,
        };
        Some((unit, ids))
    }

    /// The keys of a job that a scheme needs. Others, which may take seconds to load, are left out.
    ///
    /// Errors: what becomes of the job where a key is gone, or the store cannot be read.
    fn keys(&self, record: &JobRecord, scheme: Scheme) -> Result<Vec<KeyRef>, Ending> {
        let mut keys = Vec::new();
        for &hash in &record.keys {
            let gone = || Ending::Final(StoreError::NoKey(hash).to_string());
            let key = self.keys.key(&hash).ok_or_else(gone)?;
            let bytes = self.store.key_bytes(hash);
            let bytes = bytes.map_err(|error| Ending::Attempt(error.to_string()))?;
            let bytes = bytes.ok_or_else(gone)?;
            if scheme.engines().contains(&key.kind) {
                let kind = key.kind;
                keys.push(KeyRef { hash, kind, bytes });
            }
        }
        Ok(keys)
    }

    /// Forgets workers that stay away, and leases that ended long ago.
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

/// Returns the seeds of the placements of a unit's jobs: SophOMR serves all jobs with one placement, InstantOMR serves
/// each with a placement of its own.
fn seeds(scheme: Scheme, jobs: usize) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for &engine in scheme.engines() {
        let placements = match engine {
            EngineKind::Sophomr => 1,
            EngineKind::Instantomr => jobs,
        };
        for _ in 0..placements {
            let seed = placement_seed();
            seeds.push(Seed { engine, seed });
        }
    }
    seeds
}

/// Panics: when the operating system has no randomness.
fn random_id() -> Id {
    *placement_seed().first_chunk().expect("32 bytes")
}
