//! A disk without space: posts are refused, reading continues, and posting continues once there is space again.

use super::ledger;
use super::work::{Crew, Running};
use super::{Chaos, Kind, Outcome};
use crate::trials::TrialError;
use crate::trials::place::Place;
use omr_remote::RemoteError;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The size of the disk, which has space for some posts.
const SIZE: &str = "size=64m";
/// The time for posts before the disk fills, and after there is space again.
const WHILE: Duration = Duration::from_secs(3);
/// The longest time until the server notices that there is space.
const PATIENCE: Duration = Duration::from_secs(60);
/// The number of attempts to unmount a file system that was in use.
const TRIES: u32 = 20;

/// A file system in memory, which is unmounted on drop.
struct Mounted(PathBuf);

impl Mounted {
    /// Mounts a file system; `None` if the system does not allow it.
    fn new(at: &Path) -> Result<Option<Self>, TrialError> {
        fs::create_dir_all(at).map_err(TrialError::io("creating the data folder"))?;
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", SIZE, "omr-trial"])
            .arg(at)
            .output();
        let mounted = mount.is_ok_and(|done| done.status.success());
        Ok(mounted.then(|| Self(at.to_owned())))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            let done = Command::new("umount").arg(&self.0).output();
            if done.is_ok_and(|done| done.status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

pub(super) fn run(chaos: &Chaos) -> Result<Outcome, TrialError> {
    let place = chaos.place()?;
    let Some(_disk) = Mounted::new(place.data())? else {
        let why = "a small file system cannot be mounted: run it as root";
        return Ok(Outcome::skipped(Kind::DiskFull, why));
    };
    let mut outcome = Outcome::new(Kind::DiskFull);
    let server = place.start()?;
    let crew = Crew {
        posters: chaos.clients.into(),
        digests: false,
        uploads: false,
    };
    let running = Running::start(chaos.work(&place)?, crew)?;
    std::thread::sleep(WHILE);
    let filler = fill(&place)?;
    refused(&running, &mut outcome)?;
    reads(&running, &mut outcome)?;
    fs::remove_file(filler).map_err(TrialError::io("removing the filler"))?;
    accepted(&running, &mut outcome);
    std::thread::sleep(WHILE);
    outcome.audit(running)?;
    outcome.end(server, &place)
}

/// Writes a file that takes all free space.
fn fill(place: &Place) -> Result<PathBuf, TrialError> {
    let path = place.data().join("filler");
    let mut file = File::create(&path).map_err(TrialError::io("creating the filler"))?;
    let mut block = vec![0; 1 << 20];
    while !block.is_empty() {
        // Smaller and smaller, until not even a page fits.
        if file.write_all(&block).is_err() {
            block.truncate(if block.len() > 4096 {
                block.len() / 2
            } else {
                0
            });
        }
    }
    Ok(path)
}

/// Posts until one is refused, as it should be.
fn refused(running: &Running, outcome: &mut Outcome) -> Result<(), TrialError> {
    let work = &running.work;
    let people = work.people.clone();
    let client = running.client(Duration::ZERO)?;
    let board = running.wait(client.board())?;
    let (senders, mut rng) = (people.senders(&board)?, work.rng(1000));
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let id = omr_remote::random_id();
        let messages = people.messages(&senders, &id, 40, &mut rng);
        work.ledger.intend(id, &messages);
        match running.wait(client.post_as(id, messages)) {
            Ok(range) => work.ledger.acknowledge(&id, range),
            Err(RemoteError::Exhausted(_, message)) => {
                if !message.contains("free some space") {
                    outcome.fault(format!("a full disk is reported as {message:?}"));
                }
                return Ok(());
            }
            Err(error) => {
                outcome.fault(format!("a full disk is reported as {error}"));
                return Ok(());
            }
        }
    }
    outcome.fault(format!("posts went on for {PATIENCE:?} on a full disk"));
    Ok(())
}

/// Checks that reading continues while the disk is full.
fn reads(running: &Running, outcome: &mut Outcome) -> Result<(), TrialError> {
    let client = running.client(Duration::ZERO)?;
    let read = running.wait(async {
        let len = client.board().await?.messages;
        let (copy, _) = ledger::read(&client, 0..len).await?;
        Ok::<_, TrialError>((len, copy.payloads.len() as u64))
    });
    match read {
        Ok((len, found)) if len == found => {}
        other => outcome.fault(format!("reading from a full disk gave {other:?}")),
    }
    Ok(())
}

/// Waits until clients' posts are accepted again.
fn accepted(running: &Running, outcome: &mut Outcome) {
    let start = Instant::now();
    let before = running.work.posted.load(Ordering::Relaxed);
    while running.work.posted.load(Ordering::Relaxed) == before {
        if start.elapsed() > PATIENCE {
            outcome.fault(format!("no post within {PATIENCE:?} of there being room"));
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    outcome.recoveries(vec![start.elapsed().as_secs_f64()]);
}
