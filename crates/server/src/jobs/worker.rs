//! The thread that makes digests, one after another, on all cores.

use super::{Jobs, View, Work};
use crate::damage::Damage;
use crate::gate::Gate;
use crate::keyfile::{self, Loaded};
use crate::source::{StoreSource, placement_seed};
use omr_detector::hybrid::{Answer, Costs, Engines, Job};
use omr_detector::{BoardCache, Detector, DetectorError, Progress};
use omr_ops::{FinishedDigest, Metrics};
use omr_protocol::{ParamSet, Request, Sealing};
use omr_store::Store;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::sync::watch;

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
struct Keys(VecDeque<([u8; 32], Loaded)>);

impl Worker {
    /// Works until the jobs stop.
    pub(crate) fn run(self, pool: &rayon::ThreadPool) {
        let mut keys = Keys::default();
        while let Some(work) = self.jobs.next() {
            let start = Instant::now();
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                pool.install(|| self.digest(&work, &mut keys))
            }));
            let outcome = match caught {
                Ok(Err(Failure::Stopped)) if self.jobs.is_stopping() => return,
                Ok(Err(Failure::Stopped)) => {
                    self.metrics.job_finished("cancelled");
                    continue;
                }
                Ok(Err(Failure::Told(error))) => Err(error),
                Ok(Ok(digest)) => Ok(digest),
                Err(_) => {
                    keys = Keys::default();
                    Err("internal error of the detector; please report it".to_owned())
                }
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
        let span = tracing::info_span!(
            "digest",
            messages = work.record.range.end - work.record.range.start
        );
        let _entered = span.enter();
        let mut engines = Engines::default();
        for hash in &work.record.keys {
            match self.key(*hash, keys)? {
                Loaded::Bulk(detector) => engines.bulk = Some(detector),
                Loaded::Instant(detector) => engines.instant = Some(detector),
            }
        }
        let progress = JobProgress {
            view: &work.view,
            cancelled: &work.cancelled,
            jobs: &self.jobs,
            gate: &self.gate,
        };
        let start = Instant::now();
        let answer = self.answer(work, &engines, &progress)?;
        let (scheme, seconds) = (work.record.scheme_name(), start.elapsed().as_secs_f64());
        self.metrics.digest(scheme, seconds);
        self.jobs.remember(FinishedDigest {
            scheme: scheme.into(),
            messages: work.record.range.end - work.record.range.start,
            seconds,
        });
        for &(stage, seconds) in answer.stages.seconds() {
            self.metrics.stage(stage, seconds);
        }
        answer.response.to_bytes(&self.set).map_err(Failure::told)
    }

    fn answer(
        &self,
        work: &Work,
        engines: &Engines,
        progress: &JobProgress,
    ) -> Result<Answer, Failure> {
        let record = &work.record;
        let board = self.store.board();
        let payloads = !record.indices_only;
        let seeds = [
            self.cache
                .seed(board.board_id, record.range.clone(), placement_seed),
            placement_seed(),
        ];
        let job = Job {
            source: &mut StoreSource {
                store: &self.store,
                damage: &self.damage,
            },
            request: Request {
                range: record.range.clone(),
                bound: record.bound as usize,
                payload_bytes: payloads.then_some(board.payload_bytes as usize),
            },
            board_id: board.board_id,
            sealing: self.sealing,
            seeds,
            costs: self.costs,
        };
        let scheme = record.scheme().unwrap_or(engines.scheme(payloads));
        match engines.respond(scheme, job, progress) {
            Ok(answer) => Ok(answer),
            Err(DetectorError::Stopped) => Err(Failure::Stopped),
            Err(error) => Err(Failure::told(error)),
        }
    }

    fn key(&self, hash: [u8; 32], keys: &mut Keys) -> Result<Loaded, Failure> {
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
        let bulk = |key| {
            let detector = Detector::new(self.set.bulk()?.clone(), key);
            Ok(detector.with_cache(self.cache.clone()))
        };
        let loaded = keyfile::load(&self.store, hash, &self.set, bulk).map_err(Failure::told)?;
        keys.0.push_back((hash, loaded.clone()));
        Ok(loaded)
    }
}

/// Why there is no digest.
enum Failure {
    /// Cancelled, or the server stops.
    Stopped,
    /// What the client is told.
    Told(String),
}

impl Failure {
    fn told(error: impl std::error::Error) -> Self {
        Self::Told(error.to_string())
    }
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
