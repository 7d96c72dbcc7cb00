//! Clients with bad intentions: every method fuzzed, everything in the wrong order, floods, silence. The server must
//! serve others meanwhile, blame nobody but them, stay within its memory, and release their resources.

mod canary;
mod crowd;
mod fuzz;
mod order;
mod raw;
mod seeds;
mod tally;
mod wire;

use crate::trials::chaos::people::People;
use crate::trials::chaos::work::runtime;
use crate::trials::place::{Place, open_files, status_kb};
use crate::trials::{ServerProcess, TrialError};
use canary::Canary;
use chacha20::ChaCha20Rng;
use clap::Args;
use rand_core::SeedableRng;
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tally::Tally;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// The parameter set of the trial, on which the service's bounds do not depend.
const PARAMS: &str = "insecure-tiny-hybrid-v4";
/// The number of clients of each kind.
const FUZZERS: u64 = 4;
const SCRIPTS: u64 = 2;
const RAW: u64 = 4;
const SLOW: usize = 50;
/// The memory that the server may use, in kB, in total and for each connection.
const ALLOWED_KB: u64 = 1 << 20;
const ALLOWED_EACH_KB: u64 = 64;
/// The number of connections that are not idle.
const OTHERS: u32 = 1000;
/// The longest time until the server releases everything.
const FAREWELL: Duration = Duration::from_secs(60);

/// A trial with hostile clients.
#[derive(Clone, Debug, Args)]
pub struct Hostile {
    /// Seconds that hostile clients try
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Idle connections held at once
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub connections: u32,
    /// Parent of the server's folder; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Seed of the trial's own randomness
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
}

/// The counts of the trial.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostileFigures {
    /// The number of attempts of each kind.
    pub attempts: BTreeMap<String, u64>,
    /// The number of answers by gRPC code or HTTP status.
    pub answers: BTreeMap<String, u64>,
    /// The number of idle connections that were open together at the end.
    pub connections: u64,
    /// The number of the canary's posts and reads.
    pub canary_calls: u64,
    /// The slowest of these, in milliseconds.
    pub canary_worst_ms: f64,
    /// The peak memory of the server, in kB.
    pub peak_kb: u64,
    /// The memory that the server may use, in kB.
    pub allowed_kb: u64,
    /// The number of files that the server had open at the start.
    pub files_before: u64,
    /// The number of files that the server had open after all clients had left.
    pub files_after: u64,
    /// The promises that did not hold; empty if all did.
    pub faults: Vec<String>,
}

impl Hostile {
    /// Runs the trial.
    ///
    /// Errors: `Io`, `Start`, `Remote` if it could not be completed.
    pub fn run(&self) -> Result<HostileFigures, TrialError> {
        allow_many_files();
        let place = self.place()?;
        let people = Arc::new(People::new(PARAMS, self.seed, place.path())?);
        // Its rights include that to request a backup.
        let token = place.token("hostile", &["post", "detect", "admin"])?;
        let server = place.start()?;
        let runtime = runtime()?;
        let url = place.url();
        let known = runtime.block_on(seeds::prepare(&url, &people, self.seed))?;
        let mut figures = HostileFigures {
            files_before: settled(&server, u64::MAX),
            allowed_kb: ALLOWED_KB + u64::from(self.connections) * ALLOWED_EACH_KB,
            ..HostileFigures::default()
        };
        let tally = Arc::new(Tally::new(place.address()));
        let canary_task = runtime.spawn(canary::run(tally.clone(), url, people, self.rng(0)));
        let attackers = self.attack(&runtime, &tally, Arc::new(known), &token);
        let idle = runtime.block_on(crowd::gather(&tally, self.connections.into()));
        std::thread::sleep(Duration::from_secs(self.seconds));
        figures.connections = tally.held();
        tally.end();
        let canary = runtime.block_on(canary_task);
        for attacker in attackers.into_iter().chain(idle) {
            attacker.abort();
        }
        figures.canary(canary.map_err(|error| error.to_string()), &tally);
        runtime.shutdown_timeout(Duration::from_secs(5));
        figures.end(server, &place, &tally)?;
        Ok(figures)
    }

    fn place(&self) -> Result<Place, TrialError> {
        let most = self.connections + OTHERS;
        let limits = format!(
            "connections = {most}\nall_connections = {}\nidle_seconds = 5",
            2 * most
        );
        Place::small(self.dir.as_deref(), PARAMS, &limits)
    }

    fn rng(&self, stream: u64) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        rng.set_stream(stream);
        rng
    }

    fn attack(
        &self,
        runtime: &Runtime,
        tally: &Arc<Tally>,
        known: Arc<seeds::Known>,
        token: &str,
    ) -> Vec<JoinHandle<()>> {
        let mut tasks = Vec::new();
        for i in 0..FUZZERS {
            let mut rng = self.rng(100 + i);
            let seeds = seeds::all(&known, &mut rng);
            let fuzz = fuzz::run(tally.clone(), seeds, token.to_owned(), rng);
            tasks.push(runtime.spawn(fuzz));
        }
        for i in 0..SCRIPTS {
            let scripts = order::run(tally.clone(), known.clone(), self.rng(200 + i));
            tasks.push(runtime.spawn(scripts));
        }
        tasks.push(runtime.spawn(order::hold(tally.clone(), known.clone())));
        for i in 0..RAW {
            tasks.push(runtime.spawn(raw::run(tally.clone(), self.rng(300 + i))));
        }
        for i in 0..SLOW {
            tasks.push(runtime.spawn(raw::slow(tally.clone(), i)));
        }
        tasks
    }
}

impl HostileFigures {
    fn canary(&mut self, found: Result<Result<Canary, TrialError>, String>, tally: &Tally) {
        match found {
            Ok(Ok(canary)) => {
                self.canary_calls = canary.calls;
                self.canary_worst_ms = canary.worst.as_secs_f64() * 1e3;
            }
            Ok(Err(error)) => tally.fault(format!("the canary: {error}")),
            Err(error) => tally.fault(format!("the canary died: {error}")),
        }
    }

    /// Checks the server after all clients have left.
    fn end(
        &mut self,
        server: ServerProcess,
        place: &Place,
        tally: &Tally,
    ) -> Result<(), TrialError> {
        self.files_after = settled(&server, self.files_before);
        self.peak_kb = status_kb(server.pid(), "VmHWM").unwrap_or(0);
        self.attempts = tally.attempts();
        self.answers = tally.answers();
        self.faults = tally.faults();
        if self.files_after > self.files_before + UNFINISHED {
            let (before, after) = (self.files_before, self.files_after);
            self.faults
                .push(format!("expected {before} open files, found {after}"));
        }
        if self.peak_kb > self.allowed_kb {
            let (most, found) = (self.allowed_kb, self.peak_kb);
            self.faults.push(format!(
                "expected at most {most} kB of memory, found {found}"
            ));
        }
        // A server that has ended cannot be stopped, which is a fault too.
        server.stop()?;
        self.faults.extend(place.alarms());
        self.faults.extend(place.verify()?);
        Ok(())
    }
}

/// Returns the number of the server's open files once they are at most `expected`, or no longer decrease.
fn settled(server: &ServerProcess, expected: u64) -> u64 {
    let start = Instant::now();
    let mut found = u64::MAX;
    loop {
        let now = open_files(server.pid()).unwrap_or(0) as u64;
        let steady = expected == u64::MAX && now == found;
        if steady || now <= expected && expected < u64::MAX || start.elapsed() > FAREWELL {
            return now;
        }
        found = now;
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// The number of files that unfinished uploads keep open; a leak at every attempt would be far larger.
const UNFINISHED: u64 = 16;

/// Requests the largest limit of open files from the system, because a connection is one.
fn allow_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If this fails there are fewer connections, which the figures show.
    let _ = setrlimit(Resource::Nofile, limit);
}
