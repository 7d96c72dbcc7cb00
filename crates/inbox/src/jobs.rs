//! Fetching the digests, scans and answers of all open requests, one after another.

use crate::call::{Answer, Call, Failed, Failure};
use crate::exchange::{Collected, Step, unexpected};
use crate::history;
use crate::job::{Job, Kind};
use crate::rounds::Rounds;
use crate::storage::{Storage, Table};
use crate::{Asking, InboxError, Recipient, Requests};
use omr_client::letter::Place;
use std::collections::VecDeque;
use std::fmt::Display;

/// The shape and the board of the requests of the second round.
pub(crate) struct Fetches {
    pub(crate) rounds: Rounds,
    /// The board.
    pub(crate) place: Place,
}

/// The state of the first open request.
enum At<E> {
    /// The seeds of its pages were requested.
    Seeds,
    /// The query is being made.
    Ask,
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
    /// The shape of fetches; `None` in one round.
    fetches: Option<Fetches>,
}

impl<E: Display> Jobs<E> {
    /// Returns all requests that are open now. `collected` has the results so far. Requests of the second round are left
    /// out without `fetches`.
    pub(crate) fn new<S: Storage>(
        requests: Requests<'_, S>,
        collected: Collected,
        fetches: Option<Fetches>,
    ) -> Result<Self, S::Error> {
        let mut open = requests.open()?;
        open.retain(|(_, job)| job.kind != Kind::Fetch || fetches.is_some());
        Ok(Self {
            open: open.into(),
            at: At::Create,
            collected,
            failed: None,
            fetches,
        })
    }

    /// Returns the step for the first open request, or the results once no request is left.
    pub(crate) fn next<S>(
        &mut self,
        recipient: &Recipient,
        requests: Requests<'_, S>,
    ) -> Result<Step<Collected>, S::Error>
    where
        S: Storage,
        S::Error: From<E>,
    {
        let Some((number, job)) = self.open.front() else {
            return match self.failed.take() {
                Some(failed) => Err(failed.into()),
                None => Ok(Step::Done(self.collected.clone())),
            };
        };
        let query = match job.kind {
            Kind::Fetch => requests.query(*number)?,
            Kind::Digest | Kind::Scan => Some(Vec::new()),
        };
        let Some(query) = query else {
            let range = job.start..job.end;
            self.at = At::Seeds;
            return Ok(Step::Call(Call::Seeds(range)));
        };
        if job.kind == Kind::Fetch {
            self.check(job, &query)?;
        }
        // A query that may have been sent is sent again as it is: its encryption is never repeated.
        let call = Call::CreateJob(recipient.job(job, query));
        self.at = At::Create;
        Ok(Step::Call(call))
    }

    /// Checks that a query has the length of all queries of its range.
    ///
    /// Errors: `Bytes`; `Query`.
    fn check(&self, job: &Job, query: &[u8]) -> Result<(), InboxError> {
        let Some(Fetches { rounds, place }) = &self.fetches else {
            return Err(unexpected("CreateJob"));
        };
        let expected = rounds.query_bytes(place, job.start..job.end)?;
        if query.len() as u64 == expected {
            return Ok(());
        }
        Err(InboxError::Bytes {
            table: Table::Queries.name(),
            expected: "the length of all queries of a range",
            found: query.len(),
        })
    }

    /// Returns the step that has the query of the first request made.
    ///
    /// Errors: `Answer` unless there is a seed for each page; `Query`.
    fn ask(&mut self, seeds: Vec<[u8; 32]>) -> Result<Step<Collected>, InboxError> {
        let (Some((number, job)), Some(fetches)) = (self.open.front(), &self.fetches) else {
            return Err(unexpected("GetSeeds"));
        };
        let Fetches { rounds, place } = fetches;
        let pages = rounds.pages(place, job.start..job.end)?;
        if seeds.len() != pages {
            let (expected, found) = (format!("{pages} seeds"), seeds.len().to_string());
            return Err(InboxError::answer("GetSeeds", expected, found));
        }
        let asking = Asking {
            number: *number,
            range: job.start..job.end,
            seeds,
            place: place.clone(),
        };
        self.at = At::Ask;
        Ok(Step::Ask(asking))
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
            (At::Seeds, Ok(Answer::Seeds(seeds))) => return Ok(self.ask(seeds)?),
            (At::Ask, Ok(Answer::Asked)) => {
                if requests.query(*number)?.is_some() {
                    return self.next(recipient, requests);
                }
                // A person may have dropped the request meanwhile.
                if requests.has(*number)? {
                    return Err(unexpected("Ask").into());
                }
            }
            (At::Ask, Err(failed)) => return Err(failed.error.into()),
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
                let created = !matches!(at, At::Create | At::Seeds);
                if failed.kind == Failure::OutOfRange {
                    self.at = At::Board(failed, created);
                    return Ok(Step::Call(Call::Board(Vec::new())));
                }
                self.fails(requests, failed, created)?;
            }
            (At::Seeds, Ok(_)) => return Err(unexpected("GetSeeds").into()),
            (At::Ask, Ok(_)) => return Err(unexpected("Ask").into()),
            (At::Create, Ok(_)) => return Err(unexpected("CreateJob").into()),
            (At::Watch(_), Ok(_)) => return Err(unexpected("WatchJob").into()),
            (At::Fetch, Ok(_)) => return Err(unexpected("FetchDigest").into()),
            (At::Board(..), Ok(_)) => return Err(unexpected("GetBoard").into()),
        }
        self.open.pop_front();
        self.next(recipient, requests)
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
                if job.kind != Kind::Fetch {
                    let range = job.start..job.end;
                    self.collected.refused.push((range, reason));
                    return Ok(());
                }
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
