//! Finished jobs. Their records are on the disk, where clients find them; memory holds when each ended, so that it goes in
//! time.

use super::{Entry, Id, Inner, JobRecord, Jobs, Keep, View, record};
use crate::error::ServerError;
use crate::refuse;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tonic::Status;

/// Most jobs that one transaction forgets: nobody waits long for it.
const AT_ONCE: usize = 1024;

/// A job that ended: 32 bytes.
#[derive(Clone, Copy)]
struct Ended {
    /// By the monotonic clock, so that a clock that jumps forgets nothing; a restart counts anew.
    millis: u64,
    /// A job of the same id that was asked for later has another number.
    number: u64,
    id: Id,
}

/// When jobs ended, the oldest first.
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

    /// Those that ended longer ago than they are kept, the first of them.
    fn old(&mut self, ordered: bool, keep: Duration) -> Vec<Ended> {
        let now = self.since.elapsed();
        let is_old =
            |ended: &&Ended| now.saturating_sub(Duration::from_millis(ended.millis)) > keep;
        let all = self.of(ordered).iter();
        all.take_while(is_old).take(AT_ONCE).copied().collect()
    }

    /// Forgets the first ones.
    fn forget(&mut self, ordered: bool, count: usize) {
        let all = self.of(ordered);
        all.drain(..count);
        // What was much once need not stay.
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
    /// Forgets a job, whose record this is.
    pub(super) fn forget(&mut self, id: &Id, record: &JobRecord) -> Option<Entry> {
        self.tally.remove(id, record);
        self.entries.remove(id)
    }
}

impl Jobs {
    /// The record of a job, of a finished one from the disk.
    ///
    /// Errors: `Store`, `Record`.
    fn record(&self, inner: &Inner, id: &Id) -> Result<Option<JobRecord>, ServerError> {
        match inner.entries.get(id) {
            Some(entry) => Ok(Some(entry.record.clone())),
            None => record::get(&self.store, id),
        }
    }

    /// The same, as a call needs it.
    ///
    /// Errors: those of the store.
    pub(super) fn known(&self, inner: &Inner, id: &Id) -> Result<Option<JobRecord>, Status> {
        let record = self.record(inner, id);
        record.map_err(|error| match error {
            ServerError::Store(error) => refuse::store(&error),
            error => {
                tracing::error!(%error, "a job");
                Status::internal("the store failed; the server's log says why")
            }
        })
    }

    /// The record of an account's job.
    ///
    /// Errors: NOT_FOUND, those of the store.
    pub(super) fn own(&self, inner: &Inner, account: &str, id: &Id) -> Result<JobRecord, Status> {
        let record = self.known(inner, id)?;
        let record = record.filter(|record| record.account == account);
        record.ok_or_else(|| {
            Status::not_found("expected one of the caller's jobs, found none of this id")
        })
    }

    /// Forgets digests that were kept long enough, and workers that stay away.
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

    /// Forgets some jobs that ended long ago; says how many there were.
    fn forget_old(&self, ordered: bool) -> Result<usize, ServerError> {
        let mut inner = self.lock();
        let old = inner.finished.old(ordered, self.keep.of(ordered));
        let mut gone = Vec::new();
        for ended in &old {
            let record = self.record(&inner, &ended.id)?;
            // Others were cancelled meanwhile, and may have been asked for anew.
            let same = record.filter(|record| record.number == ended.number);
            gone.extend(same.map(|record| (ended.id, record)));
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
    /// What clients see of a job that nobody is at.
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
