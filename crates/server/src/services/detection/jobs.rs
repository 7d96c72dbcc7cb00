//! Jobs in the protocol: requests are checked, and jobs are turned into responses.

use super::Detection;
use crate::caller::Caller;
use crate::jobs::{Id, JobRecord, State, View, derived};
use crate::parts::clue_kind;
use crate::refuse::{self, blocking};
use crate::services::{Answers, READY, chunks, hash_bytes};
use crate::tokens::Right;
use omr_api::v1;
use omr_protocol::rounds::{FetchQuery, RoundsHeader, RoundsPlan, page_seeds};
use omr_protocol::stride::MAX_STEP;
use omr_protocol::{EngineKind, ParamsError, Scheme, Stride};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Status};

/// Returns a description of the keys for some engines.
fn engines(engines: &[EngineKind]) -> String {
    match engines {
        [engine] => format!("one for {engine}"),
        _ => "one for each engine".to_owned(),
    }
}

/// Returns the status of a call for two rounds where the board's set does not serve them.
fn no_rounds(error: ParamsError) -> Status {
    Status::failed_precondition(error.to_string())
}

pub(super) fn job(id: &Id, view: &View, jobs_ahead: u64) -> v1::Job {
    let state = match view.state {
        State::Queued => v1::JobState::Queued,
        State::Running => v1::JobState::Running,
        State::Done => v1::JobState::Done,
        State::Failed => v1::JobState::Failed,
        State::Cancelled => v1::JobState::Cancelled,
    };
    v1::Job {
        job_id: id.to_vec().into(),
        state: state.into(),
        jobs_ahead,
        stage: view.stage.clone().into_owned(),
        stage_done: view.done,
        stage_total: view.total,
        digest_bytes: view.digest_bytes,
        error: view.error.clone(),
        log_hash: hash_bytes(view.log_hash),
    }
}

impl Detection {
    fn record(&self, caller: &Caller, request: &v1::CreateJobRequest) -> Result<JobRecord, Status> {
        let limits = &self.0.config.limits;
        let (start, end) = (request.start, request.end);
        self.check_range(start, end)?;
        let step = request.step.max(1);
        if step > MAX_STEP {
            let expected = format_args!("at most {MAX_STEP}");
            return Err(refuse::invalid("step", expected, step));
        }
        let stride = Stride::new(start..end, step);
        let (limit, found) = (limits.digest_messages, stride.count());
        if found > limit {
            return Err(refuse::invalid(
                "messages",
                format_args!("at most {limit}"),
                found,
            ));
        }
        let keys = refuse::hashes("key_hashes", &request.key_hashes)?;
        let scheme = self.scheme(caller, request.scheme, request.indices_only, &keys)?;
        let bound = if scheme == Scheme::TwoRounds {
            self.check_rounds(&keys, &stride, &request.query)?;
            0
        } else if request.query.is_empty() {
            self.check_bound(scheme, request.bound)?;
            request.bound
        } else {
            let found = format_args!("one of {} bytes", request.query.len());
            return Err(refuse::invalid(
                "query",
                "none, unless for two rounds",
                found,
            ));
        };
        let query = &request.query[..];
        Ok(JobRecord {
            account: caller.account.clone(),
            client: caller.client,
            keys,
            range: start..end,
            log_hash: self.0.log_hash(end)?,
            step,
            bound,
            indices_only: request.indices_only || scheme.is_for_indices(),
            query: (!query.is_empty()).then(|| *blake3::hash(query).as_bytes()),
            scheme: scheme.tag(),
            ..JobRecord::default()
        })
    }

    /// Checks a request for a scan, or for a fetch if there is a query.
    ///
    /// Errors: INVALID_ARGUMENT for messages with gaps, and for a query that is not one for these messages, this key and
    /// the seeds of this server; FAILED_PRECONDITION where payloads are not prepared.
    fn check_rounds(
        &self,
        keys: &[[u8; 32]],
        messages: &Stride,
        query: &[u8],
    ) -> Result<(), Status> {
        if messages.has_gaps() {
            return Err(refuse::invalid("step", "1 for two rounds", messages.step()));
        }
        let params = self.0.set.rounds().map_err(no_rounds)?;
        let board = self.0.store.board();
        let (range, bytes) = (messages.range(), board.payload_bytes as usize);
        let wrong = |error: &dyn std::fmt::Display| Status::invalid_argument(error.to_string());
        let plan = RoundsPlan::new(params, range.clone(), bytes, clue_kind(board));
        let plan = plan.map_err(|error| wrong(&error))?;
        if query.is_empty() {
            return Ok(());
        }
        let (most, found) = (self.0.room.fetch_messages(), range.end - range.start);
        if found > most {
            let expected = format_args!("at most {most} for a fetch");
            return Err(refuse::invalid("messages", expected, found));
        }
        let asked = FetchQuery::from_bytes(params, query).map_err(|error| wrong(&error))?;
        let known = keys.first().and_then(|key| self.0.registrations.key(key));
        let expected = RoundsHeader {
            key_id: known.map_or([0; 16], |key| key.id),
            board_id: board.board_id,
            range,
            payload_bytes: bytes,
            sealing: self.0.sealing,
            clues: clue_kind(board),
            seeds: page_seeds(&self.0.pages.get(), &plan),
        };
        expected
            .expect(&asked.header)
            .map_err(|error| wrong(&error))
    }

    /// Returns the seeds of a range's pages. Nobody knows them before the messages are posted.
    pub(super) fn seeds(
        &self,
        request: &Request<v1::GetSeedsRequest>,
    ) -> Result<v1::GetSeedsResponse, Status> {
        self.0.caller(request, Right::Detect)?;
        let v1::GetSeedsRequest { start, end } = *request.get_ref();
        self.check_range(start, end)?;
        let params = self.0.set.rounds().map_err(no_rounds)?;
        let board = self.0.store.board();
        let bytes = board.payload_bytes as usize;
        let plan = RoundsPlan::new(params, start..end, bytes, clue_kind(board))
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let seeds = page_seeds(&self.0.pages.get(), &plan);
        Ok(v1::GetSeedsResponse {
            seeds: seeds.iter().map(|seed| seed.to_vec().into()).collect(),
        })
    }

    /// Checks that a range is on the board.
    ///
    /// Errors: OUT_OF_RANGE.
    fn check_range(&self, start: u64, end: u64) -> Result<(), Status> {
        let len = self.0.store.len();
        if start >= end || end > len {
            let text = format!("expected messages in 0..{len}, at least one, found {start}..{end}");
            return Err(Status::out_of_range(text));
        }
        refuse::expired(&self.0.store, start)
    }

    /// Returns the requested scheme, or the scheme that the keys serve if none is requested. The keys must be those
    /// that the scheme needs.
    pub(super) fn scheme(
        &self,
        caller: &Caller,
        tag: i32,
        indices_only: bool,
        keys: &[[u8; 32]],
    ) -> Result<Scheme, Status> {
        if keys.is_empty() {
            let expected = "one of the caller's registered keys, or one of each kind";
            return Err(refuse::invalid("key_hashes", expected, "none"));
        }
        let mut has = Vec::new();
        for key in keys {
            let engine = self.0.registrations.kind(&caller.account, key)?;
            if has.contains(&engine) {
                return Err(refuse::invalid("key_hashes", "one key of a kind", "two"));
            }
            has.push(engine);
        }
        has.sort_unstable();
        let found = match tag {
            0 => Scheme::of_engines(&has, !indices_only),
            tag => u8::try_from(tag).ok().and_then(Scheme::from_tag),
        };
        let Some(scheme) = found else {
            let expected = format!("0 to {}", Scheme::ALL.len());
            return Err(refuse::invalid("scheme", &expected, tag));
        };
        if scheme.engines() == has {
            Ok(scheme)
        } else {
            let expected = engines(scheme.engines());
            Err(refuse::invalid("key_hashes", &expected, engines(&has)))
        }
    }

    pub(super) async fn create(
        &self,
        request: Request<v1::CreateJobRequest>,
    ) -> Result<v1::Job, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let request = request.into_inner();
        let id = derived(
            &caller.account,
            &refuse::id("request_id", &request.request_id)?,
        );
        let record = self.record(&caller, &request)?;
        let shared = self.0.clone();
        blocking(move || {
            shared.jobs.create(id, record, &request.query, &caller)?;
            let (view, ahead) = shared.jobs.find(&caller.account, &id)?;
            Ok(job(&id, &view.borrow(), ahead))
        })
        .await
    }

    pub(super) async fn watch(
        &self,
        request: Request<v1::WatchJobRequest>,
    ) -> Result<Answers<v1::WatchJobResponse>, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let id = refuse::id("job_id", &request.get_ref().job_id)?;
        let (shared, account) = (self.0.clone(), caller.account.clone());
        let (mut view, _) = blocking(move || shared.jobs.find(&account, &id)).await?;
        let room = self.0.stream(&caller)?;
        let (to, answers) = mpsc::channel(READY);
        let shared = self.0.clone();
        tokio::spawn(async move {
            let _room = room;
            let mut stopping = shared.stopping.clone();
            loop {
                let now = view.borrow_and_update().clone();
                // The place in the queue is computed only for queued jobs, as a running digest sends many updates.
                let ahead = match now.state {
                    State::Queued => shared.jobs.ahead(&id),
                    _ => 0,
                };
                let answer = v1::WatchJobResponse {
                    job: Some(job(&id, &now, ahead)),
                };
                if to.send(Ok(answer)).await.is_err() || now.state.is_final() {
                    return;
                }
                tokio::select! {
                    () = to.closed() => return,
                    changed = view.changed() => if changed.is_err() { return },
                    _ = stopping.changed() => {
                        let _ = to.send(Err(Status::unavailable("the server stops"))).await;
                        return;
                    }
                }
            }
        });
        Ok(Box::pin(ReceiverStream::new(answers)))
    }

    pub(super) async fn digest(
        &self,
        request: Request<v1::FetchDigestRequest>,
    ) -> Result<Answers<v1::FetchDigestResponse>, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let id = refuse::id("job_id", &request.get_ref().job_id)?;
        let shared = self.0.clone();
        let digest = blocking(move || shared.jobs.digest(&caller.account, &id)).await?;
        chunks(
            digest,
            request.get_ref().offset,
            |offset, data, total_bytes| v1::FetchDigestResponse {
                offset,
                data,
                total_bytes,
            },
        )
    }
}
