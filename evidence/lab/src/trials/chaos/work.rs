//! Clients that never rest: posts, digests, sessions and uploads, during a trial.

use super::digests::Digests;
use super::ledger::Ledger;
use super::people::{People, RECIPIENTS};
use crate::trials::TrialError;
use chacha20::ChaCha20Rng;
use omr_remote::{Client, Endpoint, Retry, Timeouts};
use rand_core::{Rng, SeedableRng};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// The time that a client tries without success.
const PATIENCE: Duration = Duration::from_secs(180);
/// The longest time until clients finish undisturbed.
const FAREWELL: Duration = Duration::from_secs(600);
/// The number of messages that sessions may be behind before posters wait: a cut must have room for the pertinent
/// messages.
const AHEAD: u64 = 1000;

/// The state that clients share.
pub(crate) struct Work {
    pub(crate) url: String,
    pub(crate) people: Arc<People>,
    pub(crate) ledger: Ledger,
    pub(crate) digests: Digests,
    /// True once clients begin nothing new.
    pub(crate) ending: AtomicBool,
    /// The length of the board once posting has ended.
    pub(crate) len: AtomicU64,
    /// The number of messages that are known to be on the board.
    pub(crate) posted: AtomicU64,
    /// The position up to which each recipient's session was cut.
    pub(crate) covered: [AtomicU64; RECIPIENTS],
    pub(crate) uploads: AtomicU64,
    pub(crate) resumed: AtomicU64,
    pub(crate) jobs: AtomicU64,
    /// The number of refusals that a trial expects: full, late.
    pub(crate) refused: AtomicU64,
    pub(crate) seed: u64,
    /// True if the server stays up: a call may be late or refused, but must not fail otherwise.
    pub(crate) steady: bool,
}

/// The clients of a trial.
#[derive(Clone, Copy)]
pub(crate) struct Crew {
    pub(crate) posters: usize,
    pub(crate) digests: bool,
    pub(crate) uploads: bool,
}

/// Running clients.
pub(crate) struct Running {
    pub(crate) work: Arc<Work>,
    runtime: Runtime,
    posters: Vec<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
}

impl Work {
    pub(crate) fn new(url: String, people: Arc<People>, seed: u64) -> Self {
        Self {
            url,
            people,
            ledger: Ledger::default(),
            digests: Digests::default(),
            ending: AtomicBool::new(false),
            len: AtomicU64::new(u64::MAX),
            posted: AtomicU64::new(0),
            covered: std::array::from_fn(|_| AtomicU64::new(u64::MAX)),
            uploads: AtomicU64::new(0),
            resumed: AtomicU64::new(0),
            jobs: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            seed,
            steady: false,
        }
    }

    /// Returns a client that tries for `total` without success.
    ///
    /// Errors: those of the client.
    pub(crate) fn client(&self, total: Duration) -> Result<Client, TrialError> {
        client(&self.url, total)
    }

    /// Returns a client that outlives any crash.
    ///
    /// Errors: those of the client.
    pub(crate) fn patient(&self) -> Result<Client, TrialError> {
        self.client(PATIENCE)
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// Returns whether sessions are too far behind for more posts.
    pub(crate) fn is_ahead(&self) -> bool {
        let covered = self.covered.iter().map(|c| c.load(Ordering::Relaxed));
        let posted = self.posted.load(Ordering::Relaxed);
        covered
            .min()
            .is_some_and(|last| posted.saturating_sub(last) > AHEAD)
    }

    /// Returns the generator of one client.
    pub(crate) fn rng(&self, client: u64) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        rng.set_stream(client + 1);
        rng
    }
}

/// Returns a runtime for clients.
///
/// Errors: `Io`.
pub(crate) fn runtime() -> Result<Runtime, TrialError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(TrialError::io("starting a runtime"))
}

/// Returns a client of a server on this machine.
///
/// Errors: those of the client.
pub(crate) fn client(url: &str, total: Duration) -> Result<Client, TrialError> {
    let endpoint = Endpoint {
        retry: Retry {
            first: Duration::from_millis(10),
            most: Duration::from_millis(200),
            total,
        },
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            call: Duration::from_secs(10),
            silence: Duration::from_secs(20),
        },
        ..Endpoint::new(url)
    };
    Ok(Client::connect(&endpoint)?)
}

/// Waits a random time.
pub(crate) async fn pause(rng: &mut ChaCha20Rng, millis: std::ops::Range<u64>) {
    let draw = millis.start + rng.next_u64() % (millis.end - millis.start);
    tokio::time::sleep(Duration::from_millis(draw)).await;
}

type Task = Pin<Box<dyn Future<Output = Result<(), TrialError>> + Send>>;

impl Running {
    /// Starts all clients.
    ///
    /// Errors: `Io`.
    pub(crate) fn start(work: Work, crew: Crew) -> Result<Self, TrialError> {
        let runtime = runtime()?;
        let work = Arc::new(work);
        let spawn = |name: &'static str, task: Task| {
            let work = work.clone();
            runtime.spawn(async move {
                if let Err(error) = task.await {
                    work.digests.fault(format!("{name}: {error}"));
                }
            })
        };
        let mut posters = Vec::new();
        for number in 0..crew.posters {
            let task = super::posters::run(work.clone(), number);
            posters.push(spawn("a poster", Box::pin(task)));
        }
        let mut others = Vec::new();
        if crew.digests {
            for owner in 0..RECIPIENTS {
                work.covered[owner].store(0, Ordering::Relaxed);
                let jobs = Box::pin(super::recipients::jobs(work.clone(), owner));
                others.push(spawn("a recipient's jobs", jobs));
                let session = Box::pin(super::recipients::session(work.clone(), owner));
                others.push(spawn("a recipient's session", session));
            }
        }
        if crew.uploads {
            let uploads = super::uploads::run(work.clone());
            others.push(spawn("an uploader", Box::pin(uploads)));
        }
        Ok(Self {
            work,
            runtime,
            posters,
            others,
        })
    }

    /// Returns a client for the main thread.
    ///
    /// Errors: those of the client.
    pub(crate) fn client(&self, total: Duration) -> Result<Client, TrialError> {
        // Connections belong to a runtime.
        let _inside = self.runtime.enter();
        self.work.client(total)
    }

    /// Runs a future among the clients.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Lets the clients finish their work, and returns the board at the end.
    ///
    /// Errors: those of the client.
    pub(crate) fn finish(
        &mut self,
    ) -> Result<(super::ledger::Copy, Vec<blake3::Hash>), TrialError> {
        self.work.ending.store(true, Ordering::Relaxed);
        let posters = std::mem::take(&mut self.posters);
        self.join(posters);
        let client = self.client(PATIENCE)?;
        let board = self.runtime.block_on(client.board())?;
        self.work.len.store(board.messages, Ordering::Relaxed);
        let others = std::mem::take(&mut self.others);
        self.join(others);
        let read = super::ledger::read(&client, 0..board.messages);
        self.runtime.block_on(read)
    }

    fn join(&self, tasks: Vec<JoinHandle<()>>) {
        let all = futures::future::join_all(tasks);
        let ended = self.runtime.block_on(async {
            // Inside the runtime, whose timer it uses.
            tokio::time::timeout(FAREWELL, all).await
        });
        match ended {
            Err(_) => self
                .work
                .digests
                .fault(format!("some clients did not finish within {FAREWELL:?}")),
            Ok(ended) => {
                for error in ended.into_iter().filter_map(Result::err) {
                    self.work.digests.fault(format!("a client died: {error}"));
                }
            }
        }
    }
}
