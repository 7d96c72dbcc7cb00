//! Jobs and sessions of the fake.

use super::{Boxed, Fake, Fate};
use omr_remote::v1::detection_service_server::DetectionService;
use omr_remote::v1::*;
use tonic::{Request, Response, Status};

/// Bytes of a piece of a digest.
const PIECE: usize = 700;

/// A session and the last digest that was cut off it.
#[derive(Clone, Default)]
pub(crate) struct Stream {
    pub(crate) request: OpenSessionRequest,
    pub(crate) next: u64,
    pub(crate) cuts: u64,
    pub(crate) last: Vec<u8>,
}

fn pieces(digest: &[u8], offset: u64) -> Vec<(u64, Vec<u8>, u64)> {
    let total = digest.len() as u64;
    let rest = &digest[offset as usize..];
    let at = |(i, data): (usize, &[u8])| (offset + (i * PIECE) as u64, data.to_vec(), total);
    rest.chunks(PIECE).enumerate().map(at).collect()
}

impl Fake {
    fn job_of(&self, id: &[u8], state: JobState) -> Job {
        let log_hash = self.with(|state| {
            let end = state.jobs.get(id).map(|job| job.end);
            end.map(|end| state.log_hash(end)).unwrap_or_default()
        });
        Job {
            job_id: id.to_vec().into(),
            state: state.into(),
            log_hash,
            ..Job::default()
        }
    }

    /// The digest of a request, made once.
    fn digest(&self, id: &[u8]) -> Result<Vec<u8>, Status> {
        let job = self.with(|state| {
            let made = state.digests.get(id).cloned();
            let job = state.jobs.get(id).cloned();
            let job = job.ok_or_else(|| Status::not_found("no such job"))?;
            let of = &state.messages[job.start as usize..job.end as usize];
            let of: Vec<Message> = of
                .iter()
                .step_by(job.step.max(1) as usize)
                .cloned()
                .collect();
            Ok::<_, Status>((made, job, of))
        });
        let (made, request, messages) = job?;
        let mut digest = made.unwrap_or_else(|| (self.maker)(&request, &messages));
        self.with(|state| {
            if std::mem::take(&mut state.spoils) {
                digest[300] ^= 1;
            }
            state.digests.insert(id.to_vec(), digest.clone())
        });
        Ok(digest)
    }
}

fn described(request: &CreateJobRequest) -> String {
    let keys = request.key_hashes.len();
    let (start, end, bound) = (request.start, request.end, request.bound);
    let (indices, scheme, step) = (request.indices_only, request.scheme, request.step);
    let query = match request.query.len() {
        0 => String::new(),
        bytes => format!(" query of {bytes} bytes"),
    };
    format!(
        "{start}..{end} step {step} bound {bound} keys {keys} indices {indices} scheme {scheme}{query}"
    )
}

#[tonic::async_trait]
impl DetectionService for Fake {
    async fn create_job(
        &self,
        request: Request<CreateJobRequest>,
    ) -> Result<Response<CreateJobResponse>, Status> {
        let request = request.into_inner();
        let fate = self.enter("CreateJob", described(&request))?;
        let first = self.with(|state| state.board.first_index);
        if request.start < first {
            let text = format!("expired: the board begins at {first}");
            return Err(Status::out_of_range(text));
        }
        let id = request.request_id.to_vec();
        self.with(|state| state.jobs.insert(id.clone(), request));
        let job = Some(self.job_of(&id, JobState::Queued));
        fate.answer(CreateJobResponse { job })
    }

    async fn get_job(
        &self,
        request: Request<GetJobRequest>,
    ) -> Result<Response<GetJobResponse>, Status> {
        let fate = self.enter("GetJob", "")?;
        let id = request.into_inner().job_id;
        let job = Some(self.job_of(&id, JobState::Done));
        fate.answer(GetJobResponse { job })
    }

    async fn get_seeds(
        &self,
        request: Request<GetSeedsRequest>,
    ) -> Result<Response<GetSeedsResponse>, Status> {
        let GetSeedsRequest { start, end } = request.into_inner();
        let fate = self.enter("GetSeeds", format!("{start}..{end}"))?;
        let page = self.with(|state| state.page);
        let seed = |number: u64| -> bytes::Bytes {
            let until = end.min((number + 1) * page);
            let of = [number.to_le_bytes(), until.to_le_bytes()].concat();
            blake3::hash(&of).as_bytes().to_vec().into()
        };
        let seeds = (start / page..end.div_ceil(page)).map(seed).collect();
        fate.answer(GetSeedsResponse { seeds })
    }

    type WatchJobStream = Boxed<WatchJobResponse>;

    async fn watch_job(
        &self,
        request: Request<WatchJobRequest>,
    ) -> Result<Response<Self::WatchJobStream>, Status> {
        let fate = self.enter("WatchJob", "")?;
        let id = request.into_inner().job_id;
        if !self.with(|state| state.jobs.contains_key(&id[..])) {
            return Err(Status::not_found("no such job"));
        }
        let states = [JobState::Queued, JobState::Running, JobState::Done];
        let answer = |state| WatchJobResponse {
            job: Some(self.job_of(&id, state)),
        };
        fate.stream(states.map(answer).to_vec())
    }

    type FetchDigestStream = Boxed<FetchDigestResponse>;

    async fn fetch_digest(
        &self,
        request: Request<FetchDigestRequest>,
    ) -> Result<Response<Self::FetchDigestStream>, Status> {
        let FetchDigestRequest { job_id, offset } = request.into_inner();
        let fate = self.enter("FetchDigest", offset)?;
        let digest = self.digest(&job_id)?;
        let answer = |(offset, data, total_bytes): (u64, Vec<u8>, u64)| FetchDigestResponse {
            offset,
            data: data.into(),
            total_bytes,
        };
        fate.stream(pieces(&digest, offset).into_iter().map(answer).collect())
    }

    async fn cancel_job(
        &self,
        request: Request<CancelJobRequest>,
    ) -> Result<Response<CancelJobResponse>, Status> {
        let fate = self.enter("CancelJob", "")?;
        let id = request.into_inner().job_id;
        self.with(|state| state.jobs.remove(&id[..]));
        fate.answer(CancelJobResponse {})
    }

    async fn open_session(
        &self,
        request: Request<OpenSessionRequest>,
    ) -> Result<Response<OpenSessionResponse>, Status> {
        let request = request.into_inner();
        let (start, bound, room) = (request.start, request.bound, request.room);
        let what = format!("from {start} bound {bound} room {room}");
        let fate = self.enter("OpenSession", what)?;
        let id = request.request_id.to_vec();
        let fresh = Stream {
            next: request.start,
            request,
            ..Stream::default()
        };
        let stream = self.with(|state| state.sessions.entry(id.clone()).or_insert(fresh).clone());
        let session = Some(session(&id, &stream));
        fate.answer(OpenSessionResponse { session })
    }

    async fn get_session(
        &self,
        request: Request<GetSessionRequest>,
    ) -> Result<Response<GetSessionResponse>, Status> {
        let fate = self.enter("GetSession", "")?;
        let id = request.into_inner().session_id;
        let stream = self.with(|state| state.sessions.get(&id[..]).cloned());
        let missing = || Status::not_found("no such session");
        let session = Some(session(&id, &stream.ok_or_else(missing)?));
        fate.answer(GetSessionResponse { session })
    }

    type CutSessionStream = Boxed<CutSessionResponse>;

    async fn cut_session(
        &self,
        request: Request<CutSessionRequest>,
    ) -> Result<Response<Self::CutSessionStream>, Status> {
        let CutSessionRequest { session_id, number } = request.into_inner();
        let fate = self.enter("CutSession", number)?;
        let digest = self.cut(&session_id, number)?;
        let log_hash = self.with(|state| {
            let next = state.sessions.get(&session_id[..]).map(|of| of.next);
            next.map(|next| state.log_hash(next)).unwrap_or_default()
        });
        let answer = |(offset, data, total_bytes): (u64, Vec<u8>, u64)| CutSessionResponse {
            offset,
            data: data.into(),
            total_bytes,
            log_hash: log_hash.clone(),
        };
        fate.stream(pieces(&digest, 0).into_iter().map(answer).collect())
    }

    async fn close_session(
        &self,
        request: Request<CloseSessionRequest>,
    ) -> Result<Response<CloseSessionResponse>, Status> {
        let fate: Fate = self.enter("CloseSession", "")?;
        let id = request.into_inner().session_id;
        self.with(|state| state.sessions.remove(&id[..]));
        fate.answer(CloseSessionResponse {})
    }

    async fn create_order(
        &self,
        request: Request<CreateOrderRequest>,
    ) -> Result<Response<CreateOrderResponse>, Status> {
        let asked = request.into_inner();
        let fate: Fate = self.enter("CreateOrder", format!("{}", asked.start))?;
        let order = Order {
            order_id: asked.request_id.clone(),
            next: asked.start,
            batch_messages: self.with(|state| state.batch),
            log_hash: self.with(|state| state.log_hash(asked.start)),
        };
        self.with(|state| state.orders.insert(asked.request_id.to_vec(), asked));
        fate.answer(CreateOrderResponse { order: Some(order) })
    }

    async fn get_order(
        &self,
        _: Request<GetOrderRequest>,
    ) -> Result<Response<GetOrderResponse>, Status> {
        Err(Status::unimplemented("the fake is not asked for orders"))
    }

    async fn end_order(
        &self,
        request: Request<EndOrderRequest>,
    ) -> Result<Response<EndOrderResponse>, Status> {
        let fate: Fate = self.enter("EndOrder", "")?;
        let id = request.into_inner().order_id;
        self.with(|state| state.orders.remove(&id[..]));
        fate.answer(EndOrderResponse {})
    }
}

fn session(id: &[u8], stream: &Stream) -> Session {
    Session {
        session_id: id.to_vec().into(),
        next: stream.next,
        cuts: stream.cuts,
        ..Session::default()
    }
}

impl Fake {
    fn cut(&self, id: &[u8], number: u64) -> Result<Vec<u8>, Status> {
        let (stream, messages) = self.with(|state| {
            let stream = state.sessions.get(id).cloned();
            (stream, state.messages.clone())
        });
        let mut stream = stream.ok_or_else(|| Status::not_found("no such session"))?;
        if number + 1 == stream.cuts {
            return Ok(stream.last);
        }
        if number != stream.cuts {
            return Err(Status::out_of_range("another number"));
        }
        let room = match stream.request.room {
            0 => u64::MAX,
            room => room.into(),
        };
        let end = stream.next.saturating_add(room).min(messages.len() as u64);
        let request = CreateJobRequest {
            start: stream.next,
            end,
            bound: stream.request.bound,
            key_hashes: vec![stream.request.key_hash.clone()],
            scheme: Scheme::Instantomr.into(),
            ..CreateJobRequest::default()
        };
        stream.last = (self.maker)(&request, &messages[stream.next as usize..end as usize]);
        (stream.next, stream.cuts) = (end, stream.cuts + 1);
        let last = stream.last.clone();
        self.with(|state| state.sessions.insert(id.to_vec(), stream));
        Ok(last)
    }
}
