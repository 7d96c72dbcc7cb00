//! What becomes of leased jobs.

use super::ended::Ended;
use super::leases::{Lease, Refusal, Slot, WorkerId};
use super::{Entry, Id, Inner, JobRecord, Jobs, State, View};
use omr_ops::FinishedDigest;
use omr_runner::{Unit, UnitId};
use omr_store::StoreError;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tokio::sync::watch;

/// How often a job is tried whose workers fail or fall silent.
pub(crate) const ATTEMPTS: u32 = 3;

/// Why a job failed after its last attempt.
pub(super) fn exhausted(last: &str) -> String {
    format!("no digest in {ATTEMPTS} attempts; the last one: {last}")
}

/// Why a worker has no digest for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It stops, or the job is not wanted: nobody is to blame.
    GivenBack,
    /// This attempt failed.
    Attempt(String),
    /// The job cannot be done.
    Final(String),
}

/// How far a worker is with a job.
pub(crate) struct Step {
    pub(crate) job: usize,
    pub(crate) stage: Cow<'static, str>,
    pub(crate) done: u64,
    pub(crate) total: u64,
}

impl Jobs {
    /// A worker's unit, also of a lease that ran out, with the id of one of its jobs.
    pub(crate) fn leased(
        &self,
        who: &WorkerId,
        unit: &UnitId,
        job: usize,
    ) -> Result<(Arc<Unit>, Id), Refusal> {
        let mut inner = self.lock();
        let lease = inner.leases.of(unit, who)?;
        let (id, _) = lease.job(job)?;
        Ok((lease.unit.clone(), id))
    }

    /// Whether a worker has a live lease of a unit with this key.
    pub(crate) fn may_read(&self, who: &WorkerId, key: &[u8; 32]) -> bool {
        let inner = self.lock();
        let mut own = inner.leases.live().filter(|lease| *lease.who == *who);
        own.any(|lease| {
            lease
                .unit
                .jobs
                .iter()
                .flatten()
                .any(|known| known.hash == *key)
        })
    }

    /// Where the progress of a job of the server's own unit goes, and what says that it is not wanted.
    pub(super) fn watched(
        &self,
        who: &WorkerId,
        unit: &UnitId,
        job: usize,
    ) -> Option<(watch::Sender<View>, Arc<AtomicBool>)> {
        let (_, id) = self.leased(who, unit, job).ok()?;
        let inner = self.lock();
        let entry = inner.entries.get(&id)?;
        Some((entry.view.clone(), entry.cancelled.clone()))
    }

    /// Lets a lease last anew; gives the places of the jobs that are still wanted.
    pub(crate) fn renew(
        &self,
        who: &WorkerId,
        unit: &UnitId,
        steps: Vec<Step>,
    ) -> Result<Vec<usize>, Refusal> {
        let mut inner = self.lock();
        let now = Instant::now();
        self.expire(&mut inner, now);
        let Inner {
            leases, entries, ..
        } = &mut *inner;
        let lease = leases.renew(unit, who, now)?;
        let wanted = |id: &Id| {
            entries
                .get(id)
                .filter(|entry| !entry.record.state.is_final())
        };
        for step in steps {
            if let Ok((id, Slot::Open)) = lease.job(step.job)
                && let Some(entry) = wanted(&id)
            {
                entry.view.send_modify(|view| {
                    (view.stage, view.done, view.total) = (step.stage, step.done, step.total);
                });
            }
        }
        let open = lease.open().filter(|(_, id)| wanted(id).is_some());
        Ok(open.map(|(place, _)| place).collect())
    }

    /// Takes a digest that was checked; `seconds` of its run, since the lease where nobody says. False: it is not wanted
    /// any more. The same digest once more is no error, also after its lease ran out.
    pub(crate) fn complete(
        &self,
        who: &WorkerId,
        unit: &UnitId,
        job: usize,
        digest: Vec<u8>,
        seconds: Option<f64>,
    ) -> Result<bool, Refusal> {
        let hash = *blake3::hash(&digest).as_bytes();
        let mut inner = self.lock();
        let lease = inner.leases.of(unit, who)?;
        let since = lease.granted.elapsed().as_secs_f64();
        let (messages, id) = (lease.unit.stride.count(), lease.job(job)?);
        let id = match id {
            (_, Slot::Done(known)) if known == hash => return Ok(true),
            (_, Slot::Done(_)) => return Err(Refusal::Other),
            (_, Slot::Closed) => return Ok(false),
            (id, Slot::Open) => id,
        };
        let wanted = inner
            .entries
            .get(&id)
            .filter(|entry| !entry.record.state.is_final());
        let Some(scheme) = wanted.map(|entry| entry.record.scheme_name()) else {
            self.metrics.job_finished("cancelled");
            self.close(&mut inner, (who, unit, job), Slot::Closed);
            return Ok(false);
        };
        let seconds = seconds.unwrap_or(since);
        let ended = self.finish(&mut inner, &id, Ok(digest));
        let kept = ended.as_ref().is_some_and(Ended::is_done);
        if let Some(hand) = inner.workers.get_mut(who) {
            hand.note_digest();
        }
        self.close(
            &mut inner,
            (who, unit, job),
            if kept { Slot::Done(hash) } else { Slot::Closed },
        );
        self.metrics.digest(scheme, seconds);
        inner.remember(FinishedDigest {
            scheme: scheme.into(),
            messages,
            seconds,
        });
        tracing::info!(
            worker = who.worker,
            token = who.account,
            unit = omr_protocol::hex(unit),
            job,
            "digest"
        );
        drop(ended);
        Ok(kept)
    }

    /// Hears that a worker has no digest for a job.
    pub(crate) fn fail(
        &self,
        who: &WorkerId,
        unit: &UnitId,
        job: usize,
        ending: Ending,
    ) -> Result<(), Refusal> {
        let mut inner = self.lock();
        let lease = inner.leases.of(unit, who)?;
        let (id, slot) = lease.job(job)?;
        let (ended, who) = (lease.has_ended(), &lease.who.clone());
        if slot != Slot::Open {
            return Ok(());
        }
        self.close(&mut inner, (who, unit, job), Slot::Closed);
        let entry = inner.entries.get(&id);
        if entry.is_none_or(|entry| entry.record.state.is_final()) {
            self.metrics.job_finished("cancelled");
        } else if !ended {
            // A lease that has run out has given the job back already.
            self.end(&mut inner, &id, who, ending);
        }
        Ok(())
    }

    /// Puts the jobs of a unit in line again that never reached its worker.
    pub(crate) fn give_back(&self, who: &WorkerId, unit: &Unit) {
        for job in 0..unit.jobs.len() {
            // It was leased just now.
            let _ = self.fail(who, &unit.id, job, Ending::GivenBack);
        }
    }

    pub(super) fn end(&self, inner: &mut Inner, id: &Id, who: &Arc<WorkerId>, ending: Ending) {
        tracing::info!(
            worker = who.worker,
            token = who.account,
            ?ending,
            "no digest"
        );
        let Some(entry) = inner.entries.get_mut(id) else {
            return;
        };
        // It has its end, which waits for the disk.
        if inner.unwritten.contains_key(id) {
            return;
        }
        match ending {
            Ending::GivenBack => {}
            Ending::Final(error) => return drop(self.finish(inner, id, Err(error))),
            Ending::Attempt(error) => {
                if let Some(hand) = inner.workers.get_mut(who) {
                    hand.note_failure(Instant::now());
                }
                entry.record.attempts += 1;
                entry.failed_by.push(who.clone());
                if entry.record.attempts >= ATTEMPTS {
                    return drop(self.finish(inner, id, Err(exhausted(&error))));
                }
            }
        }
        self.write_queued(inner, &[*id]);
        // The next start queues it again.
        if !self.is_stopping() {
            self.requeue(inner, id);
        }
    }

    /// Notes that jobs are in line again, with the attempts that failed: a job that ends its workers does not begin anew
    /// with every start of the server.
    fn write_queued(&self, inner: &Inner, ids: &[Id]) {
        let mut changes = Vec::new();
        for id in ids {
            if let Some(entry) = inner.entries.get(id) {
                let record = JobRecord {
                    state: State::Queued,
                    ..entry.record.clone()
                };
                changes.push(record.change(id));
            }
        }
        if let Err(error) = self.write(&changes) {
            tracing::warn!(%error, "how often jobs were tried is not kept");
        }
    }

    /// Notes that the server's own thread begins some jobs, in one transaction: what it is at when the process ends has
    /// had an attempt that failed.
    ///
    /// Errors: those of the store.
    pub(super) fn write_running(&self, inner: &Inner, ids: &[Id]) -> Result<(), StoreError> {
        let mut changes = Vec::new();
        for id in ids {
            if let Some(entry) = inner.entries.get(id) {
                let record = JobRecord {
                    state: State::Running,
                    ..entry.record.clone()
                };
                changes.push(record.change(id));
            }
        }
        self.write(&changes)
    }

    /// Notes that the jobs at which the server's own thread still is are in line again: the server ends, and none of them
    /// is to blame.
    pub(crate) fn let_go(&self) {
        let inner = self.lock();
        let local = inner.leases.live().filter(|lease| lease.is_local());
        let ids: Vec<Id> = local
            .flat_map(|lease| lease.open())
            .map(|(_, id)| id)
            .collect();
        self.write_queued(&inner, &ids);
    }

    /// Says where a job of a lease stands, and counts the run with its last one.
    fn close(&self, inner: &mut Inner, (who, unit, job): (&WorkerId, &UnitId, usize), slot: Slot) {
        let Ok(lease) = inner.leases.of(unit, who) else {
            return;
        };
        let ended = lease.has_ended();
        inner.leases.close(unit, job, slot, Instant::now());
        if let Ok(lease) = inner.leases.of(unit, who)
            && !ended
            && lease.has_ended()
            && lease.done() > 0
        {
            self.metrics.run(lease.done());
        }
        self.count(inner);
    }

    /// Puts the jobs of leases that ran out in line again.
    pub(super) fn expire(&self, inner: &mut Inner, now: Instant) {
        for (who, ids) in inner.leases.expire(now) {
            self.metrics.lease_expired();
            tracing::warn!(
                worker = who.worker,
                token = who.account,
                jobs = ids.len(),
                "a lease ran out"
            );
            for id in ids {
                let silent = "its worker fell silent".to_owned();
                let is_open = |entry: &Entry| !entry.record.state.is_final();
                if inner.entries.get(&id).is_some_and(is_open) {
                    self.end(inner, &id, &who, Ending::Attempt(silent));
                }
            }
            self.count(inner);
        }
    }

    /// Ends leases that ran out, where nobody asks for work meanwhile, and writes what became of jobs where that could not
    /// be written before.
    pub(crate) fn look(&self) {
        let mut inner = self.lock();
        self.expire(&mut inner, Instant::now());
        self.write_again(&mut inner);
    }
}

impl Lease {
    /// Whether the server's own thread does it.
    pub(super) fn is_local(&self) -> bool {
        self.who.account.is_empty()
    }
}

#[cfg(test)]
mod tests;
