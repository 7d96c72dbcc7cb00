//! Units of work that are leased from the server.

use crate::figures::Figures;
use crate::unit::LeasedUnit;
use crate::watch::{JobProgress, Watch};
use omr_detector::sophomr::TOGETHER;
use omr_detector::{Progress, Stages};
use omr_memory::Memory;
use omr_protocol::{EngineKind, ParamSet};
use omr_remote::v1;
use omr_remote::{Client, RemoteError};
use omr_runner::{Failure, Leased, Leases, Made, Needs, Unit, room};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;

/// The time after which a worker without enough memory checks again.
const MEMORY: Duration = Duration::from_secs(10);

/// Number of renewals during a lease: two may be lost.
const RENEWALS: u32 = 3;

/// Leases of one server.
pub(crate) struct RemoteLeases {
    pub(crate) client: Client,
    pub(crate) handle: Handle,
    pub(crate) set: Arc<ParamSet>,
    /// The constant part of every request for work.
    pub(crate) request: v1::LeaseRequest,
    pub(crate) stop: Receiver<bool>,
    pub(crate) stopping: Arc<AtomicBool>,
    /// Length in bytes of a clue, as in the last unit.
    pub(crate) clue_bytes: Arc<AtomicUsize>,
    /// The memory that determines how many recipients a run may have; `None` if runs use a card's memory.
    pub(crate) memory: Option<WorkerMemory>,
    pub(crate) state: Mutex<State>,
    pub(crate) figures: Figures,
}

/// The needs of runs for this machine's memory.
pub(crate) struct WorkerMemory {
    pub(crate) needs: Needs,
    pub(crate) engines: Vec<EngineKind>,
    /// The bytes that the process uses without runs.
    pub(crate) beside: u64,
    /// Whether prepared payloads stay in memory while digests are made.
    pub(crate) pages_stay: bool,
}

impl WorkerMemory {
    /// Returns the number of recipients whose run fits the memory that is left now.
    fn recipients(&self) -> usize {
        let fitting = || {
            let bytes = room(Memory::now(), self.beside);
            self.needs.recipients(&self.engines, TOGETHER, 1, bytes)
        };
        match fitting() {
            0 => {
                omr_detector::release_memory();
                fitting()
            }
            recipients => recipients,
        }
    }
}

/// The state of the current unit.
#[derive(Default)]
pub(crate) struct State {
    unit: Option<(Arc<Watch>, JoinHandle<()>)>,
    /// The error with which the worker ends, unless it was stopped.
    fault: Option<RemoteError>,
}

impl State {
    pub(crate) fn fault(&mut self) -> Option<RemoteError> {
        self.fault.take()
    }

    /// Ends the renewals of the unit, which is done.
    fn end_unit(&mut self) {
        if let Some((_, renewing)) = self.unit.take() {
            renewing.abort();
        }
    }
}

impl RemoteLeases {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn worker(&self) -> v1::Worker {
        self.request.worker.clone().unwrap_or_default()
    }

    /// Asks for a unit until the worker stops; then returns `None`.
    fn ask(&self, wait: Duration) -> Option<Result<Option<v1::WorkUnit>, RemoteError>> {
        let fitting = self.memory.as_ref().map(WorkerMemory::recipients);
        let jobs = match (self.request.jobs, fitting) {
            (jobs, None) => jobs,
            (0, Some(recipients)) => recipients as u32,
            (jobs, Some(recipients)) => jobs.min(recipients as u32),
        };
        let request = v1::LeaseRequest {
            jobs,
            wait_seconds: wait.as_secs() as u32,
            ..self.request.clone()
        };
        let mut stop = self.stop.clone();
        let ask = async {
            if fitting == Some(0) {
                tracing::warn!(
                    "no work is taken for now: not even one digest fits into the memory that is left"
                );
                tokio::time::sleep(MEMORY).await;
                return Ok(None);
            }
            self.client.lease(&request).await
        };
        self.handle.block_on(async {
            tokio::select! {
                biased;
                _ = stop.wait_for(|stopped| *stopped) => None,
                asked = ask => Some(asked),
            }
        })
    }

    /// Begins a unit.
    fn begin(&self, leased: LeasedUnit) -> Unit {
        let LeasedUnit { unit, clue_bytes } = leased;
        self.clue_bytes.store(clue_bytes, Ordering::Relaxed);
        let watch = Arc::new(Watch::new(unit.jobs.len(), self.stopping.clone()));
        let request = v1::RenewRequest {
            worker: self.request.worker.clone(),
            unit_id: unit.id.to_vec().into(),
            progress: Vec::new(),
        };
        let renewing = renew(self.client.clone(), request, unit.lease, watch.clone());
        self.figures.work(true);
        let mut state = self.lock();
        state.unit = Some((watch, self.handle.spawn(renewing)));
        unit
    }
}

/// Renews a lease until the task is aborted or the server no longer knows the unit.
async fn renew(client: Client, request: v1::RenewRequest, lease: Duration, watch: Arc<Watch>) {
    loop {
        tokio::time::sleep(lease / RENEWALS).await;
        let renewal = v1::RenewRequest {
            progress: watch.progress(),
            ..request.clone()
        };
        match client.renew(&renewal).await {
            Ok(wanted) => watch.keep(&wanted),
            Err(error) if error.is_passing() => tracing::warn!(%error, "a lease is not renewed"),
            Err(error @ RemoteError::NotFound(..)) => {
                tracing::warn!(%error, "a unit is given up");
                return watch.keep(&[]);
            }
            Err(error) => {
                // A digest that is finished anyway may still be wanted.
                tracing::warn!(%error, "a lease is renewed no more");
                return;
            }
        }
    }
}

impl Leases for RemoteLeases {
    fn lease(&self, wait: Duration) -> Leased {
        self.lock().end_unit();
        self.figures.work(false);
        let fault = match self.ask(wait) {
            None => return Leased::Ended,
            Some(Ok(None)) => return Leased::Nothing,
            Some(Ok(Some(work))) => match LeasedUnit::parse(&work, &self.set) {
                Ok(leased) => return Leased::Unit(Box::new(self.begin(leased))),
                Err(error) => error,
            },
            Some(Err(error)) if error.is_passing() => {
                tracing::warn!(%error, "no work for now");
                return Leased::Nothing;
            }
            Some(Err(error)) => error,
        };
        self.lock().fault = Some(fault);
        Leased::Ended
    }

    fn progress<'a>(&'a self, _: &'a Unit, job: usize) -> Box<dyn Progress + Send + 'a> {
        let state = self.lock();
        let watch = match &state.unit {
            Some((watch, _)) => watch.clone(),
            // There is one while a unit is run.
            None => Arc::new(Watch::new(0, self.stopping.clone())),
        };
        Box::new(JobProgress { watch, job })
    }

    fn complete(&self, unit: &Unit, job: usize, made: Made) {
        let (worker, id) = (self.worker(), unit.id.to_vec().into());
        let brought = self.client.complete(&worker, &id, job as u32, made.digest);
        match self.handle.block_on(brought) {
            Ok(kept) => {
                self.figures.digest();
                tracing::info!(unit = omr_protocol::hex(&unit.id), job, kept, "digest");
            }
            Err(error) => tracing::warn!(%error, "a digest is not taken"),
        }
    }

    fn fail(&self, unit: &Unit, job: usize, failure: Failure) {
        let (given_back, error) = match failure {
            Failure::Stopped => (true, String::new()),
            Failure::Refused(error) | Failure::Unread(error) | Failure::Card(error) => {
                (false, error)
            }
            Failure::Panicked => (false, "internal error of the detector".to_owned()),
        };
        if !given_back {
            self.figures.failure();
        }
        let request = v1::FailRequest {
            worker: Some(self.worker()),
            unit_id: unit.id.to_vec().into(),
            job: job as u32,
            given_back,
            error,
        };
        if let Err(error) = self.handle.block_on(self.client.fail(&request)) {
            tracing::warn!(%error, "a job is not given back");
        }
    }

    fn ran(&self, unit: &Unit, stages: &Stages) {
        self.figures.run(stages.total());
        tracing::debug!(
            unit = omr_protocol::hex(&unit.id),
            seconds = stages.total(),
            "run"
        );
    }
}
