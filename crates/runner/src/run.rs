//! The loop that runs units, one after another, on all cores.

use crate::keys::Keys;
use crate::{Failure, KeyError, Leased, Leases, Made, Pages, Supplies, Unit};
use omr_cuda::Cards;
use omr_detector::engine::Answer;
use omr_detector::engines::{Answers, Engines, Job, respond_together};
use omr_detector::{DetectorError, Progress, Strided, placement_seed};
use omr_errors::chain;
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, SEED_BYTES, Scheme};
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Time without work after which a worker returns its working memory, some 2 GB, to the system.
pub const IDLE: Duration = Duration::from_secs(30);

/// A worker: the interfaces and settings with which it runs units.
pub struct Worker<'a> {
    /// The source of units.
    pub leases: &'a dyn Leases,
    /// The source of keys and messages.
    pub supplies: &'a dyn Supplies,
    /// The board's parameter set.
    pub set: &'a ParamSet,
    /// The processor or the card that makes digests.
    pub cards: &'a Cards,
    /// Number of keys that stay in memory between runs.
    pub keys: usize,
    /// The prepared payloads that stay in memory.
    pub pages: &'a Pages,
}

/// A job whose keys are in memory.
pub(crate) struct Ready {
    pub(crate) job: usize,
    pub(crate) engines: Engines,
}

pub(crate) type Outcome = Result<Made, Failure>;

impl Worker<'_> {
    /// Runs units until there are no more. Calls `rest` once whenever there was no work for [`IDLE`] or for a whole
    /// wait.
    pub fn run(&self, pool: &rayon::ThreadPool, wait: Duration, rest: impl Fn()) {
        let mut keys = Keys::default();
        // The beginning of the time without work, until `rest` is called.
        let mut idle = Some(Instant::now());
        loop {
            match self.leases.lease(wait) {
                Leased::Ended => return,
                Leased::Nothing => {
                    if idle.is_some_and(|since| since.elapsed() >= wait.min(IDLE)) {
                        idle = None;
                        rest();
                    }
                }
                Leased::Unit(unit) => {
                    self.serve(pool, &unit, &mut keys);
                    keys.keep(self.keys);
                    idle = Some(Instant::now());
                }
            }
        }
    }

    /// Runs a unit. Its keys stay in memory. If a job's key cannot be read, only this job fails. If a run for several
    /// jobs fails, each job is run alone, so that others have their digests.
    pub fn serve(&self, pool: &rayon::ThreadPool, unit: &Unit, keys: &mut Keys) {
        if unit.scheme != Scheme::TwoRounds {
            self.pages.give_way();
        }
        let needed = unit.jobs.iter().map(Vec::len).sum();
        let room = self.keys.max(needed);
        let mut ready = Vec::new();
        for job in 0..unit.jobs.len() {
            match attempt(pool, || self.engines(unit, job, keys, room)) {
                Ok(engines) => ready.push(Ready { job, engines }),
                Err(failure) => {
                    let made = self.or_on_processor(pool, unit, job, Err(failure));
                    self.end(unit, job, made, keys);
                }
            }
        }
        if ready.len() > 1 {
            match attempt(pool, || self.digests(unit, &ready)) {
                Ok(made) => {
                    for (one, outcome) in ready.iter().zip(made) {
                        self.end(unit, one.job, outcome, keys);
                    }
                    return;
                }
                Err(_) => tracing::warn!(jobs = ready.len(), "each job of a run is done alone"),
            }
        }
        for one in &ready {
            let alone = std::slice::from_ref(one);
            let made = attempt(pool, || self.digests(unit, alone)?.remove(0));
            let outcome = self.or_on_processor(pool, unit, one.job, made);
            self.end(unit, one.job, outcome, keys);
        }
    }

    /// Returns the outcome, or, if a card failed that the settings do not require, the outcome on the processor.
    fn or_on_processor(
        &self,
        pool: &rayon::ThreadPool,
        unit: &Unit,
        job: usize,
        made: Outcome,
    ) -> Outcome {
        let Err(Failure::Card(error)) = &made else {
            return made;
        };
        if self.cards.insists() {
            return made;
        }
        tracing::warn!(error, "a digest is made on the processor");
        let here = Worker {
            cards: &Cards::none(),
            ..*self
        };
        attempt(pool, || {
            let engines = here.engines(unit, job, &mut Keys::default(), here.keys)?;
            here.digests(unit, &[Ready { job, engines }])?.remove(0)
        })
    }

    /// Reports the outcome of a job.
    fn end(&self, unit: &Unit, job: usize, outcome: Outcome, keys: &mut Keys) {
        match outcome {
            Ok(made) => self.leases.complete(unit, job, made),
            Err(failure) => {
                if failure == Failure::Panicked {
                    *keys = Keys::default();
                }
                self.leases.fail(unit, job, failure);
            }
        }
    }

    /// Makes the digests of jobs of a unit, or answers their queries, in one run.
    fn digests(&self, unit: &Unit, ready: &[Ready]) -> Result<Vec<Outcome>, Failure> {
        let messages = unit.stride.count();
        let span = tracing::info_span!("digests", messages, jobs = ready.len());
        let _entered = span.enter();
        if !unit.queries.is_empty() {
            return self.fetched(unit, ready);
        }
        let start = Instant::now();
        let answers = self.answers(unit, ready)?;
        let seconds = start.elapsed().as_secs_f64();
        self.leases.ran(unit, &answers.stages);
        tracing::info!(seconds, "run");
        let digest = |answer: Result<Answer, DetectorError>| {
            let response = answer.map_err(Failure::of)?.response;
            let digest = response.to_bytes(self.set).map_err(Failure::new)?;
            Ok(Made { digest, seconds })
        };
        Ok(answers.answers.into_iter().map(digest).collect())
    }

    fn answers(&self, unit: &Unit, ready: &[Ready]) -> Result<Answers, Failure> {
        let mut all = self.supplies.messages(unit);
        let seeds = Seeds::new(unit, ready);
        let job = Job {
            source: &mut Strided::new(&mut *all, unit.stride),
            request: unit.request(),
            board_id: unit.board_id,
            sealing: unit.sealing,
            seed: &|engine| seeds.next(engine),
            costs: unit.costs,
        };
        let progress: Vec<Box<dyn Progress + Send>> = ready
            .iter()
            .map(|one| self.leases.progress(unit, one.job))
            .collect();
        let watched = progress.iter().map(|one| &**one as &dyn Progress);
        let recipients: Vec<_> = ready.iter().map(|one| &one.engines).zip(watched).collect();
        respond_together(&recipients, unit.scheme, job).map_err(Failure::of)
    }

    /// Loads the keys of a job.
    pub(crate) fn engines(
        &self,
        unit: &Unit,
        job: usize,
        keys: &mut Keys,
        room: usize,
    ) -> Result<Engines, Failure> {
        if self.leases.progress(unit, job).is_stopped() {
            return Err(Failure::Stopped);
        }
        let mut engines = Engines::default();
        for key in &unit.jobs[job] {
            let loaded = keys
                .load(key, room, self.supplies, self.set, self.cards)
                .map_err(Failure::of_key)?;
            engines.add(loaded);
        }
        Ok(engines)
    }
}

/// The seeds of a run, in the order in which its engines request them, which is that of its recipients.
struct Seeds<'a> {
    unit: &'a Unit,
    ready: &'a [Ready],
    asked: RefCell<HashMap<EngineKind, usize>>,
}

impl<'a> Seeds<'a> {
    fn new(unit: &'a Unit, ready: &'a [Ready]) -> Self {
        let asked = RefCell::default();
        Self { unit, ready, asked }
    }

    fn next(&self, engine: EngineKind) -> [u8; SEED_BYTES] {
        let mut asked = self.asked.borrow_mut();
        let number = asked.entry(engine).or_default();
        let job = self.ready.get(*number).map_or(0, |one| one.job);
        *number += 1;
        // A seed that the unit lacks is noticed when the digest is checked.
        self.unit.seed(engine, job).unwrap_or_else(placement_seed)
    }
}

impl Failure {
    pub(crate) fn of(error: DetectorError) -> Self {
        match error {
            DetectorError::Stopped => Self::Stopped,
            DetectorError::Engine { .. } => Self::Card(error.to_string()),
            error @ DetectorError::Source(_) => Self::Unread(logged(&error)),
            error => Self::new(error),
        }
    }

    pub(crate) fn of_key(error: KeyError) -> Self {
        match error {
            KeyError::Key(DetectionKeyError::Engine(failure)) => Self::Card(failure),
            error if error.may_pass() => Self::Unread(logged(&error)),
            error => Self::new(error),
        }
    }

    pub(crate) fn new(error: impl std::error::Error) -> Self {
        Self::Refused(logged(&error))
    }
}

/// Logs an error with its causes and returns its text for the client.
fn logged(error: &dyn std::error::Error) -> String {
    tracing::warn!(error = chain(error), "a digest failed");
    error.to_string()
}

/// Runs a job's work on the pool. A panic is logged and ends this job only.
pub(crate) fn attempt<T: Send>(
    pool: &rayon::ThreadPool,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let on_pool = std::panic::AssertUnwindSafe(|| pool.install(work));
    // The panic itself is logged by the panic hook.
    std::panic::catch_unwind(on_pool).unwrap_or(Err(Failure::Panicked))
}

#[cfg(test)]
mod tests;
