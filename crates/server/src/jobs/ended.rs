//! What is kept of a job that ended, and who hears of it.

use super::{DIGESTS, Id, Inner, JobRecord, Jobs, State, View};
use crate::{records, refuse};
use std::sync::atomic::Ordering;
use tokio::sync::watch;

/// A job that ended. Whoever asked for it hears so when this is dropped: after everything that counts it.
#[must_use]
pub(super) struct Ended {
    record: JobRecord,
    view: watch::Sender<View>,
}

impl Ended {
    /// Whether its digest is kept.
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
    /// Keeps what became of a job. Whoever asked hears of it when the answer is dropped. A job that was cancelled
    /// meanwhile stays forgotten.
    pub(super) fn finish(
        &self,
        inner: &mut Inner,
        id: &Id,
        outcome: Result<Vec<u8>, String>,
    ) -> Option<Ended> {
        let mut record = inner.entries.get(id)?.record.clone();
        let mut changes = Vec::new();
        match outcome {
            Ok(digest) => {
                record.state = State::Done;
                record.digest_bytes = digest.len() as u64;
                changes.push(records::put(DIGESTS, id, digest));
            }
            Err(error) => {
                record.state = State::Failed;
                record.error = error;
            }
        }
        changes.push(record.change(id));
        let written = self.store.write(&changes);
        if let Err(error) = &written {
            // Kept in memory alone: the job fails now and begins anew after a restart.
            record.state = State::Failed;
            record.error = refuse::store(error).message().to_owned();
            record.digest_bytes = 0;
        }
        self.metrics.job_finished(match record.state {
            State::Done => "done",
            _ => "failed",
        });
        // Another lease may have run out, so that it is in line or somebody else is at it.
        inner.queue.remove(id);
        inner.finished.push(*id, record.number, record.ordered);
        inner.change(id, record.clone());
        self.count(inner);
        let entry = inner.entries.get(id)?;
        entry.cancelled.store(true, Ordering::Relaxed);
        let ended = Ended {
            record,
            view: entry.view.clone(),
        };
        if written.is_ok() {
            inner.entries.remove(id);
        }
        Some(ended)
    }
}
