//! A disk that another process keeps busy, and a server that is stopped now and then: posts are slow, none is lost,
//! and the server's memory stays bounded.

use super::work::Running;
use super::{Chaos, Kind, Outcome};
use crate::trials::TrialError;
use rand_core::Rng;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The times that the server is stopped, and runs, in milliseconds.
const STOPPED: std::ops::Range<u64> = 100..2000;
const RUNNING: std::ops::Range<u64> = 50..1000;
/// The memory limit of the server without its keys, in kB: queues of posts are bounded.
const MOST_KB: u64 = 1 << 20;
/// The bytes that the other process writes at a time.
const BLOCK: usize = 4 << 20;

/// A thread that keeps a disk busy until it is stopped.
struct Rival {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Rival {
    fn start(folder: &Path) -> Result<Self, TrialError> {
        let mut file = File::create(folder.join("rival")).map_err(TrialError::io("a file"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let block = vec![0x5a; BLOCK];
            while !stopped.load(Ordering::Relaxed) {
                let written = file
                    .rewind()
                    .and_then(|()| file.write_all(&block))
                    .and_then(|()| file.sync_all());
                if written.is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn signal(pid: u32, name: &str) -> Result<(), TrialError> {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    sent.map(drop)
        .map_err(TrialError::io("stopping the server for a while"))
}

pub(super) fn run(chaos: &Chaos) -> Result<Outcome, TrialError> {
    let place = chaos.place()?;
    let mut outcome = Outcome::new(Kind::SlowDisk);
    let mut work = chaos.work(&place)?;
    work.steady = true;
    let mut rng = work.rng(1000);
    let server = place.start()?;
    let running = Running::start(work, chaos.all())?;
    let rivals = [Rival::start(place.path())?, Rival::start(place.data())?];
    let start = Instant::now();
    let mut draw = |range: std::ops::Range<u64>| {
        Duration::from_millis(range.start + rng.next_u64() % (range.end - range.start))
    };
    while start.elapsed() < Duration::from_secs(chaos.seconds) {
        std::thread::sleep(draw(RUNNING));
        signal(server.pid(), "-STOP")?;
        std::thread::sleep(draw(STOPPED));
        signal(server.pid(), "-CONT")?;
    }
    drop(rivals);
    outcome.audit(running)?;
    let mut outcome = outcome.end(server, &place)?;
    let peak = outcome.figures.peak_kb;
    if peak > MOST_KB && chaos.site.params.starts_with("insecure-tiny") {
        outcome.fault(format!(
            "expected at most {MOST_KB} kB of memory, found {peak}"
        ));
    }
    Ok(outcome)
}
