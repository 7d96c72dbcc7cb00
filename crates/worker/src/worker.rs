//! A worker from its start to its end.

use crate::kept::Kept;
use crate::leases::{RemoteLeases, State, WorkerMemory};
use crate::supplies::Remote;
use crate::{Hired, WorkerError};
use omr_cuda::{Cards, Choice};
use omr_detector::sophomr::TOGETHER;
use omr_memory::Memory;
use omr_protocol::{ClueKind, EngineKind, ParamSet};
use omr_remote::{Client, Endpoint, v1};
use omr_runner::{Needs, in_words, works_here};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// How long one request for work waits.
const WAIT: Duration = Duration::from_secs(20);

/// What a worker may use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server, with a token that has the right `work`.
    pub endpoint: Endpoint,
    /// What the server's log calls it; random where there is none.
    pub name: Option<String>,
    /// Where digests are made.
    pub on: Choice,
    /// Threads; all cores for 0.
    pub threads: usize,
    /// Keys kept in memory from one unit to the next.
    pub keys: usize,
    /// Bytes of messages kept in memory from one unit to the next.
    pub messages_bytes: usize,
    /// Recipients that one run serves at most; as many as the server puts together for 0.
    pub together: u32,
    /// What it makes digests with; none: all that the board's set has.
    pub engines: Vec<EngineKind>,
    /// The commit of this program, empty where it does not know: servers of another one refuse it.
    pub build: String,
}

/// Ends a worker: it gives back what it is at.
#[derive(Clone)]
pub struct Stop {
    waiting: watch::Sender<bool>,
    working: Arc<AtomicBool>,
}

impl Stop {
    /// Asks the worker to end.
    pub fn stop(&self) {
        self.working.store(true, Ordering::Relaxed);
        self.waiting.send_replace(true);
    }
}

/// A worker that knows its server.
pub struct Worker {
    leases: RemoteLeases,
    supplies: Remote,
    settings: Settings,
    stop: Stop,
}

impl Worker {
    /// Asks the server what it is, and whether this worker suits it.
    ///
    /// Errors: any `WorkerError` but `Threads` and `Died`.
    pub async fn connect(settings: Settings) -> Result<Self, WorkerError> {
        let client = Client::connect(&settings.endpoint)?;
        let Hired {
            request,
            set,
            clue_bytes,
        } = Hired::by(&client, settings.name.clone(), &settings.build).await?;
        let request = with_engines(request, &set, &settings.engines)?;
        let worker = request.worker.clone().unwrap_or_default();
        let (waiting, stopped) = watch::channel(false);
        let stop = Stop {
            waiting,
            working: Arc::default(),
        };
        let clue_bytes = Arc::new(AtomicUsize::new(clue_bytes));
        let handle = Handle::current();
        let supplies = Remote {
            client: client.clone(),
            handle: handle.clone(),
            worker,
            set: set.clone(),
            clue_bytes: clue_bytes.clone(),
            kept: Mutex::new(Kept::new(settings.messages_bytes)),
        };
        let leases = RemoteLeases {
            client,
            handle,
            request: v1::LeaseRequest {
                jobs: settings.together,
                ..request
            },
            set,
            stop: stopped,
            stopping: stop.working.clone(),
            clue_bytes,
            memory: None,
            state: Mutex::new(State::default()),
        };
        Ok(Self {
            leases,
            supplies,
            settings,
            stop,
        })
    }

    /// What ends it.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// The board's parameter set.
    #[must_use]
    pub fn set(&self) -> &ParamSet {
        &self.leases.set
    }

    /// Works until it is stopped, or the server refuses it.
    ///
    /// Errors: `Remote`, `Threads`, `Died`, `Memory`.
    pub async fn run(mut self) -> Result<(), WorkerError> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(self.settings.threads);
        let pool = builder.thread_name(|i| format!("digest-{i}")).build()?;
        let cards = Cards::new(self.settings.on)?;
        tracing::info!("{}", cards.told());
        if works_here(&cards) {
            self.leases.memory = Some(self.memory(pool.current_num_threads())?);
        }
        let work = move || {
            let worker = omr_runner::Worker {
                leases: &self.leases,
                supplies: &self.supplies,
                set: &self.leases.set,
                cards: &cards,
                keys: self.settings.keys,
            };
            worker.run(&pool, WAIT, || {
                let bytes = omr_detector::release_memory();
                tracing::debug!(bytes, "idle: memory is released");
            });
            let fault = self.leases.lock().fault();
            fault.map_or(Ok(()), |error| Err(WorkerError::Remote(error)))
        };
        let worked = tokio::task::spawn_blocking(work).await;
        worked.map_err(|_| WorkerError::Died)?
    }
}

impl Worker {
    /// What decides how many recipients a run may serve.
    ///
    /// Errors: `Memory` where not even one fits into what the machine and its control groups have.
    fn memory(&self, threads: usize) -> Result<WorkerMemory, WorkerError> {
        let settings = &self.settings;
        let tags = self.leases.request.engines.iter();
        let engines: Vec<EngineKind> = tags
            .filter_map(|&tag| EngineKind::from_tag(u8::try_from(tag).ok()?))
            .collect();
        let needs = Needs {
            set: self.leases.set.clone(),
            // Those are the longer ones.
            clues: ClueKind::Bound,
            threads,
            keys: settings.keys,
        };
        let memory = Memory::now();
        let beside = memory.used.unwrap_or(0) + settings.messages_bytes as u64;
        let run = needs.run(&engines, 1, 1);
        let has = memory
            .limit
            .map_or(u64::MAX, |limit| limit.saturating_sub(beside));
        if run > has {
            return Err(WorkerError::Memory {
                set: self.leases.set.name(),
                needed: in_words(run),
                has: in_words(has),
            });
        }
        let together = needs.recipients(&engines, TOGETHER, 1, has);
        tracing::info!(run = in_words(run), together, "memory");
        Ok(WorkerMemory {
            needs,
            engines,
            beside,
        })
    }
}

/// A request for work that some engines can do, of those that the set has.
///
/// Errors: `Engine`.
fn with_engines(
    request: v1::LeaseRequest,
    set: &ParamSet,
    engines: &[EngineKind],
) -> Result<v1::LeaseRequest, WorkerError> {
    let has = set.spec().engines();
    if let Some(&engine) = engines.iter().find(|engine| !has.contains(engine)) {
        return Err(WorkerError::Engine(engine, set.name()));
    }
    let tags = engines.iter().map(|engine| i32::from(engine.tag()));
    Ok(match engines {
        [] => request,
        _ => v1::LeaseRequest {
            engines: tags.collect(),
            ..request
        },
    })
}
