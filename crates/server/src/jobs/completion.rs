//! The ends of leased jobs.

use super::ended::Ended;
use super::leases::{Lease, Refusal, Slot, WorkerId};
use super::{Entry, Id, Inner, JobRecord, Jobs, State, View, WITHDRAWN};
use omr_ops::FinishedDigest;
use omr_runner::{Unit, UnitId};
use omr_store::StoreError;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tokio::sync::watch;

/// The number of attempts at a job whose workers fail or fall silent.
pub(crate) const ATTEMPTS: u32 = 3;

/// Returns the error of a job whose last attempt failed.
pub(super) fn exhausted(last: &str) -> String {
    format!("no digest in {ATTEMPTS} attempts; the last one: {last}")
}

/// The reason for which a worker has no digest for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The worker stops, or the job is not wanted. This does not count as a failure.
    GivenBack,
    /// This attempt failed.
    Attempt(String),
    /// No attempt can succeed.
    Final(String),
}

/// The progress of a worker with a job.
pub(crate) struct Step {
    pub(crate) job: usize,
    pub(crate) stage: Cow<'static, str>,
    pub(crate) done: u64,
    pub(crate) total: u64,
}

impl Jobs {
    /// Returns a worker's unit and the id of one of its jobs. The lease may have expired.
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

    /// Returns whether a worker has a live lease of a unit with this key.
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

    /// Returns the view that shows the progress of a job of the server's own unit, and the mark of cancellation.
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

    /// Renews a lease. Returns the places of the jobs that are still wanted.
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

    /// Stores a checked digest. `seconds` is the duration of its run, by default the time since the lease. Returns
    /// `false` if the digest is not wanted any more. Another call with the same digest succeeds, even after its lease
    /// expired.
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
        let messages = lease.unit.stride.count();
        let id = match lease.job(job)? {
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
            self.close(&mut inner, who, unit, job, Slot::Closed);
            return Ok(false);
        };
        let duration = seconds.unwrap_or(since);
        let outcome = match inner.entries.get(&id) {
            Some(entry) if self.is_withdrawn(&entry.record) => Err(WITHDRAWN.to_owned()),
            _ => Ok(digest),
        };
        let ended = self.finish(&mut inner, &id, outcome);
        let kept = ended.as_ref().is_some_and(Ended::is_done);
        if let Some(worker) = inner.workers.get_mut(who) {
            worker.note_digest();
        }
        self.close(
            &mut inner,
            who,
            unit,
            job,
            if kept { Slot::Done(hash) } else { Slot::Closed },
        );
        self.metrics.digest(scheme, duration);
        inner.remember(FinishedDigest {
            scheme: scheme.into(),
            messages,
            seconds: duration,
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

    /// Returns whether messages of a job were withdrawn since it was requested: its digest may contain those of two
    /// branches.
    fn is_withdrawn(&self, record: &JobRecord) -> bool {
        let end = record.range.end;
        let hash = self.store.hash_at(end).ok().flatten();
        record
            .log_hash
            .is_some_and(|then| self.store.len() < end || hash.is_some_and(|now| now != then))
    }

    /// Notes that a worker has no digest for a job.
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
        self.close(&mut inner, who, unit, job, Slot::Closed);
        let entry = inner.entries.get(&id);
        if entry.is_none_or(|entry| entry.record.state.is_final()) {
            self.metrics.job_finished("cancelled");
        } else if !ended {
            // An expired lease has returned the job already.
            self.end(&mut inner, &id, who, ending);
        }
        Ok(())
    }

    /// Returns the jobs of a unit that never reached its worker to the queue.
    pub(crate) fn give_back(&self, who: &WorkerId, unit: &Unit) {
        for job in 0..unit.jobs.len() {
            // The unit was leased just now, so there is no refusal.
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
        // The result is known and waits for the disk.
        if inner.unwritten.contains_key(id) {
            return;
        }
        match ending {
            Ending::GivenBack => {}
            Ending::Final(error) => return drop(self.finish(inner, id, Err(error))),
            Ending::Attempt(error) => {
                if let Some(worker) = inner.workers.get_mut(who) {
                    worker.note_failure(Instant::now());
                }
                entry.record.attempts += 1;
                entry.failed_by.push(who.clone());
                if entry.record.attempts >= ATTEMPTS {
                    return drop(self.finish(inner, id, Err(exhausted(&error))));
                }
            }
        }
        self.write_queued(inner, &[*id]);
        // If the server stops, the next start queues the job again.
        if !self.is_stopping() {
            self.requeue(inner, id);
        }
    }

    /// Writes that jobs are queued again, with their failed attempts. The count survives a restart of the server, so
    /// that a job that crashes its workers is not tried for ever.
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
            tracing::warn!(%error, "the attempts of jobs are not stored");
        }
    }

    /// Writes that the server's own thread begins some jobs, in one transaction. If the process ends meanwhile, this
    /// counts as a failed attempt of these jobs.
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

    /// Writes that the jobs of the server's own thread are queued again. The server ends in order, so this is not a
    /// failed attempt.
    pub(crate) fn let_go(&self) {
        let inner = self.lock();
        let local = inner.leases.live().filter(|lease| lease.is_local());
        let ids: Vec<Id> = local
            .flat_map(|lease| lease.open())
            .map(|(_, id)| id)
            .collect();
        self.write_queued(&inner, &ids);
    }

    /// Sets the state of a job of a lease, and counts the run with its last job.
    fn close(&self, inner: &mut Inner, who: &WorkerId, unit: &UnitId, job: usize, slot: Slot) {
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

    /// Returns the jobs of expired leases to the queue.
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

    /// Ends expired leases, even if no worker asks for work, and writes results that could not be written before.
    pub(crate) fn look(&self) {
        let mut inner = self.lock();
        self.expire(&mut inner, Instant::now());
        self.write_again(&mut inner);
    }
}

impl Lease {
    /// Returns whether the lease is that of the server's own thread.
    pub(super) fn is_local(&self) -> bool {
        self.who.account.is_empty()
    }
}

#[cfg(test)]
mod tests;
