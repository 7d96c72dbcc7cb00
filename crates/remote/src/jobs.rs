//! Digests: asked for once, awaited and fetched however often the connection breaks.

use crate::retry::Patience;
use crate::{Client, RemoteError};
use bytes::Bytes;
use omr_api::v1::{
    CancelJobRequest, CreateJobRequest, FetchDigestRequest, FetchDigestResponse, GetJobRequest,
    GetSeedsRequest, Job, JobState, WatchJobRequest,
};
use std::ops::Range;
use tonic::{Status, Streaming};

/// Largest digest taken: nothing is allocated on a server's word beyond what it sends.
pub const MAX_DIGEST_BYTES: u64 = 1 << 32;

const WATCH: &str = "WatchJob";
const FETCH: &str = "FetchDigest";

impl Client {
    /// Queues a digest; the same request id gives the same job, so a repeated call does no harm.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn create_job(&self, request: &CreateJobRequest) -> Result<Job, RemoteError> {
        let create = || async { self.detection().create_job(request.clone()).await };
        let job = self.unary("CreateJob", create).await?.job;
        job.ok_or_else(|| RemoteError::answer("CreateJob", "a job", "none"))
    }

    /// The seeds of the pages of a range, with which a query is made.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn seeds(&self, range: Range<u64>) -> Result<Vec<[u8; 32]>, RemoteError> {
        let get = || async {
            let request = GetSeedsRequest {
                start: range.start,
                end: range.end,
            };
            self.detection().get_seeds(request).await
        };
        let seeds = self.unary("GetSeeds", get).await?.seeds;
        let seed = |bytes: Bytes| {
            <[u8; 32]>::try_from(&bytes[..]).map_err(|_| {
                RemoteError::answer("GetSeeds", "seeds of 32 bytes", bytes.len().to_string())
            })
        };
        seeds.into_iter().map(seed).collect()
    }

    /// A job as it is now.
    ///
    /// Errors: the server's; `Answer`.
    pub async fn job(&self, job_id: &Bytes) -> Result<Job, RemoteError> {
        let get = || async {
            let job_id = job_id.clone();
            self.detection().get_job(GetJobRequest { job_id }).await
        };
        let job = self.unary("GetJob", get).await?.job;
        job.ok_or_else(|| RemoteError::answer("GetJob", "a job", "none"))
    }

    /// Waits until a job is done; `changed` sees its states.
    ///
    /// Errors: `JobFailed`, `JobCancelled`; the server's.
    pub async fn watch_job(
        &self,
        job_id: &Bytes,
        mut changed: impl FnMut(&Job),
    ) -> Result<Job, RemoteError> {
        let mut patience = Patience::new(&self.retry, WATCH);
        let mut open = None;
        loop {
            match self.next_state(job_id, &mut open).await {
                Ok(job) => {
                    patience.progress();
                    changed(&job);
                    if let Some(end) = ended(job) {
                        return end;
                    }
                }
                Err(status) => {
                    patience.reopen(&mut open, &status).await?;
                }
            }
        }
    }

    async fn next_state(
        &self,
        job_id: &Bytes,
        open: &mut Option<Streaming<omr_api::v1::WatchJobResponse>>,
    ) -> Result<Job, Status> {
        let stream = match open {
            Some(stream) => stream,
            None => {
                let job_id = job_id.clone();
                let request = WatchJobRequest { job_id };
                let stream = self.detection().watch_job(request).await?.into_inner();
                open.insert(stream)
            }
        };
        let early = || Status::unavailable("the stream ended early");
        let answer = stream.message().await?.ok_or_else(early)?;
        answer.job.ok_or_else(early)
    }

    /// The digest of a finished job; goes on at its offset when the connection breaks.
    ///
    /// Errors: the server's; `Answer` for bytes that do not follow or are too many.
    pub async fn fetch_digest(&self, job_id: &Bytes) -> Result<Vec<u8>, RemoteError> {
        let mut patience = Patience::new(&self.retry, FETCH);
        let mut digest = Vec::new();
        let mut total = None;
        let mut open = None;
        while total.is_none_or(|total| (digest.len() as u64) < total) {
            match self.next_data(job_id, digest.len() as u64, &mut open).await {
                Ok(answer) => {
                    append(FETCH, &mut digest, &mut total, &answer.into())?;
                    patience.progress();
                }
                Err(status) => {
                    patience.reopen(&mut open, &status).await?;
                }
            }
        }
        Ok(digest)
    }

    async fn next_data(
        &self,
        job_id: &Bytes,
        offset: u64,
        open: &mut Option<Streaming<FetchDigestResponse>>,
    ) -> Result<FetchDigestResponse, Status> {
        let stream = match open {
            Some(stream) => stream,
            None => {
                let job_id = job_id.clone();
                let request = FetchDigestRequest { job_id, offset };
                let stream = self.detection().fetch_digest(request).await?.into_inner();
                open.insert(stream)
            }
        };
        let early = || Status::unavailable("the stream ended early");
        stream.message().await?.ok_or_else(early)
    }

    /// Ends a job that is not finished, and has the server forget one that is.
    ///
    /// Errors: the server's.
    pub async fn cancel_job(&self, job_id: &Bytes) -> Result<(), RemoteError> {
        let cancel = || async {
            let job_id = job_id.clone();
            self.detection()
                .cancel_job(CancelJobRequest { job_id })
                .await
        };
        self.unary("CancelJob", cancel).await.map(drop)
    }
}

/// The result of a job that ended.
fn ended(job: Job) -> Option<Result<Job, RemoteError>> {
    match job.state() {
        JobState::Done => Some(Ok(job)),
        JobState::Failed => Some(Err(RemoteError::JobFailed(job.error))),
        JobState::Cancelled => Some(Err(RemoteError::JobCancelled)),
        _ => None,
    }
}

/// Bytes of a digest as they come.
pub(crate) struct Data {
    pub(crate) offset: u64,
    pub(crate) data: Bytes,
    pub(crate) total: u64,
}

impl From<FetchDigestResponse> for Data {
    fn from(answer: FetchDigestResponse) -> Self {
        Self {
            offset: answer.offset,
            data: answer.data,
            total: answer.total_bytes,
        }
    }
}

/// Appends bytes that follow those received so far.
///
/// Errors: `Answer`.
pub(crate) fn append(
    call: &'static str,
    digest: &mut Vec<u8>,
    total: &mut Option<u64>,
    data: &Data,
) -> Result<(), RemoteError> {
    let expected = *total.get_or_insert(data.total);
    let end = data.offset.checked_add(data.data.len() as u64);
    let follows = data.offset == digest.len() as u64
        && data.total == expected
        && expected <= MAX_DIGEST_BYTES
        && end.is_some_and(|end| end <= expected);
    if !follows {
        return Err(RemoteError::answer(
            call,
            format!("bytes from {} on of {expected}", digest.len()),
            format!(
                "{} bytes from {} on of {}",
                data.data.len(),
                data.offset,
                data.total
            ),
        ));
    }
    digest.extend_from_slice(&data.data);
    Ok(())
}
