//! The calls of a worker: units of work, keys, hashes, and digests that it brings.

use crate::jobs::{Data, append};
use crate::retry::Patience;
use crate::{Client, RemoteError};
use bytes::Bytes;
use omr_api::v1::worker_service_client::WorkerServiceClient;
use omr_api::v1::{
    CompleteRequest, FailRequest, LeaseRequest, ReadHashesRequest, ReadKeyRequest, ReadKeyResponse,
    RenewRequest, WorkUnit, Worker,
};
use omr_api::{CHUNK_BYTES, MESSAGE_BYTES};
use std::ops::Range;
use tonic::{Status, Streaming};

const READ_KEY: &str = "ReadKey";
const READ_HASHES: &str = "ReadHashes";
const HASH_BYTES: usize = 32;

impl From<ReadKeyResponse> for Data {
    fn from(answer: ReadKeyResponse) -> Self {
        Self {
            offset: answer.offset,
            data: answer.data,
            total: answer.total_bytes,
        }
    }
}

impl Client {
    fn workers(&self) -> WorkerServiceClient<crate::client::Service> {
        WorkerServiceClient::new(self.service.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES)
    }

    /// Waits for a unit; none where there is nothing to do within `wait_seconds`, which must be less than a call may
    /// take.
    ///
    /// Errors: the server's.
    pub async fn lease(&self, request: &LeaseRequest) -> Result<Option<WorkUnit>, RemoteError> {
        let lease = || async { self.workers().lease(request.clone()).await };
        Ok(self.unary("Lease", lease).await?.unit)
    }

    /// Renews a lease and returns the places of the jobs that are still wanted.
    ///
    /// Errors: the server's.
    pub async fn renew(&self, request: &RenewRequest) -> Result<Vec<u32>, RemoteError> {
        let renew = || async { self.workers().renew(request.clone()).await };
        Ok(self.unary("Renew", renew).await?.wanted)
    }

    /// Brings the digest of a job of a unit; false: nobody wants it any more.
    ///
    /// Errors: the server's.
    pub async fn complete(
        &self,
        worker: &Worker,
        unit_id: &Bytes,
        job: u32,
        digest: Vec<u8>,
    ) -> Result<bool, RemoteError> {
        let hash: Bytes = blake3::hash(&digest).as_bytes().to_vec().into();
        let digest = Bytes::from(digest);
        let starts = (0..digest.len().max(1)).step_by(CHUNK_BYTES);
        let piece = |start: usize| {
            let data = digest.slice(start..digest.len().min(start + CHUNK_BYTES));
            match start {
                0 => CompleteRequest {
                    worker: Some(worker.clone()),
                    unit_id: unit_id.clone(),
                    job,
                    total_bytes: digest.len() as u64,
                    hash: hash.clone(),
                    data,
                },
                _ => CompleteRequest {
                    data,
                    ..CompleteRequest::default()
                },
            }
        };
        let pieces: Vec<CompleteRequest> = starts.map(piece).collect();
        let complete = || async {
            let pieces = futures::stream::iter(pieces.clone());
            self.workers().complete(pieces).await
        };
        Ok(self.unary("Complete", complete).await?.kept)
    }

    /// Gives a job of a unit back.
    ///
    /// Errors: the server's.
    pub async fn fail(&self, request: &FailRequest) -> Result<(), RemoteError> {
        let fail = || async { self.workers().fail(request.clone()).await };
        self.unary("Fail", fail).await.map(drop)
    }

    /// Downloads the file of a key of a unit, `bytes` bytes long. After an interruption it continues at its offset.
    ///
    /// Errors: the errors of the server; `Answer` where the file does not have the hash.
    pub async fn read_key(
        &self,
        worker: &Worker,
        hash: [u8; 32],
        bytes: u64,
    ) -> Result<Vec<u8>, RemoteError> {
        let mut patience = Patience::new(&self.retry, READ_KEY);
        let (mut file, mut total, mut open) = (Vec::new(), Some(bytes), None);
        while (file.len() as u64) < bytes {
            let request = || ReadKeyRequest {
                worker: Some(worker.clone()),
                key_hash: hash.to_vec().into(),
                offset: file.len() as u64,
            };
            match self.next_of_key(request, &mut open).await {
                Ok(answer) => {
                    append(READ_KEY, &mut file, &mut total, &answer.into())?;
                    patience.progress();
                }
                Err(status) => {
                    patience.reopen(&mut open, &status).await?;
                }
            }
        }
        if *blake3::hash(&file).as_bytes() == hash {
            Ok(file)
        } else {
            Err(RemoteError::answer(
                READ_KEY,
                "the file that the hash names",
                "another",
            ))
        }
    }

    async fn next_of_key(
        &self,
        request: impl Fn() -> ReadKeyRequest,
        open: &mut Option<Streaming<ReadKeyResponse>>,
    ) -> Result<ReadKeyResponse, Status> {
        let stream = match open {
            Some(stream) => stream,
            None => {
                let stream = self.workers().read_key(request()).await?.into_inner();
                open.insert(stream)
            }
        };
        let early = || Status::unavailable("the stream ended early");
        stream.message().await?.ok_or_else(early)
    }

    /// The hashes of bound clues of a range; none from a board of plain ones.
    ///
    /// Errors: the server's; `Answer` for hashes that do not follow.
    pub async fn read_hashes(
        &self,
        range: Range<u64>,
    ) -> Result<Option<Vec<[u8; HASH_BYTES]>>, RemoteError> {
        let mut patience = Patience::new(&self.retry, READ_HASHES);
        let mut hashes: Vec<[u8; HASH_BYTES]> = Vec::new();
        loop {
            let next = range.start + hashes.len() as u64;
            if next >= range.end {
                return Ok(Some(hashes));
            }
            match self.some_hashes(next..range.end, &mut hashes).await {
                Ok(()) if hashes.is_empty() => return Ok(None),
                Ok(()) => patience.progress(),
                Err(Broken::Status(status)) => patience.pause(&status).await?,
                Err(Broken::Answer(error)) => return Err(error),
            }
        }
    }

    /// Reads until the stream ends.
    async fn some_hashes(
        &self,
        range: Range<u64>,
        hashes: &mut Vec<[u8; HASH_BYTES]>,
    ) -> Result<(), Broken> {
        let Range { start, end } = range;
        let request = ReadHashesRequest { start, end };
        let mut stream = self
            .workers()
            .read_hashes(request)
            .await
            .map_err(Broken::Status)?
            .into_inner();
        let mut next = start;
        while let Some(answer) = stream.message().await.map_err(Broken::Status)? {
            let (pieces, rest) = answer.hashes.as_chunks::<HASH_BYTES>();
            let after = next + pieces.len() as u64;
            if answer.first_index != next || !rest.is_empty() || after > end || pieces.is_empty() {
                return Err(Broken::Answer(RemoteError::answer(
                    READ_HASHES,
                    format!("hashes from {next} on"),
                    format!(
                        "{} bytes from {} on",
                        answer.hashes.len(),
                        answer.first_index
                    ),
                )));
            }
            hashes.extend_from_slice(pieces);
            next = after;
        }
        Ok(())
    }
}

/// Why a stream of hashes ended.
enum Broken {
    Status(Status),
    Answer(RemoteError),
}
