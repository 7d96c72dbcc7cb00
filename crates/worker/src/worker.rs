//! The life of a worker from its start to its end.

use crate::figures::Figures;
use crate::kept::Kept;
use crate::leases::{RemoteLeases, State, WorkerMemory};
use crate::supplies::Remote;
use crate::{Handshake, WorkerError};
use omr_cuda::{Cards, Choice};
use omr_detector::sophomr::TOGETHER;
use omr_memory::Memory;
use omr_protocol::{ClueKind, EngineKind, ParamSet};
use omr_remote::{Client, Endpoint, v1};
use omr_runner::{Needs, Pages, in_words, works_here};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// The time for which one request for work waits.
const WAIT: Duration = Duration::from_secs(20);

/// The settings of a worker.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server, with a token that includes the right `work`.
    pub endpoint: Endpoint,
    /// The worker's name in the server's log; random if there is none.
    pub name: Option<String>,
    /// The processor or the card that makes digests.
    pub on: Choice,
    /// Number of threads; 0 stands for all cores.
    pub threads: usize,
    /// Number of keys that stay in memory between units.
    pub keys: usize,
    /// Size in bytes of the cache of messages.
    pub messages_bytes: usize,
    /// Size in bytes of the payloads that stay prepared for fetches.
    pub prepared_bytes: u64,
    /// Largest number of recipients of a run; 0 stands for the server's limit.
    pub together: u32,
    /// The engines of the worker; empty for all engines of the board's set.
    pub engines: Vec<EngineKind>,
    /// The figures that the worker updates.
    pub figures: Figures,
    /// The commit of this program, or empty if it is unknown. Servers of another commit refuse the worker.
    pub build: String,
}

/// A handle that ends a worker. The worker returns its unit to the server.
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

/// A worker that a server has accepted.
pub struct Worker {
    leases: RemoteLeases,
    supplies: Remote,
    settings: Settings,
    stop: Stop,
}

impl Worker {
    /// Asks the server for its capabilities, and checks that it accepts this worker.
    ///
    /// Errors: any `WorkerError` but `Threads` and `Died`.
    pub async fn connect(settings: Settings) -> Result<Self, WorkerError> {
        let client = Client::connect(&settings.endpoint)?;
        let Handshake {
            request: constant,
            set,
            clue_bytes,
        } = Handshake::with(&client, settings.name.clone(), &settings.build).await?;
        let request = with_engines(constant, &set, &settings.engines)?;
        let worker = request.worker.clone().unwrap_or_default();
        let (waiting, stopped) = watch::channel(false);
        let stop = Stop {
            waiting,
            working: Arc::default(),
        };
        let last_clue_bytes = Arc::new(AtomicUsize::new(clue_bytes));
        let handle = Handle::current();
        let supplies = Remote {
            client: client.clone(),
            handle: handle.clone(),
            worker,
            set: set.clone(),
            clue_bytes: last_clue_bytes.clone(),
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
            clue_bytes: last_clue_bytes,
            memory: None,
            state: Mutex::new(State::default()),
            figures: settings.figures.clone(),
        };
        Ok(Self {
            leases,
            supplies,
            settings,
            stop,
        })
    }

    /// Returns a handle that ends the worker.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Returns the board's parameter set.
    #[must_use]
    pub fn set(&self) -> &ParamSet {
        &self.leases.set
    }

    /// Runs units until the worker is stopped or the server refuses it.
    ///
    /// Errors: `Remote`, `Threads`, `Died`, `Memory`.
    pub async fn run(mut self) -> Result<(), WorkerError> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(self.settings.threads);
        let pool = builder.thread_name(|i| format!("digest-{i}")).build()?;
        let cards = Cards::new(self.settings.on)?;
        tracing::info!("{}", cards.summary());
        let mut pages_stay = true;
        if works_here(&cards) {
            let memory = self.memory(pool.current_num_threads())?;
            pages_stay = memory.pages_stay;
            self.leases.memory = Some(memory);
        }
        let pages = Pages::new(self.settings.prepared_bytes, pages_stay);
        let work = move || {
            let worker = omr_runner::Worker {
                leases: &self.leases,
                supplies: &self.supplies,
                set: &self.leases.set,
                cards: &cards,
                keys: self.settings.keys,
                pages: &pages,
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
    /// Returns the needs for memory that determine how many recipients a run may have.
    ///
    /// Errors: `Memory` if not even one fits the memory of the machine and its control groups.
    fn memory(&self, threads: usize) -> Result<WorkerMemory, WorkerError> {
        let settings = &self.settings;
        let tags = self.leases.request.engines.iter();
        let engines: Vec<EngineKind> = tags
            .filter_map(|&tag| EngineKind::from_tag(u8::try_from(tag).ok()?))
            .collect();
        let needs = Needs {
            set: self.leases.set.clone(),
            // Bound clues, which are the longer ones.
            clues: ClueKind::Bound,
            threads,
            keys: settings.keys,
        };
        let memory = Memory::now();
        let prepared = if engines.contains(&EngineKind::Rounds) {
            settings.prepared_bytes
        } else {
            0
        };
        let mut beside = memory.used.unwrap_or(0) + settings.messages_bytes as u64;
        let run = needs.run(&engines, 1, 1).max(prepared);
        let has = memory
            .limit
            .map_or(u64::MAX, |limit| limit.saturating_sub(beside));
        // Prepared payloads give way to a digest where there is no memory for both.
        let pages_stay = run.saturating_add(prepared) <= has;
        if pages_stay {
            beside += prepared;
        }
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
            pages_stay,
        })
    }
}

/// Adds to a request for work the engines of the worker, which must be engines of the set.
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
