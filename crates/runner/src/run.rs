//! How units are done, one run after another, on all cores.

use crate::keys::Keys;
use crate::{Failure, KeyError, Leased, Leases, Made, Supplies, Unit};
use omr_cuda::Cards;
use omr_detector::engine::Answer;
use omr_detector::engines::{Answers, Engines, Job, respond_together};
use omr_detector::{DetectorError, Progress, Strided, placement_seed};
use omr_errors::chain;
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, SEED_BYTES};
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Without work for so long, a worker gives back the memory that digests work in, some 2 GB.
pub const IDLE: Duration = Duration::from_secs(30);

/// What digests are made with.
pub struct Worker<'a> {
    /// Who hands out work.
    pub leases: &'a dyn Leases,
    /// Who gives what it needs.
    pub supplies: &'a dyn Supplies,
    /// The board's set.
    pub set: &'a ParamSet,
    /// Where digests are made.
    pub cards: &'a Cards,
    /// Keys kept in memory from one run to the next, of all kinds.
    pub keys: usize,
}

/// A job whose keys are in memory.
struct Ready {
    job: usize,
    engines: Engines,
}

type Outcome = Result<Made, Failure>;

impl Worker<'_> {
    /// Works until there is no more. Calls `rest` once whenever there was none for [`IDLE`] or for a whole wait.
    pub fn run(&self, pool: &rayon::ThreadPool, wait: Duration, rest: impl Fn()) {
        let mut keys = Keys::default();
        // Since when there is nothing to do, until it rests.
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

    /// Does a unit in one run, with keys that stay in memory. A job whose key cannot be read fails alone; what fails for
    /// several together is done for each alone, so that the others have their digests.
    pub fn serve(&self, pool: &rayon::ThreadPool, unit: &Unit, keys: &mut Keys) {
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
                    for (one, made) in ready.iter().zip(made) {
                        self.end(unit, one.job, made, keys);
                    }
                    return;
                }
                Err(_) => tracing::warn!(jobs = ready.len(), "each job of a run is done alone"),
            }
        }
        for one in &ready {
            let alone = std::slice::from_ref(one);
            let made = attempt(pool, || self.digests(unit, alone)?.remove(0));
            let made = self.or_on_processor(pool, unit, one.job, made);
            self.end(unit, one.job, made, keys);
        }
    }

    /// What was made, or where a card failed that nobody insists on, what the processor makes.
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

    /// Tells what became of a job.
    fn end(&self, unit: &Unit, job: usize, made: Outcome, keys: &mut Keys) {
        match made {
            Ok(made) => self.leases.complete(unit, job, made),
            Err(failure) => {
                if failure == Failure::Panicked {
                    *keys = Keys::default();
                }
                self.leases.fail(unit, job, failure);
            }
        }
    }

    /// The digests of jobs of a unit, in one run.
    fn digests(&self, unit: &Unit, ready: &[Ready]) -> Result<Vec<Outcome>, Failure> {
        let messages = unit.stride.count();
        let span = tracing::info_span!("digests", messages, jobs = ready.len());
        let _entered = span.enter();
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
        let progress = |one: &Ready| self.leases.progress(unit, one.job);
        let progress: Vec<Box<dyn Progress + Send>> = ready.iter().map(progress).collect();
        let watched = progress.iter().map(|one| &**one as &dyn Progress);
        let recipients = ready.iter().map(|one| &one.engines).zip(watched);
        let recipients: Vec<_> = recipients.collect();
        respond_together(&recipients, unit.scheme, job).map_err(Failure::of)
    }

    /// The engines of a job, with their keys.
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
            let key = keys.load(key, room, self.supplies, self.set, self.cards);
            engines.add(key.map_err(Failure::of_key)?);
        }
        Ok(engines)
    }
}

/// The seeds of a run, in the order in which its engines ask for them: that of its recipients.
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
        // One that the unit does not name is found out when the digest is taken.
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
            KeyError::Key(DetectionKeyError::Engine(error)) => Self::Card(error),
            error if error.may_pass() => Self::Unread(logged(&error)),
            error => Self::new(error),
        }
    }

    pub(crate) fn new(error: impl std::error::Error) -> Self {
        Self::Refused(logged(&error))
    }
}

/// What the client is told of an error; the log has its causes as well.
fn logged(error: &dyn std::error::Error) -> String {
    tracing::warn!(error = chain(error), "a digest failed");
    error.to_string()
}

/// Does a job's work on the pool; a panic ends that job alone and is logged.
pub(crate) fn attempt<T: Send>(
    pool: &rayon::ThreadPool,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let work = std::panic::AssertUnwindSafe(|| pool.install(work));
    // The log has the panic itself.
    std::panic::catch_unwind(work).unwrap_or(Err(Failure::Panicked))
}

#[cfg(test)]
mod tests;
