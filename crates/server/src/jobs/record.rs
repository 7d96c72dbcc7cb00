//! The record of a job on the disk.

use crate::error::ServerError;
use crate::records;
pub(crate) use crate::records::Id;
use omr_protocol::{Scheme, Stride};
use omr_store::{Change, Store};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The name of the table of jobs.
pub(crate) const JOBS: &str = "jobs";
/// The name of the table of finished jobs' digests.
pub(crate) const DIGESTS: &str = "digests";

/// The name of the table of unfinished fetches' queries.
pub(crate) const QUERIES: &str = "queries";

/// The state of a job.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum State {
    #[default]
    Queued,
    /// A worker makes the digest. On the disk a job has this state only while the server's own thread makes its digest:
    /// if a start finds it, the server's process ended during that time.
    Running,
    Done,
    Failed,
    Cancelled,
}

/// Returns the id of the job that an account requested under a request id.
pub(crate) fn derived(account: &str, request_id: &[u8; 16]) -> Id {
    let mut hasher = blake3::Hasher::new_derive_key("omr server v1 request");
    hasher.update(request_id).update(account.as_bytes());
    let hash = hasher.finalize();
    *hash.as_bytes().first_chunk().expect("32 bytes")
}

impl State {
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// A client's request and its result. The default has no result yet.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobRecord {
    pub(crate) account: String,
    /// The client to which the job's seconds are charged. It is not stored, since it would show which jobs came from
    /// one address.
    #[serde(default, skip_serializing)]
    pub(crate) client: u64,
    pub(crate) keys: Vec<[u8; 32]>,
    /// The range of messages on the board.
    pub(crate) range: Range<u64>,
    /// The running hash of the log at the end of the range, which determines the history of the digest. `None` if it
    /// was lost.
    pub(crate) log_hash: Option<[u8; 32]>,
    /// The step between messages of the digest.
    #[serde(default = "every", skip_serializing_if = "is_every")]
    pub(crate) step: u64,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
    /// The tag of the scheme.
    pub(crate) scheme: u8,
    /// For a fetch, BLAKE3 of the query's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<[u8; 32]>,
    /// Whether the job was made for an order.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub(crate) ordered: bool,
    /// The number of the job, in the order of creation.
    pub(crate) number: u64,
    pub(crate) state: State,
    pub(crate) digest_bytes: u64,
    pub(crate) error: String,
    /// The number of failed attempts, including those before a restart. An attempt that ended with the server's process
    /// is counted by the next start.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) attempts: u32,
}

fn is_none(attempts: &u32) -> bool {
    *attempts == 0
}

fn every() -> u64 {
    1
}

fn is_unset(flag: &bool) -> bool {
    !flag
}

fn is_every(step: &u64) -> bool {
    *step == 1
}

impl JobRecord {
    /// Marks the job as failed.
    pub(crate) fn fail(&mut self, error: String) {
        self.state = State::Failed;
        self.error = error;
        self.digest_bytes = 0;
    }

    /// Returns the messages that the digest covers.
    pub(crate) fn stride(&self) -> Stride {
        Stride::new(self.range.clone(), self.step)
    }

    pub(crate) fn scheme(&self) -> Option<Scheme> {
        Scheme::from_tag(self.scheme)
    }

    /// Returns the name of the scheme, for metrics.
    pub(crate) fn scheme_name(&self) -> &'static str {
        self.scheme().map_or("unknown", Scheme::name)
    }

    /// Returns whether another record makes the same request.
    pub(crate) fn is_same_request(&self, other: &Self) -> bool {
        let asked = |of: &Self| {
            (
                of.account.clone(),
                of.keys.clone(),
                of.stride(),
                (of.bound, of.indices_only, of.scheme, of.query),
            )
        };
        asked(self) == asked(other)
    }

    pub(crate) fn change(&self, id: &Id) -> Change {
        records::put_json(JOBS, id, self)
    }
}

/// Returns the changes that delete a job, its query and its digest.
pub(crate) fn forget(id: &Id) -> [Change; 3] {
    records::forget([JOBS, QUERIES, DIGESTS], id)
}

/// Calls `take` with every job on the disk.
///
/// Errors: `Store`, `Record`.
pub(crate) fn each(store: &Store, take: impl FnMut(Id, JobRecord)) -> Result<(), ServerError> {
    records::each(store, JOBS, take)
}

/// Returns a job from the disk.
///
/// Errors: `Store`, `Record`.
pub(crate) fn get(store: &Store, id: &Id) -> Result<Option<JobRecord>, ServerError> {
    records::get(store, JOBS, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_does_not_show_which_jobs_came_from_one_address() {
        let client = 0x1234_5678_9abc;
        let record = JobRecord {
            account: String::new(),
            client,
            keys: vec![[7; 32]],
            range: 3..9,
            step: 1,
            bound: 5,
            indices_only: false,
            scheme: 1,
            number: 2,
            ..JobRecord::default()
        };
        let Change::Put { value, .. } = record.change(&[1; 16]) else {
            panic!("a record is put");
        };
        let text = String::from_utf8(value.clone()).unwrap();
        assert!(!text.contains("client") && !text.contains(&client.to_string()));
        let read: JobRecord = serde_json::from_slice(&value).unwrap();
        assert_eq!(
            read,
            JobRecord {
                client: 0,
                ..record
            }
        );
    }
}
