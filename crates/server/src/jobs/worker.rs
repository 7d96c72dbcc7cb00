//! The thread that makes digests, one after another, on all cores.

use super::{Jobs, View, Work};
use crate::causes::chain;
use crate::damage::Damage;
use crate::gate::Gate;
use crate::keyfile;
use crate::source::StoreSource;
use omr_detector::engine::{self, Answer, Loaded};
use omr_detector::engines::{Costs, Engines, Job};
use omr_detector::sophomr::BoardCache;
use omr_detector::{DetectorError, Progress, Strided, placement_seed};
use omr_ops::{FinishedDigest, Metrics};
use omr_protocol::{EngineKind, ParamSet, Request, Scheme, Sealing};
use omr_store::Store;
use std::collections::VecDeque;
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
    /// Keys kept in memory, of each kind.
    pub(crate) keys: usize,
}

/// Keys read lately, the latest last.
#[derive(Default)]
struct Keys(VecDeque<([u8; 32], Arc<dyn Loaded>)>);

impl Worker {
    /// Works until the jobs stop.
    pub(crate) fn run(self, pool: &rayon::ThreadPool) {
        let mut keys = Keys::default();
        while let Some(work) = self.jobs.next(IDLE, release) {
            let start = Instant::now();
            let attempt = attempt(pool, || self.digest(&work, &mut keys));
            let outcome = match attempt {
                Err(Failure::Stopped) if self.jobs.is_stopping() => return,
                Err(Failure::Stopped) => {
                    self.metrics.job_finished("cancelled");
                    continue;
                }
                Err(Failure::Refused(error)) => Err(error),
                Err(Failure::Panicked) => {
                    keys = Keys::default();
                    Err("internal error of the detector; please report it".to_owned())
                }
                Ok(digest) => Ok(digest),
            };
            let name = if outcome.is_ok() { "done" } else { "failed" };
            self.metrics.job_finished(name);
            tracing::info!(
                outcome = name,
                seconds = start.elapsed().as_secs_f64(),
                "digest"
            );
            self.jobs.finish(&work, outcome);
        }
    }

    fn digest(&self, work: &Work, keys: &mut Keys) -> Result<Vec<u8>, Failure> {
        let span = tracing::info_span!("digest", messages = work.record.stride().count());
        let _entered = span.enter();
        let (scheme, engines) = self.engines(work, keys)?;
        let progress = JobProgress {
            view: &work.view,
            cancelled: &work.cancelled,
            jobs: &self.jobs,
            gate: &self.gate,
        };
        let start = Instant::now();
        let answer = self.answer(work, (scheme, &engines), &progress)?;
        let (scheme, seconds) = (work.record.scheme_name(), start.elapsed().as_secs_f64());
        self.metrics.digest(scheme, seconds);
        self.jobs.remember(FinishedDigest {
            scheme: scheme.into(),
            messages: work.record.stride().count(),
            seconds,
        });
        for &(stage, seconds) in answer.stages.seconds() {
            self.metrics.stage(stage, seconds);
        }
        answer.response.to_bytes(&self.set).map_err(Failure::new)
    }

    fn answer(
        &self,
        work: &Work,
        (scheme, engines): (Scheme, &Engines),
        progress: &JobProgress,
    ) -> Result<Answer, Failure> {
        let record = &work.record;
        let board = self.store.board();
        let payloads = !record.indices_only;
        let stride = record.stride();
        // Hardly anybody else asks for the same messages: its work is not kept, nor is its seed.
        let seed = |engine: EngineKind| match engine.shares_board() && !stride.has_gaps() {
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
        match engines.respond(scheme, job, progress) {
            Ok(answer) => Ok(answer),
            Err(DetectorError::Stopped) => Err(Failure::Stopped),
            Err(error) => Err(Failure::new(error)),
        }
    }

    /// The engines that a job's range goes to, with their keys, and the scheme of those. Others' keys, which may take
    /// seconds, are not loaded.
    fn engines(&self, work: &Work, keys: &mut Keys) -> Result<(Scheme, Engines), Failure> {
        let record = &work.record;
        let asked = record.scheme().unwrap_or(Scheme::Hybrid);
        let scheme = match self.set.sophomr() {
            Ok(params) => {
                let (slots, payloads) = (params.slots() as u64, !record.indices_only);
                self.costs.narrowed(asked, &record.range, slots, payloads)
            }
            Err(_) => asked,
        };
        let mut engines = Engines::default();
        for hash in &record.keys {
            let kind = keyfile::kind(&self.store, *hash, &self.set).map_err(Failure::new)?;
            if scheme.engines().contains(&kind) {
                engines.add(self.key(*hash, keys)?);
            }
        }
        Ok((scheme, engines))
    }

    fn key(&self, hash: [u8; 32], keys: &mut Keys) -> Result<Arc<dyn Loaded>, Failure> {
        if let Some(at) = keys.0.iter().position(|(known, _)| *known == hash)
            && let Some(entry) = keys.0.remove(at)
        {
            keys.0.push_back(entry.clone());
            return Ok(entry.1);
        }
        // Room first: two keys at full size are much memory.
        while keys.0.len() >= self.keys {
            keys.0.pop_front();
        }
        let engine = |kind| engine::on_cpu(&self.set, kind, Some(&self.cache));
        let loaded = keyfile::load(&self.store, hash, &self.set, engine).map_err(Failure::new)?;
        keys.0.push_back((hash, loaded.clone()));
        Ok(loaded)
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
