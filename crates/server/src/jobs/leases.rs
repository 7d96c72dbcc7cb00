//! The leases of units: their workers and their times. The caller passes the present time.

use super::Id;
use omr_runner::{Unit, UnitId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time for which an ended lease is remembered. A late digest is accepted if its job still wants one.
const PAST: Duration = Duration::from_secs(3600);

/// A worker: the account of its token, and the name that it has chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct WorkerId {
    /// The account of the token; empty for the server's own thread.
    pub(crate) account: String,
    pub(crate) worker: String,
}

/// The state of a job in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Open,
    /// The digest was stored; this is its hash.
    Done([u8; 32]),
    Closed,
}

/// A unit that a worker makes or has made.
pub(super) struct Lease {
    pub(super) unit: Arc<Unit>,
    pub(super) who: Arc<WorkerId>,
    pub(super) granted: Instant,
    jobs: Vec<(Id, Slot)>,
    /// The time at which the lease expires; `None` for a lease without an end.
    until: Option<Instant>,
    lasts: Option<Duration>,
    /// The time at which the lease expired or its last job was closed.
    ended: Option<Instant>,
}

/// The reason for which a worker's call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The server does not know this unit: it was restarted, or the unit ended long ago.
    Unknown,
    /// The unit belongs to another worker.
    Stranger,
    /// The lease has expired.
    RanOut,
    /// The unit has only this number of jobs.
    Job(usize),
    /// Another digest of this job was stored before.
    Other,
}

impl Lease {
    /// Returns the id and the state of a job.
    pub(super) fn job(&self, place: usize) -> Result<(Id, Slot), Refusal> {
        self.jobs
            .get(place)
            .copied()
            .ok_or(Refusal::Job(self.jobs.len()))
    }

    /// Returns places and ids of the jobs that are still open.
    pub(super) fn open(&self) -> impl Iterator<Item = (usize, Id)> {
        let all = self.jobs.iter().enumerate();
        all.filter(|(_, (_, slot))| *slot == Slot::Open)
            .map(|(place, (id, _))| (place, *id))
    }

    /// Returns the number of jobs whose digests were stored.
    pub(super) fn done(&self) -> u64 {
        let done = |slot: &Slot| matches!(slot, Slot::Done(_));
        self.jobs.iter().filter(|(_, slot)| done(slot)).count() as u64
    }

    /// Returns whether the lease has ended, so that its open jobs belong to other workers.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }
}

/// All leases.
#[derive(Default)]
pub(super) struct Table {
    all: HashMap<UnitId, Lease>,
    /// The units whose leases have not ended.
    live: HashSet<UnitId>,
}

impl Table {
    /// Leases a unit to a worker. The lease expires `lasts` after its grant and each renewal, or never.
    pub(super) fn grant(
        &mut self,
        unit: Arc<Unit>,
        jobs: Vec<Id>,
        who: Arc<WorkerId>,
        now: Instant,
        lasts: Option<Duration>,
    ) {
        let lease = Lease {
            who,
            granted: now,
            jobs: jobs.into_iter().map(|id| (id, Slot::Open)).collect(),
            until: lasts.map(|lasts| now + lasts),
            lasts,
            ended: None,
            unit: unit.clone(),
        };
        self.live.insert(unit.id);
        self.all.insert(unit.id, lease);
    }

    /// Returns a worker's lease, which may have ended.
    pub(super) fn of(&mut self, unit: &UnitId, who: &WorkerId) -> Result<&mut Lease, Refusal> {
        let lease = self.all.get_mut(unit).ok_or(Refusal::Unknown)?;
        if *lease.who == *who {
            Ok(lease)
        } else {
            Err(Refusal::Stranger)
        }
    }

    /// Renews a lease.
    pub(super) fn renew(
        &mut self,
        unit: &UnitId,
        who: &WorkerId,
        now: Instant,
    ) -> Result<&Lease, Refusal> {
        let lease = self.of(unit, who)?;
        if lease.ended.is_some() || lease.until.is_some_and(|until| until <= now) {
            return Err(Refusal::RanOut);
        }
        lease.until = lease.lasts.map(|lasts| now + lasts);
        Ok(lease)
    }

    /// Ends the expired leases. Returns their workers and the jobs that were open.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<(Arc<WorkerId>, Vec<Id>)> {
        let ran_out = |id: &UnitId| {
            let until = self.all.get(id).and_then(|lease| lease.until);
            until.is_some_and(|until| until <= now)
        };
        let ids: Vec<UnitId> = self.live.extract_if(ran_out).collect();
        let mut ended = Vec::new();
        for id in ids {
            if let Some(lease) = self.all.get_mut(&id) {
                lease.ended = Some(now);
                ended.push((lease.who.clone(), lease.open().map(|(_, id)| id).collect()));
            }
        }
        ended
    }

    /// Sets the state of a job in a lease. The lease ends with its last open job.
    pub(super) fn close(&mut self, unit: &UnitId, place: usize, slot: Slot, now: Instant) {
        let Some(lease) = self.all.get_mut(unit) else {
            return;
        };
        if let Some(job) = lease.jobs.get_mut(place) {
            job.1 = slot;
        }
        if lease.open().next().is_none() {
            lease.ended.get_or_insert(now);
            self.live.remove(unit);
        }
    }

    /// Returns the time at which the next lease expires.
    pub(super) fn next(&self) -> Option<Instant> {
        self.live().filter_map(|lease| lease.until).min()
    }

    /// Returns the leases that have not ended.
    pub(super) fn live(&self) -> impl Iterator<Item = &Lease> {
        self.live.iter().filter_map(|id| self.all.get(id))
    }

    /// Forgets leases that ended long ago.
    pub(super) fn tidy(&mut self, now: Instant) {
        let past = |at: Instant| now.saturating_duration_since(at) >= PAST;
        self.all.retain(|_, lease| !lease.ended.is_some_and(past));
    }
}

#[cfg(test)]
mod tests;
