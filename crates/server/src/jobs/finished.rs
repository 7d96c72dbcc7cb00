//! Finished jobs. Their records are on the disk, where clients find them. Memory contains only the time at which each
//! job ended, for its deletion.

use super::{Entry, Id, Inner, JobRecord, Jobs, Keep, View, record};
use crate::error::ServerError;
use crate::refuse;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tonic::Status;

/// The greatest number of jobs that one transaction deletes, so that nobody waits long for it.
const AT_ONCE: usize = 1024;

/// A job that ended, in 32 bytes.
#[derive(Clone, Copy)]
struct Ended {
    /// The time by the monotonic clock, so that a jump of the wall clock deletes nothing early. A restart begins the
    /// time again.
    millis: u64,
    /// The number of the job. A later job with the same id has another number.
    number: u64,
    id: Id,
}

/// The jobs that ended, the oldest first.
pub(super) struct Finished {
    since: Instant,
    asked: VecDeque<Ended>,
    ordered: VecDeque<Ended>,
}

impl Default for Finished {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            asked: VecDeque::new(),
            ordered: VecDeque::new(),
        }
    }
}

impl Finished {
    fn of(&mut self, ordered: bool) -> &mut VecDeque<Ended> {
        if ordered {
            &mut self.ordered
        } else {
            &mut self.asked
        }
    }

    /// Notes that a job ended now.
    pub(super) fn push(&mut self, id: Id, number: u64, ordered: bool) {
        let millis = self.since.elapsed().as_millis() as u64;
        let ended = Ended { millis, number, id };
        self.of(ordered).push_back(ended);
    }

    /// Returns the first of the jobs that ended longer ago than `keep`.
    fn old(&mut self, ordered: bool, keep: Duration) -> Vec<Ended> {
        let now = self.since.elapsed();
        let is_old =
            |ended: &&Ended| now.saturating_sub(Duration::from_millis(ended.millis)) > keep;
        let all = self.of(ordered).iter();
        all.take_while(is_old).take(AT_ONCE).copied().collect()
    }

    /// Removes the first `count` jobs.
    fn forget(&mut self, ordered: bool, count: usize) {
        let all = self.of(ordered);
        all.drain(..count);
        // Memory of an earlier peak is returned.
        if all.len() < all.capacity() / 4 {
            all.shrink_to(2 * all.len());
        }
    }
}

impl Keep {
    fn of(self, ordered: bool) -> Duration {
        if ordered { self.ordered } else { self.asked }
    }
}

impl Inner {
    /// Removes a job with this record from memory.
    pub(super) fn forget(&mut self, id: &Id, record: &JobRecord) -> Option<Entry> {
        self.tally.remove(id, record);
        self.entries.remove(id)
    }
}

impl Jobs {
    /// Returns the record of a job: of a finished one from the disk.
    ///
    /// Errors: `Store`, `Record`.
    fn record(&self, inner: &Inner, id: &Id) -> Result<Option<JobRecord>, ServerError> {
        match inner.entries.get(id) {
            Some(entry) => Ok(Some(entry.record.clone())),
            None => record::get(&self.store, id),
        }
    }

    /// Returns the record of a job as [`Jobs::record`] does, with the status for a client as error.
    ///
    /// Errors: those of the store.
    pub(super) fn known(&self, inner: &Inner, id: &Id) -> Result<Option<JobRecord>, Status> {
        self.record(inner, id).map_err(|error| match error {
            ServerError::Store(error) => refuse::store(&error),
            error => {
                tracing::error!(%error, "a job");
                Status::internal("the store failed; see the server's log")
            }
        })
    }

    /// Returns the record of an account's job.
    ///
    /// Errors: NOT_FOUND, and those of the store.
    pub(super) fn own(&self, inner: &Inner, account: &str, id: &Id) -> Result<JobRecord, Status> {
        self.known(inner, id)?
            .filter(|record| record.account == account)
            .ok_or_else(|| {
                Status::not_found("expected one of the caller's jobs, found none of this id")
            })
    }

    /// Deletes digests after their time, and forgets workers that have not asked for work for long.
    pub(crate) fn tidy(&self) {
        self.tidy_workers();
        for ordered in [false, true] {
            loop {
                match self.forget_old(ordered) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "old digests stay");
                        break;
                    }
                }
            }
        }
    }

    /// Deletes some jobs that ended long ago, and returns their number.
    fn forget_old(&self, ordered: bool) -> Result<usize, ServerError> {
        let mut inner = self.lock();
        let old = inner.finished.old(ordered, self.keep.of(ordered));
        let mut gone = Vec::new();
        for ended in &old {
            // Other jobs were cancelled meanwhile, and may have been requested again.
            if let Some(record) = self.record(&inner, &ended.id)?
                && record.number == ended.number
            {
                gone.push((ended.id, record));
            }
        }
        let changes = gone.iter().flat_map(|(id, _)| record::forget(id));
        self.store.write(&changes.collect::<Vec<_>>())?;
        for (id, record) in &gone {
            drop(inner.forget(id, record));
        }
        inner.finished.forget(ordered, old.len());
        Ok(old.len())
    }
}

impl View {
    /// Returns the view of a job on which no worker works.
    pub(super) fn of(record: &JobRecord) -> Self {
        Self {
            state: record.state,
            scheme: record.scheme_name(),
            started: None,
            stage: "".into(),
            done: 0,
            total: 0,
            digest_bytes: record.digest_bytes,
            error: record.error.clone(),
            log_hash: record.log_hash,
        }
    }
}

#[cfg(test)]
mod tests;
