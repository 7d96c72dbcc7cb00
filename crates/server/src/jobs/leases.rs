//! Who does which unit, and until when. Time is told from outside.

use super::Id;
use omr_runner::{Unit, UnitId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a lease is remembered that ended: a late digest is taken where its job still wants one.
const PAST: Duration = Duration::from_secs(3600);

/// A worker: the token it came with, and the name that it gave itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct WorkerId {
    /// Empty for the server's own thread.
    pub(crate) account: String,
    pub(crate) worker: String,
}

/// Where a job of a unit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Open,
    /// Its digest was taken, which has this hash.
    Done([u8; 32]),
    Closed,
}

/// A unit that somebody does or did.
pub(super) struct Lease {
    pub(super) unit: Arc<Unit>,
    pub(super) who: Arc<WorkerId>,
    pub(super) granted: Instant,
    jobs: Vec<(Id, Slot)>,
    /// When it runs out; never where there is none.
    until: Option<Instant>,
    lasts: Option<Duration>,
    /// When it ran out or had no open job any more.
    ended: Option<Instant>,
}

/// Why a worker's word counts for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No unit of this name: the server was started anew, or it is long over.
    Unknown,
    /// Another worker's unit.
    Stranger,
    /// The lease ran out.
    RanOut,
    /// The unit has only so many jobs.
    Job(usize),
    /// The job's digest was taken, and it was another.
    Other,
}

impl Lease {
    /// A job and where it stands.
    pub(super) fn job(&self, place: usize) -> Result<(Id, Slot), Refusal> {
        let job = self.jobs.get(place).copied();
        job.ok_or(Refusal::Job(self.jobs.len()))
    }

    /// Places and ids of the jobs that are still to be done.
    pub(super) fn open(&self) -> impl Iterator<Item = (usize, Id)> {
        let all = self.jobs.iter().enumerate();
        all.filter(|(_, (_, slot))| *slot == Slot::Open)
            .map(|(place, (id, _))| (place, *id))
    }

    /// Jobs whose digests were taken.
    pub(super) fn done(&self) -> u64 {
        let done = |slot: &Slot| matches!(slot, Slot::Done(_));
        self.jobs.iter().filter(|(_, slot)| done(slot)).count() as u64
    }

    /// Whether its jobs are not this worker's any more.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }
}

/// All leases.
#[derive(Default)]
pub(super) struct Table {
    all: HashMap<UnitId, Lease>,
    /// Those that have not ended.
    live: HashSet<UnitId>,
}

impl Table {
    /// Gives a unit to a worker, for so long from each renewal on, or for ever.
    pub(super) fn grant(
        &mut self,
        (unit, jobs): (Arc<Unit>, Vec<Id>),
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

    /// A worker's lease, also one that ended.
    pub(super) fn of(&mut self, unit: &UnitId, who: &WorkerId) -> Result<&mut Lease, Refusal> {
        let lease = self.all.get_mut(unit).ok_or(Refusal::Unknown)?;
        if *lease.who == *who {
            Ok(lease)
        } else {
            Err(Refusal::Stranger)
        }
    }

    /// Lets a lease last anew.
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

    /// Ends the leases that ran out: their workers, and the jobs that go back.
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

    /// Says where an open job of a lease stands now; the lease ends with its last one.
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

    /// When the next lease runs out.
    pub(super) fn next(&self) -> Option<Instant> {
        let live = self.live().filter_map(|lease| lease.until);
        live.min()
    }

    /// Leases under way.
    pub(super) fn live(&self) -> impl Iterator<Item = &Lease> {
        self.live.iter().filter_map(|id| self.all.get(id))
    }

    /// Forgets what ended long ago.
    pub(super) fn tidy(&mut self, now: Instant) {
        let past = |at: Instant| now.saturating_duration_since(at) >= PAST;
        self.all.retain(|_, lease| !lease.ended.is_some_and(past));
    }
}

#[cfg(test)]
mod tests;
