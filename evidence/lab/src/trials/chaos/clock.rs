//! A wall clock that jumps by a year while the server runs and while it does not.

use super::work::Running;
use super::{Chaos, Kind, Outcome};
use crate::trials::TrialError;
use crate::trials::place::Place;
use rand_core::Rng;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The clocks of the server, relative to the true time.
const CLOCKS: [&str; 4] = ["+0", "+365d", "-365d", "+30d"];
/// Slightly fewer seconds than a year has.
const YEAR_SECONDS: u64 = 364 * 86_400;
/// The time between two jumps, in milliseconds.
const STEADY: std::ops::Range<u64> = 100..800;
/// One of this many jumps comes with a restart; half of the restarts are by `kill -9`.
const RESTART: u64 = 4;

/// Returns the path of libfaketime, if it is installed.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    let name = Path::new("faketime/libfaketimeMT.so.1");
    let in_lib = folders
        .filter_map(Result::ok)
        .map(|folder| folder.path().join(name));
    in_lib
        .chain([Path::new("/usr/lib").join(name)])
        .find(|path| path.exists())
}

/// A clock that the trial sets.
struct Clock(PathBuf);

impl Clock {
    fn set(&self, time: &str) -> Result<(), TrialError> {
        // The file is replaced by renaming, so that the server never reads half of it.
        let next = self.0.with_extension("next");
        std::fs::write(&next, time)
            .and_then(|()| std::fs::rename(&next, &self.0))
            .map_err(TrialError::io("setting the clock"))
    }
}

impl Clock {
    /// Checks that the server sees the set clock; otherwise the trial would test nothing.
    fn moves(&self, place: &Place) -> Result<Option<String>, TrialError> {
        let seen = || -> Result<u64, TrialError> {
            let page = place.page("/status.json")?;
            let status: serde_json::Value = serde_json::from_str(&page).unwrap_or_default();
            Ok(status["written_unix_seconds"].as_u64().unwrap_or(0))
        };
        let before = seen()?;
        self.set(CLOCKS[1])?;
        let moved = seen()?.saturating_sub(before);
        Ok((moved < YEAR_SECONDS)
            .then(|| format!("the server's clock moved by {moved} s, expected a year")))
    }
}

pub(super) fn run(chaos: &Chaos) -> Result<Outcome, TrialError> {
    let Some(library) = library() else {
        let why = "libfaketime is not installed: install Debian's package faketime";
        return Ok(Outcome::skipped(Kind::Clock, why));
    };
    let (place, clock) = faked(chaos, &library)?;
    let mut outcome = Outcome::new(Kind::Clock);
    let work = chaos.work(&place)?;
    let mut rng = work.rng(1000);
    let mut server = place.start()?;
    let running = Running::start(work, chaos.all())?;
    outcome.faults.extend(clock.moves(&place)?);
    let (start, mut recoveries) = (Instant::now(), Vec::new());
    while start.elapsed() < Duration::from_secs(chaos.seconds) {
        let pause = STEADY.start + rng.next_u64() % (STEADY.end - STEADY.start);
        std::thread::sleep(Duration::from_millis(pause));
        let time = CLOCKS[(rng.next_u64() % CLOCKS.len() as u64) as usize];
        match rng.next_u64() % (2 * RESTART) {
            0 => server.kill()?,
            1 => server.stop()?,
            _ => {
                clock.set(time)?;
                continue;
            }
        }
        outcome.figures.kills += 1;
        clock.set(time)?;
        let stopped = Instant::now();
        server = place.start()?;
        recoveries.push(stopped.elapsed().as_secs_f64());
    }
    outcome.recoveries(recoveries);
    outcome.audit(running)?;
    outcome.end(server, &place)
}

/// Starts a server that sees the set clock.
fn faked(chaos: &Chaos, library: &Path) -> Result<(Place, Clock), TrialError> {
    let mut place = chaos.place()?;
    let clock = Clock(place.path().join("clock"));
    clock.set(CLOCKS[0])?;
    let variable = |name: &str, value: &Path| (name.to_owned(), value.to_string_lossy().into());
    place.setup.environment = vec![
        variable("LD_PRELOAD", library),
        variable("FAKETIME_TIMESTAMP_FILE", &clock.0),
        variable("FAKETIME_NO_CACHE", Path::new("1")),
        variable("FAKETIME_DONT_FAKE_MONOTONIC", Path::new("1")),
        variable("DONT_FAKE_MONOTONIC", Path::new("1")),
    ];
    Ok((place, clock))
}
