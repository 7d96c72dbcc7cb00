//! The thread that makes digests, one run after another, on all cores.

use super::keys::Keys;
use super::{Jobs, View, Work};
use crate::causes::chain;
use crate::damage::Damage;
use crate::gate::Gate;
use crate::keyfile;
use crate::source::StoreSource;
use omr_detector::engine::Answer;
use omr_detector::engines::{Answers, Costs, Engines, Job, respond_together};
use omr_detector::sophomr::BoardCache;
use omr_detector::{DetectorError, Progress, Strided, placement_seed};
use omr_ops::{FinishedDigest, Metrics};
use omr_protocol::{EngineKind, ParamSet, Request, Sealing};
use omr_store::Store;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Without a job for so long, the server gives back the memory that digests work in, some 2 GB.
const IDLE: Duration = Duration::from_secs(30);

fn release() {
    let bytes = omr_detector::release_memory();
    tracing::debug!(bytes, "idle: memory is released");
}

/// What the thread works with.
pub(crate) struct Worker {
    pub(crate) store: Store,
    pub(crate) set: Arc<ParamSet>,
    pub(crate) sealing: Sealing,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) cache: Arc<BoardCache>,
    pub(crate) costs: Costs,
    pub(crate) gate: Arc<Gate>,
    pub(crate) metrics: Metrics,
    pub(crate) damage: Arc<Damage>,
    /// Keys kept in memory from one run to the next, of all kinds.
    pub(crate) keys: usize,
}

/// A job whose keys are in memory.
struct Ready {
    work: Work,
    engines: Engines,
}

impl Worker {
    /// Works until the jobs stop.
    pub(crate) fn run(self, pool: &rayon::ThreadPool) {
        let mut keys = Keys::default();
        while let Some(jobs) = self.jobs.next(IDLE, release) {
            self.serve(pool, jobs, &mut keys);
            keys.keep(self.keys);
        }
    }

    /// Does jobs in one run. One whose key cannot be read fails alone; what fails for several together is done for each
    /// alone, so that the others have their digests.
    fn serve(&self, pool: &rayon::ThreadPool, jobs: Vec<Work>, keys: &mut Keys) {
        let needed = jobs.iter().map(|work| work.record.keys.len()).sum();
        let room = self.keys.max(needed);
        let mut ready = Vec::new();
        for work in jobs {
            match attempt(pool, || self.engines(&work, keys, room)) {
                Ok(engines) => ready.push(Ready { work, engines }),
                Err(failure) => self.end(&work, Err(failure), keys),
            }
        }
        if ready.len() > 1 {
            match attempt(pool, || self.digests(&ready)) {
                Ok(made) => {
                    for (one, digest) in ready.iter().zip(made) {
                        self.end(&one.work, digest, keys);
                    }
                    return;
                }
                Err(_) => tracing::warn!(jobs = ready.len(), "each job of a run is done alone"),
            }
        }
        for one in &ready {
            let alone = std::slice::from_ref(one);
            let made = attempt(pool, || self.digests(alone)?.remove(0));
            self.end(&one.work, made, keys);
        }
    }

    /// Tells what became of a job.
    fn end(&self, work: &Work, made: Result<Vec<u8>, Failure>, keys: &mut Keys) {
        let outcome = match made {
            Err(Failure::Stopped) if self.jobs.is_stopping() => return,
            Err(Failure::Stopped) => return self.metrics.job_finished("cancelled"),
            // Others of its run went on.
            _ if work.cancelled.load(Ordering::Relaxed) => {
                return self.metrics.job_finished("cancelled");
            }
            Err(Failure::Refused(error)) => Err(error),
            Err(Failure::Panicked) => {
                *keys = Keys::default();
                Err("internal error of the detector; please report it".to_owned())
            }
            Ok(digest) => Ok(digest),
        };
        let name = if outcome.is_ok() { "done" } else { "failed" };
        self.metrics.job_finished(name);
        tracing::info!(outcome = name, "digest");
        self.jobs.finish(work, outcome);
    }

    /// The digests of jobs that ask for the same, in one run.
    fn digests(&self, ready: &[Ready]) -> Result<Vec<Result<Vec<u8>, Failure>>, Failure> {
        let messages = ready[0].work.record.stride().count();
        let span = tracing::info_span!("digests", messages, jobs = ready.len());
        let _entered = span.enter();
        let start = Instant::now();
        let answers = self.answers(ready)?;
        let seconds = start.elapsed().as_secs_f64();
        for &(stage, seconds) in answers.stages.seconds() {
            self.metrics.stage(stage, seconds);
        }
        let made = answers.answers.iter().filter(|answer| answer.is_ok());
        let recipients = made.count() as u64;
        if recipients > 0 {
            self.metrics.run(recipients);
        }
        tracing::info!(seconds, "run");
        let answers = ready.iter().zip(answers.answers);
        let digest = |(one, answer): (&Ready, Result<Answer, _>)| {
            self.digest(&one.work, answer.map_err(Failure::of)?, seconds)
        };
        Ok(answers.map(digest).collect())
    }

    /// The bytes of a digest that a run of so many seconds made.
    fn digest(&self, work: &Work, answer: Answer, seconds: f64) -> Result<Vec<u8>, Failure> {
        let scheme = work.record.scheme_name();
        self.metrics.digest(scheme, seconds);
        self.jobs.remember(FinishedDigest {
            scheme: scheme.into(),
            messages: work.record.stride().count(),
            seconds,
        });
        answer.response.to_bytes(&self.set).map_err(Failure::new)
    }

    fn answers(&self, ready: &[Ready]) -> Result<Answers, Failure> {
        let record = &ready[0].work.record;
        let board = self.store.board();
        let payloads = !record.indices_only;
        let stride = record.stride();
        // Hardly anybody else asks for the same messages: its work is not kept, nor is its seed. Nor is it where clues
        // are packed.
        let keeps = !stride.has_gaps() && !self.set.spec().opens_clues();
        let seed = |engine: EngineKind| match engine.shares_board() && keeps {
            true => {
                let (board, range) = (board.board_id, stride.range());
                self.cache.seed(board, range, placement_seed)
            }
            false => placement_seed(),
        };
        let mut all = StoreSource {
            store: &self.store,
            damage: &self.damage,
            params: self.set.clue(),
        };
        let job = Job {
            source: &mut Strided::new(&mut all, stride),
            request: Request::new(
                stride.range(),
                record.bound as usize,
                payloads.then_some(board.payload_bytes as usize),
            ),
            board_id: board.board_id,
            sealing: self.sealing,
            seed: &seed,
            costs: self.costs,
        };
        let progress: Vec<JobProgress> = ready.iter().map(|one| self.progress(one)).collect();
        let watched = progress.iter().map(|one| one as &dyn Progress);
        let recipients = ready.iter().map(|one| &one.engines).zip(watched);
        let recipients: Vec<_> = recipients.collect();
        respond_together(&recipients, self.jobs.narrowed(record), job).map_err(Failure::of)
    }

    fn progress<'a>(&'a self, one: &'a Ready) -> JobProgress<'a> {
        JobProgress {
            view: &one.work.view,
            cancelled: &one.work.cancelled,
            jobs: &self.jobs,
            gate: &self.gate,
        }
    }

    /// The engines that a job's range goes to, with their keys. Others' keys, which may take seconds, are not loaded.
    fn engines(&self, work: &Work, keys: &mut Keys, room: usize) -> Result<Engines, Failure> {
        if work.cancelled.load(Ordering::Relaxed) || self.jobs.is_stopping() {
            return Err(Failure::Stopped);
        }
        let scheme = self.jobs.narrowed(&work.record);
        let mut engines = Engines::default();
        for hash in &work.record.keys {
            let kind = keyfile::kind(&self.store, *hash, &self.set).map_err(Failure::new)?;
            if scheme.engines().contains(&kind) {
                let key = keys.load(*hash, room, &self.store, &self.set, &self.cache);
                engines.add(key.map_err(Failure::new)?);
            }
        }
        Ok(engines)
    }
}

/// Why there is no digest.
enum Failure {
    /// Cancelled, or the server stops.
    Stopped,
    /// What the client is told.
    Refused(String),
    /// A bug, which the log has.
    Panicked,
}

impl Failure {
    fn of(error: DetectorError) -> Self {
        match error {
            DetectorError::Stopped => Self::Stopped,
            error => Self::new(error),
        }
    }

    fn new(error: impl std::error::Error) -> Self {
        tracing::warn!(error = chain(&error), "a digest failed");
        Self::Refused(error.to_string())
    }
}

/// Does a job's work on the pool; a panic ends that job alone and is logged.
fn attempt<T: Send>(
    pool: &rayon::ThreadPool,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let work = std::panic::AssertUnwindSafe(|| pool.install(work));
    // The log has the panic itself.
    std::panic::catch_unwind(work).unwrap_or(Err(Failure::Panicked))
}

/// Tells watchers of a job how far it is, and lets urgent work go first.
struct JobProgress<'a> {
    view: &'a watch::Sender<View>,
    cancelled: &'a AtomicBool,
    jobs: &'a Jobs,
    gate: &'a Gate,
}

impl Progress for JobProgress<'_> {
    fn stage(&self, name: &'static str, total: u64) {
        self.view.send_modify(|view| {
            (view.stage, view.done, view.total) = (name, 0, total);
        });
    }

    fn advance(&self, steps: u64) {
        self.view.send_modify(|view| view.done += steps);
    }

    fn is_stopped(&self) -> bool {
        self.gate.let_urgent_work_go_first();
        self.cancelled.load(Ordering::Relaxed) || self.jobs.is_stopping()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_detector::MessageSource;
    use std::io::Write;
    use std::ops::Range;
    use std::sync::Mutex;

    /// A board that breaks.
    struct Broken;

    impl MessageSource for Broken {
        fn clue_bytes(&self) -> usize {
            9
        }

        fn clues(
            &mut self,
            range: Range<u64>,
        ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
            panic!("the clues of {range:?} are on the moon")
        }

        fn payloads(
            &mut self,
            _: Range<u64>,
        ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
            let cause = std::io::Error::other("the disk is on fire");
            Err(Box::new(DetectorError::Source(Box::new(cause))))
        }
    }

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_log_has_text_and_place_of_a_panic_and_the_cause_of_a_failure() {
        let log = Log::default();
        let to = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || to.clone());
        // Of the whole process: the panic happens on another thread.
        tracing::subscriber::set_global_default(subscriber.finish()).unwrap();
        omr_ops::log_panics();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        let line = line!() + 1;
        let clues = || Broken.clues(3..5).map_err(|_| Failure::Stopped);
        let ended = attempt(&pool, clues);
        assert!(matches!(ended, Err(Failure::Panicked)), "line {line}");
        let payloads = || {
            Broken
                .payloads(0..1)
                .map_err(|error| Failure::new(*error.downcast::<DetectorError>().unwrap()))
        };
        let failed = attempt(&pool, payloads);
        assert!(matches!(failed, Err(Failure::Refused(_))));
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        for expected in [
            "panicked: the clues of 3..5 are on the moon",
            "jobs/worker.rs:",
            "a digest failed",
            "the disk is on fire",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert_eq!(text.matches("on the moon").count(), 1, "told twice: {text}");
    }
}
