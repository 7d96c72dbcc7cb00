//! The storage of a finished job's result, and its notification.

use super::{DIGESTS, Id, Inner, JobRecord, Jobs, Outcome, QUERIES, State, View};
use crate::records;
use std::sync::atomic::Ordering;
use tokio::sync::watch;

/// A job that ended. Its watchers are notified when this is dropped, after all counts are updated.
#[must_use]
pub(super) struct Ended {
    record: JobRecord,
    view: watch::Sender<View>,
}

impl Ended {
    /// Returns whether the digest is stored.
    pub(super) fn is_done(&self) -> bool {
        self.record.state == State::Done
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let record = &mut self.record;
        self.view.send_modify(|view| {
            view.state = record.state;
            view.digest_bytes = record.digest_bytes;
            view.error = std::mem::take(&mut record.error);
        });
    }
}

impl Jobs {
    /// Stores the result of a job. Watchers are notified when the returned value is dropped. A job that was cancelled
    /// meanwhile stays deleted. If the result cannot be written, it stays in memory, the job is shown as running, and
    /// [`Jobs::write_again`] tries again, so that a result that clients have seen is still there after a restart.
    pub(super) fn finish(&self, inner: &mut Inner, id: &Id, outcome: Outcome) -> Option<Ended> {
        let mut record = inner.entries.get(id)?.record.clone();
        let mut changes = Vec::new();
        match &outcome {
            Ok(digest) => {
                record.state = State::Done;
                record.digest_bytes = digest.len() as u64;
                changes.push(records::put(DIGESTS, id, digest.clone()));
            }
            Err(error) => record.fail(error.clone()),
        }
        changes.push(record.change(id));
        changes.extend(records::forget([QUERIES], id));
        // After another lease expired, the job may be in the queue, or another worker may be making its digest.
        inner.leave_line(id);
        if let Err(error) = self.write(&changes) {
            tracing::error!(%error, "the result of a job waits to be written");
            self.set_unwritten(inner, id, outcome);
            return None;
        }
        inner.unwritten.remove(id);
        self.metrics.job_finished(match record.state {
            State::Done => "done",
            _ => "failed",
        });
        inner.finished.push(*id, record.number, record.ordered);
        inner.change(id, record.clone());
        self.count(inner);
        let entry = inner.entries.get(id)?;
        entry.cancelled.store(true, Ordering::Relaxed);
        let ended = Ended {
            record,
            view: entry.view.clone(),
        };
        inner.entries.remove(id);
        Some(ended)
    }

    /// Keeps the result of a job in memory until it can be written.
    fn set_unwritten(&self, inner: &mut Inner, id: &Id, outcome: Outcome) {
        inner.unwritten.insert(*id, outcome);
        let Some(entry) = inner.entries.get(id) else {
            return;
        };
        entry.view.send_modify(|view| {
            view.state = State::Running;
            (view.stage, view.done, view.total) = ("waiting for the disk".into(), 0, 0);
        });
        let record = JobRecord {
            state: State::Running,
            ..entry.record.clone()
        };
        inner.change(id, record);
        self.count(inner);
    }

    /// Writes the results that could not be written before.
    pub(super) fn write_again(&self, inner: &mut Inner) {
        let ids: Vec<Id> = inner.unwritten.keys().copied().collect();
        for id in ids {
            let Some(outcome) = inner.unwritten.remove(&id) else {
                continue;
            };
            // The result of a cancelled job is dropped.
            if inner.entries.contains_key(&id) && self.finish(inner, &id, outcome).is_none() {
                // The other results would fail as well.
                return;
            }
            self.wake(inner);
        }
    }
}
