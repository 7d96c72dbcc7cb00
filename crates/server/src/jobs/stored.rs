//! The jobs of a stopped server.

use super::{Id, State, record};
use crate::error::ServerError;
use omr_store::Store;
use serde::Serialize;

/// A job as a stopped server left it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredJob {
    /// The id, in hexadecimal digits.
    pub id: String,
    /// `queued`; `running` if the server's process ended while it made the digest; `done` or `failed`.
    pub state: &'static str,
    /// The number of failed attempts, including one that ended with the process.
    pub attempts: u32,
    /// The name of the token of the client that requested it; empty for a client without one.
    pub token: String,
    /// The index of the first message of the digest.
    pub start: u64,
    /// The index after the last message of the digest.
    pub end: u64,
    /// The step between messages of the digest.
    pub step: u64,
    /// The greatest number of pertinent messages of the digest.
    pub bound: u32,
    /// The name of the scheme that makes the digest.
    pub scheme: &'static str,
    /// Whether the job was made for an order.
    pub ordered: bool,
    /// The reason for which there is no digest; empty unless the job failed.
    pub error: String,
}

impl StoredJob {
    /// Returns whether the next start puts the job into the queue.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        matches!(self.state, "queued" | "running")
    }
}

/// Returns the jobs of a stopped server in the order in which they were requested.
///
/// Errors: `Store`, `Record`.
pub fn stored_jobs(store: &Store) -> Result<Vec<StoredJob>, ServerError> {
    let mut all = Vec::new();
    record::each(store, |id, record| {
        let (state, begun) = match record.state {
            State::Queued => ("queued", 0),
            State::Running => ("running", 1),
            State::Done => ("done", 0),
            State::Failed => ("failed", 0),
            State::Cancelled => ("cancelled", 0),
        };
        let job = StoredJob {
            id: omr_protocol::hex(&id),
            state,
            attempts: record.attempts + begun,
            scheme: record.scheme_name(),
            token: record.account,
            start: record.range.start,
            end: record.range.end,
            step: record.step,
            bound: record.bound,
            ordered: record.ordered,
            error: record.error,
        };
        all.push((record.number, job));
    })?;
    all.sort_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, job)| job).collect())
}

/// Deletes jobs of a stopped server and their digests. Their clients then get NOT_FOUND for these ids.
///
/// Errors: `Store`.
pub fn drop_jobs(store: &Store, jobs: &[StoredJob]) -> Result<(), ServerError> {
    let id = |job: &StoredJob| -> Option<Id> {
        u128::from_str_radix(&job.id, 16)
            .ok()
            .map(u128::to_be_bytes)
    };
    let changes = jobs
        .iter()
        .filter_map(id)
        .flat_map(|id| record::forget(&id));
    Ok(store.write(&changes.collect::<Vec<_>>())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::{JobRecord, trial};
    use crate::records::test_store;

    #[test]
    fn jobs_of_a_stopped_server_are_listed_and_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let store = test_store(&dir);
        let states = [State::Queued, State::Running, State::Failed, State::Done];
        for (number, state) in states.into_iter().enumerate() {
            let record = JobRecord {
                state,
                number: number as u64,
                attempts: 1,
                ..trial::record("ann", 1)
            };
            // The order of the ids differs from that of the numbers.
            let id = trial::id(9 - number as u64);
            store.write(&[record.change(&id)]).unwrap();
        }
        let jobs = stored_jobs(&store).unwrap();
        let seen: Vec<_> = jobs.iter().map(|job| (job.state, job.attempts)).collect();
        let expected = [("queued", 1), ("running", 2), ("failed", 1), ("done", 1)];
        assert_eq!(seen, expected);
        let unfinished: Vec<bool> = jobs.iter().map(StoredJob::is_unfinished).collect();
        assert_eq!(unfinished, [true, true, false, false]);
        assert_eq!(
            (&*jobs[0].token, jobs[0].start, jobs[0].end),
            ("ann", 0, 10)
        );
        drop_jobs(&store, &jobs[1..2]).unwrap();
        let left = stored_jobs(&store).unwrap();
        assert_eq!(left, [jobs[0].clone(), jobs[2].clone(), jobs[3].clone()]);
    }
}
