//! A job as it is kept on the disk.

use crate::error::ServerError;
use crate::records;
pub(crate) use crate::records::Id;
use omr_protocol::{Scheme, Stride};
use omr_store::{Change, Store};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Table of jobs.
pub(crate) const JOBS: &str = "jobs";
/// Table of the digests of finished jobs.
pub(crate) const DIGESTS: &str = "digests";

/// Where a job stands.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum State {
    #[default]
    Queued,
    /// Somebody is at it. On the disk only while the server's own thread is: a job that is found so after a start was
    /// being made when the server's process ended.
    Running,
    Done,
    Failed,
    Cancelled,
}

/// The id of what an account asked for under a request id.
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

/// What a client asked for, and what became of it: nothing yet by default.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobRecord {
    pub(crate) account: String,
    /// Whose turn it is; not kept, since it would tell which jobs came from one address.
    #[serde(default, skip_serializing)]
    pub(crate) client: u64,
    pub(crate) keys: Vec<[u8; 32]>,
    /// Of the board.
    pub(crate) range: Range<u64>,
    /// The running hash of the log at the end of the range: which history the digest is made of. None where it is lost.
    pub(crate) log_hash: Option<[u8; 32]>,
    /// Every so many-th of them.
    #[serde(default = "every", skip_serializing_if = "is_every")]
    pub(crate) step: u64,
    pub(crate) bound: u32,
    pub(crate) indices_only: bool,
    /// The scheme's tag.
    pub(crate) scheme: u8,
    /// Whether an order had it made.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub(crate) ordered: bool,
    /// Order of creation.
    pub(crate) number: u64,
    pub(crate) state: State,
    pub(crate) digest_bytes: u64,
    pub(crate) error: String,
    /// Attempts that failed, also before a restart. One that ended with the server's process is counted by the next
    /// start.
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
    /// Ends it without a digest.
    pub(crate) fn fail(&mut self, error: String) {
        self.state = State::Failed;
        self.error = error;
        self.digest_bytes = 0;
    }

    /// The messages that the digest covers.
    pub(crate) fn stride(&self) -> Stride {
        Stride::new(self.range.clone(), self.step)
    }

    pub(crate) fn scheme(&self) -> Option<Scheme> {
        Scheme::from_tag(self.scheme)
    }

    /// The scheme's name, for figures.
    pub(crate) fn scheme_name(&self) -> &'static str {
        self.scheme().map_or("unknown", Scheme::name)
    }

    /// Whether another record asks for the same.
    pub(crate) fn is_same_request(&self, other: &Self) -> bool {
        let asked = |of: &Self| {
            (
                of.account.clone(),
                of.keys.clone(),
                of.stride(),
                (of.bound, of.indices_only, of.scheme),
            )
        };
        asked(self) == asked(other)
    }

    pub(crate) fn change(&self, id: &Id) -> Change {
        records::put_json(JOBS, id, self)
    }
}

/// Takes a job and its digest out.
pub(crate) fn forget(id: &Id) -> [Change; 2] {
    records::forget([JOBS, DIGESTS], id)
}

/// Calls `take` with all jobs that are kept.
///
/// Errors: `Store`, `Record`.
pub(crate) fn each(store: &Store, take: impl FnMut(Id, JobRecord)) -> Result<(), ServerError> {
    records::each(store, JOBS, take)
}

/// A job that is kept.
///
/// Errors: `Store`, `Record`.
pub(crate) fn get(store: &Store, id: &Id) -> Result<Option<JobRecord>, ServerError> {
    records::get(store, JOBS, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_does_not_tell_which_jobs_came_from_one_address() {
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
