use super::{Answers, READY, chunks};
use crate::caller::Caller;
use crate::jobs::{Id, JobRecord, State, View};
use crate::refuse::{self, blocking};
use crate::sessions::{self, SessionRecord, Sessions};
use crate::shared::Shared;
use crate::tokens::Right;
use omr_api::v1;
use omr_api::v1::detection_service_server::DetectionService;
use omr_protocol::frame::Kind;
use omr_protocol::instantomr::Encoding;
use omr_protocol::stride::MAX_STEP;
use omr_protocol::{PlanError, Scheme, Stride};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

pub(crate) struct Detection(pub(crate) Arc<Shared>);

/// The id of what an account asked for under a request id.
fn derived(account: &str, request_id: &[u8; 16]) -> Id {
    let mut hasher = blake3::Hasher::new_derive_key("omr server v1 request");
    hasher.update(request_id).update(account.as_bytes());
    *hasher
        .finalize()
        .as_bytes()
        .first_chunk()
        .expect("32 bytes")
}

fn job(id: &Id, view: &View, jobs_ahead: u64) -> v1::Job {
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
        stage: view.stage.to_owned(),
        stage_done: view.done,
        stage_total: view.total,
        digest_bytes: view.digest_bytes,
        error: view.error.clone(),
    }
}

fn session(id: &Id, view: sessions::View) -> v1::Session {
    v1::Session {
        session_id: id.to_vec().into(),
        next: view.next,
        cuts: view.cuts,
        error: view.error,
    }
}

impl Detection {
    fn record(&self, caller: &Caller, request: &v1::CreateJobRequest) -> Result<JobRecord, Status> {
        let (limits, len) = (&self.0.config.limits, self.0.store.len());
        let (start, end) = (request.start, request.end);
        if start >= end || end > len {
            let text = format!("expected messages in 0..{len}, at least one, found {start}..{end}");
            return Err(Status::out_of_range(text));
        }
        refuse::expired(&self.0.store, start)?;
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
        let keys = request
            .key_hashes
            .iter()
            .map(|hash| refuse::hash("key_hashes", hash));
        let keys: Vec<[u8; 32]> = keys.collect::<Result<_, _>>()?;
        let scheme = self.scheme(caller, request, &keys)?;
        self.check_bound(scheme, request.bound)?;
        Ok(JobRecord {
            account: caller.account.clone(),
            client: caller.client,
            keys,
            range: start..end,
            step,
            bound: request.bound,
            indices_only: request.indices_only || scheme.is_for_indices(),
            scheme: scheme.tag(),
            number: 0,
            state: State::Queued,
            digest_bytes: 0,
            error: String::new(),
        })
    }

    /// What the set's engines serve, and the configuration allows.
    fn check_bound(&self, scheme: Scheme, bound: u32) -> Result<(), Status> {
        let text = |error: PlanError| Status::invalid_argument(format!("bound: {error}"));
        self.0
            .set
            .spec()
            .check_bound(scheme, bound as usize)
            .map_err(text)?;
        let most = self.0.config.limits.bound;
        match bound <= most {
            true => Ok(()),
            false => Err(refuse::invalid("bound", format_args!("1 to {most}"), bound)),
        }
    }

    /// The scheme asked for, or what the keys serve; the keys must be what it takes.
    fn scheme(
        &self,
        caller: &Caller,
        request: &v1::CreateJobRequest,
        keys: &[[u8; 32]],
    ) -> Result<Scheme, Status> {
        if keys.is_empty() {
            let expected = "one of the caller's registered keys, or one of each kind";
            return Err(refuse::invalid("key_hashes", expected, "none"));
        }
        let mut has = [false; 2];
        for key in keys {
            let kind = self.0.registrations.kind(&caller.account, key)?;
            let seen = &mut has[usize::from(kind == Kind::InstantKey)];
            if std::mem::replace(seen, true) {
                return Err(refuse::invalid("key_hashes", "one key of a kind", "two"));
            }
        }
        let payloads = !request.indices_only;
        let scheme = match (request.scheme, has) {
            (0, [true, true]) => Scheme::Hybrid,
            (0, [true, false]) => Scheme::bulk(payloads),
            (0, [false, true]) => Scheme::instant(Encoding::Powers, payloads),
            (tag, _) => u8::try_from(tag)
                .ok()
                .and_then(Scheme::from_tag)
                .ok_or_else(|| refuse::invalid("scheme", "0 to 7", tag))?,
        };
        let needs = scheme.engines();
        if needs != has {
            let names = |[bulk, instant]: [bool; 2]| match (bulk, instant) {
                (true, true) => "one for each engine",
                (true, false) => "one for SophOMR",
                (false, true) => "one for InstantOMR",
                (false, false) => "none",
            };
            return Err(refuse::invalid("key_hashes", names(needs), names(has)));
        }
        Ok(scheme)
    }

    fn sessions(&self) -> Result<&Arc<Sessions>, Status> {
        self.0.sessions.as_ref().ok_or_else(|| {
            let name = self.0.set.name();
            Status::unimplemented(format!(
                "parameter set {name} has no InstantOMR, so no sessions"
            ))
        })
    }

    fn session_record(
        &self,
        caller: &Caller,
        request: &v1::OpenSessionRequest,
    ) -> Result<SessionRecord, Status> {
        let key = refuse::hash("key_hash", &request.key_hash)?;
        if self.0.registrations.kind(&caller.account, &key)? != Kind::InstantKey {
            return Err(refuse::invalid(
                "key_hash",
                "a key for InstantOMR",
                "one for SophOMR",
            ));
        }
        let len = self.0.store.len();
        if request.start > len {
            let text = format!("start: expected at most {len}, found {}", request.start);
            return Err(Status::out_of_range(text));
        }
        refuse::expired(&self.0.store, request.start)?;
        let scheme = Scheme::instant(Encoding::Powers, !request.indices_only);
        self.check_bound(scheme, request.bound)?;
        Ok(SessionRecord {
            account: caller.account.clone(),
            key,
            start: request.start,
            bound: request.bound,
            indices_only: request.indices_only,
        })
    }

    async fn create(&self, request: Request<v1::CreateJobRequest>) -> Result<v1::Job, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let request = request.into_inner();
        let id = derived(
            &caller.account,
            &refuse::id("request_id", &request.request_id)?,
        );
        let record = self.record(&caller, &request)?;
        let shared = self.0.clone();
        blocking(move || {
            shared.jobs.create(id, record, &caller)?;
            let (view, ahead) = shared.jobs.find(&caller.account, &id)?;
            Ok(job(&id, &view.borrow(), ahead))
        })
        .await
    }

    async fn watch(
        &self,
        request: Request<v1::WatchJobRequest>,
    ) -> Result<Answers<v1::WatchJobResponse>, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let id = refuse::id("job_id", &request.get_ref().job_id)?;
        let (mut view, _) = self.0.jobs.find(&caller.account, &id)?;
        let room = self.0.stream(&caller)?;
        let (to, answers) = mpsc::channel(READY);
        let shared = self.0.clone();
        tokio::spawn(async move {
            let _room = room;
            let mut stopping = shared.stopping.clone();
            loop {
                let now = view.borrow_and_update().clone();
                // The line is looked at only while it matters: steps of a digest are many.
                let ahead = match now.state {
                    State::Queued => shared.jobs.find(&caller.account, &id),
                    _ => Ok((view.clone(), 0)),
                };
                let ahead = ahead.map_or(0, |(_, ahead)| ahead);
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

    async fn digest(
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

    async fn open(&self, request: Request<v1::OpenSessionRequest>) -> Result<v1::Session, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let sessions = self.sessions()?.clone();
        let request = request.into_inner();
        let id = derived(
            &caller.account,
            &refuse::id("request_id", &request.request_id)?,
        );
        let record = self.session_record(&caller, &request)?;
        blocking(move || Ok(session(&id, sessions.create(id, record, &caller)?))).await
    }

    async fn cut(
        &self,
        request: Request<v1::CutSessionRequest>,
    ) -> Result<Answers<v1::CutSessionResponse>, Status> {
        let caller = self.0.caller(&request, Right::Detect)?;
        let sessions = self.sessions()?.clone();
        let id = refuse::id("session_id", &request.get_ref().session_id)?;
        let number = request.get_ref().number;
        let digest = blocking(move || sessions.cut(&caller.account, &id, number)).await?;
        chunks(digest, 0, |offset, data, total_bytes| {
            v1::CutSessionResponse {
                offset,
                data,
                total_bytes,
            }
        })
    }
}

#[tonic::async_trait]
impl DetectionService for Detection {
    async fn create_job(
        &self,
        request: Request<v1::CreateJobRequest>,
    ) -> Result<Response<v1::CreateJobResponse>, Status> {
        let answer = async {
            let job = Some(self.create(request).await?);
            Ok(Response::new(v1::CreateJobResponse { job }))
        };
        self.0.observe("CreateJob", answer).await
    }

    async fn get_job(
        &self,
        request: Request<v1::GetJobRequest>,
    ) -> Result<Response<v1::GetJobResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let id = refuse::id("job_id", &request.get_ref().job_id)?;
            let (view, ahead) = self.0.jobs.find(&caller.account, &id)?;
            let job = Some(job(&id, &view.borrow(), ahead));
            Ok(Response::new(v1::GetJobResponse { job }))
        };
        self.0.observe("GetJob", answer).await
    }

    type WatchJobStream = Answers<v1::WatchJobResponse>;

    async fn watch_job(
        &self,
        request: Request<v1::WatchJobRequest>,
    ) -> Result<Response<Self::WatchJobStream>, Status> {
        let answer = async { Ok(Response::new(self.watch(request).await?)) };
        self.0.observe("WatchJob", answer).await
    }

    type FetchDigestStream = Answers<v1::FetchDigestResponse>;

    async fn fetch_digest(
        &self,
        request: Request<v1::FetchDigestRequest>,
    ) -> Result<Response<Self::FetchDigestStream>, Status> {
        let answer = async { Ok(Response::new(self.digest(request).await?)) };
        self.0.observe("FetchDigest", answer).await
    }

    async fn cancel_job(
        &self,
        request: Request<v1::CancelJobRequest>,
    ) -> Result<Response<v1::CancelJobResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let id = refuse::id("job_id", &request.get_ref().job_id)?;
            let shared = self.0.clone();
            blocking(move || shared.jobs.cancel(&caller.account, &id)).await?;
            Ok(Response::new(v1::CancelJobResponse {}))
        };
        self.0.observe("CancelJob", answer).await
    }

    async fn open_session(
        &self,
        request: Request<v1::OpenSessionRequest>,
    ) -> Result<Response<v1::OpenSessionResponse>, Status> {
        let answer = async {
            let session = Some(self.open(request).await?);
            Ok(Response::new(v1::OpenSessionResponse { session }))
        };
        self.0.observe("OpenSession", answer).await
    }

    async fn get_session(
        &self,
        request: Request<v1::GetSessionRequest>,
    ) -> Result<Response<v1::GetSessionResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let id = refuse::id("session_id", &request.get_ref().session_id)?;
            let session = Some(session(&id, self.sessions()?.view(&caller.account, &id)?));
            Ok(Response::new(v1::GetSessionResponse { session }))
        };
        self.0.observe("GetSession", answer).await
    }

    type CutSessionStream = Answers<v1::CutSessionResponse>;

    async fn cut_session(
        &self,
        request: Request<v1::CutSessionRequest>,
    ) -> Result<Response<Self::CutSessionStream>, Status> {
        let answer = async { Ok(Response::new(self.cut(request).await?)) };
        self.0.observe("CutSession", answer).await
    }

    async fn close_session(
        &self,
        request: Request<v1::CloseSessionRequest>,
    ) -> Result<Response<v1::CloseSessionResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let sessions = self.sessions()?.clone();
            let id = refuse::id("session_id", &request.get_ref().session_id)?;
            blocking(move || sessions.close(&caller.account, &id)).await?;
            Ok(Response::new(v1::CloseSessionResponse {}))
        };
        self.0.observe("CloseSession", answer).await
    }
}
