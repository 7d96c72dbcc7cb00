//! Fetching the digests of all open requests, one after another.

use crate::call::{Answer, Call, Failed, Failure};
use crate::exchange::{Collected, Step, unexpected};
use crate::history;
use crate::job::Job;
use crate::storage::Storage;
use crate::{Recipient, Requests};
use std::collections::VecDeque;
use std::fmt::Display;

/// The state of the first open request.
enum At<E> {
    Create,
    Watch(Vec<u8>),
    Fetch,
    /// It failed in this way after or before it was accepted; the board is requested to see whether its messages
    /// expired.
    Board(Failed<E>, bool),
}

/// The open requests, and the results of earlier ones.
pub(crate) struct Jobs<E> {
    open: VecDeque<(u64, Job)>,
    at: At<E>,
    collected: Collected,
    /// The first failure: it holds up no other request.
    failed: Option<E>,
}

impl<E: Display> Jobs<E> {
    /// Returns all requests that are open now. `collected` has the results so far.
    pub(crate) fn new<S: Storage>(
        requests: Requests<'_, S>,
        collected: Collected,
    ) -> Result<Self, S::Error> {
        Ok(Self {
            open: requests.open()?.into(),
            at: At::Create,
            collected,
            failed: None,
        })
    }

    /// Returns the call for the first open request, or the results once no request is left.
    pub(crate) fn next(&mut self, recipient: &Recipient) -> Result<Step<Collected>, E> {
        self.at = At::Create;
        match (self.open.front(), self.failed.take()) {
            (Some((_, job)), failed) => {
                self.failed = failed;
                Ok(Step::Call(Call::CreateJob(recipient.job(job))))
            }
            (None, Some(failed)) => Err(failed),
            (None, None) => Ok(Step::Done(self.collected.clone())),
        }
    }

    pub(crate) fn answer<S>(
        &mut self,
        recipient: &Recipient,
        requests: Requests<'_, S>,
        answer: Result<Answer, Failed<E>>,
    ) -> Result<Step<Collected>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        let Some((number, job)) = self.open.front() else {
            return Err(unexpected("CreateJob").into());
        };
        let at = std::mem::replace(&mut self.at, At::Create);
        match (at, answer) {
            (At::Create, Ok(Answer::Job { id, log_hash })) => {
                if !requests.agrees(job, log_hash.as_ref())? {
                    // The request was made before a backup was restored, or the board changed since it was described:
                    // the next fetch compares the board again, and uses another id.
                    requests.renew(*number)?;
                    return Err(history::other_history("CreateJob", job.end).into());
                }
                self.at = At::Watch(id.clone());
                return Ok(Step::Call(Call::WatchJob(id)));
            }
            (At::Watch(id), Ok(Answer::Watched)) => {
                self.at = At::Fetch;
                return Ok(Step::Call(Call::FetchDigest(id)));
            }
            (At::Fetch, Ok(Answer::Digest(digest))) => requests.keep(*number, &digest)?,
            (At::Board(failed, created), Ok(Answer::Board(board))) => {
                // The messages expired since the board was described: the next fetch requests those that are left.
                if job.start >= board.messages.start {
                    self.fails(requests, failed, created)?;
                }
            }
            (At::Board(..), Err(failed)) => return Err(failed.error.into()),
            (at, Err(failed)) => {
                let created = !matches!(at, At::Create);
                if failed.kind == Failure::OutOfRange {
                    self.at = At::Board(failed, created);
                    return Ok(Step::Call(Call::Board(Vec::new())));
                }
                self.fails(requests, failed, created)?;
            }
            (At::Create, Ok(_)) => return Err(unexpected("CreateJob").into()),
            (At::Watch(_), Ok(_)) => return Err(unexpected("WatchJob").into()),
            (At::Fetch, Ok(_)) => return Err(unexpected("FetchDigest").into()),
            (At::Board(..), Ok(_)) => return Err(unexpected("GetBoard").into()),
        }
        self.open.pop_front();
        Ok(self.next(recipient)?)
    }

    /// Records a failure of the first request. Returns an error where the other requests would fail in the same way.
    fn fails<S>(
        &mut self,
        requests: Requests<'_, S>,
        failed: Failed<E>,
        created: bool,
    ) -> Result<(), S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        let Some((number, job)) = self.open.front() else {
            return Ok(());
        };
        match failed.kind {
            _ if failed.is_final() && !created => {
                let reason = failed.error.to_string();
                requests.refused(*number, &reason)?;
                let range = job.start..job.end;
                self.collected.refused.push((range, reason));
                return Ok(());
            }
            Failure::JobFailed => requests.failed(*number)?,
            // A request with this id would fail again.
            Failure::JobCancelled | Failure::NotFound | Failure::Exists => {
                requests.renew(*number)?;
            }
            // The server failed, or the connection to it.
            _ => return Err(failed.error.into()),
        }
        self.failed.get_or_insert(failed.error);
        Ok(())
    }
}
