//! A server that is killed repeatedly at random moments.
//!
//! This shows that nothing is lost when a process ends. The system keeps written data, so that a missing sync is not
//! noticed. The tests `power` of the store and of mail replay power failures.

use super::work::Running;
use super::{Chaos, Kind, Outcome};
use crate::trials::TrialError;
use rand_core::Rng;
use std::time::{Duration, Instant};

/// The time from listening to the kill, in milliseconds.
const LIFE: std::ops::Range<u64> = 10..700;

pub(super) fn run(chaos: &Chaos) -> Result<Outcome, TrialError> {
    let place = chaos.place()?;
    let mut outcome = Outcome::new(Kind::Kills);
    let work = chaos.work(&place)?;
    let mut rng = work.rng(1000);
    let mut server = place.start()?;
    let running = Running::start(work, chaos.all())?;
    let mut recoveries = Vec::new();
    for _ in 0..chaos.kills {
        let life = LIFE.start + rng.next_u64() % (LIFE.end - LIFE.start);
        std::thread::sleep(Duration::from_millis(life));
        server.kill()?;
        let killed = Instant::now();
        server = place.start()?;
        recoveries.push(killed.elapsed().as_secs_f64());
    }
    outcome.figures.kills = chaos.kills.into();
    outcome.recoveries(recoveries);
    outcome.audit(running)?;
    outcome.end(server, &place)
}
