//! The methods of `PdqService`.

use super::arrivals::{Part, Upload, disk};
use super::keys::{Hash, LoadError, Owner, load};
use super::run::{AGAIN, Asked, no_key, run};
use super::{LONGEST_QUERY, Pdq};
use crate::caller::Caller;
use crate::refuse::{self, blocking};
use crate::services::Answers;
use crate::share::Place;
use crate::shared::{next, observe};
use crate::tokens::Right;
use bytes::Bytes;
use futures::StreamExt;
use omr_api::v1::pdq_service_server::PdqService;
use omr_api::{CHUNK_BYTES, v1};
use omr_pdq::Hosted;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// The time within which a query must arrive, and that for a key.
const ARRIVAL: [Duration; 2] = [Duration::from_secs(600), Duration::from_secs(3600)];
/// The number of messages prepared for a client.
const READY: usize = 4;

pub(super) struct Service(pub(super) Arc<Pdq>);

/// Checks the length of a chunk of a file that lacks `left` bytes.
fn check_chunk(data: &[u8], left: u64) -> Result<(), Status> {
    let most = left.min(CHUNK_BYTES as u64);
    if (1..=most).contains(&(data.len() as u64)) {
        Ok(())
    } else {
        let expected = format!("1 to {most} bytes");
        Err(refuse::invalid("data", expected, data.len()))
    }
}

/// Adds the next bytes to a file of `total` bytes.
async fn grown(mut upload: Upload, total: u64, data: Bytes) -> Result<Upload, Status> {
    check_chunk(&data, total - upload.bytes)?;
    blocking(move || {
        upload.take(&data)?;
        Ok(upload)
    })
    .await
}

/// Checks the announced length of a file.
fn check_total(found: u64, most: u64) -> Result<(), Status> {
    if (1..=most).contains(&found) {
        Ok(())
    } else {
        Err(refuse::invalid(
            "total_bytes",
            format!("1 to {most}"),
            found,
        ))
    }
}

async fn within<T>(
    most: Duration,
    work: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    tokio::time::timeout(most, work).await.unwrap_or_else(|_| {
        Err(Status::deadline_exceeded(format!(
            "expected all of it within {} s, found less",
            most.as_secs()
        )))
    })
}

impl Service {
    async fn next<T>(&self, stream: &mut Streaming<T>) -> Result<T, Status> {
        next(stream, self.0.config.limits.idle_seconds)
            .await?
            .ok_or_else(|| refuse::invalid("stream", "more messages", "its end"))
    }

    async fn upload(
        &self,
        caller: &Caller,
        mut chunks: Streaming<v1::UploadKeyRequest>,
    ) -> Result<v1::UploadKeyResponse, Status> {
        let pdq = &self.0;
        let first = self.next(&mut chunks).await?;
        let total = first.total_bytes;
        check_total(total, pdq.sets.longest_key())?;
        let mut upload = self.begin(caller).await?;
        let mut data = first.data;
        loop {
            upload = grown(upload, total, data).await?;
            if upload.bytes == total {
                let (hash, params_id) = self.keep(Owner::of(caller), upload).await?;
                return Ok(v1::UploadKeyResponse {
                    key_hash: hash.to_vec().into(),
                    params_id,
                });
            }
            data = self.next(&mut chunks).await?.data;
        }
    }

    /// Begins a file.
    async fn begin(&self, caller: &Caller) -> Result<Upload, Status> {
        let (pdq, caller) = (self.0.clone(), caller.clone());
        blocking(move || pdq.arrivals.upload(&pdq.keys, &caller)).await
    }

    /// Checks and stores a whole key. Returns its hash and its parameter set.
    async fn keep(&self, owner: Owner, upload: Upload) -> Result<(Hash, String), Status> {
        let pdq = self.0.clone();
        let permit = self.0.checks.acquire().await;
        let _permit = permit.map_err(|_| Status::unavailable("the server stops"))?;
        blocking(move || {
            let (mut file, hash) = upload.whole()?;
            let loaded = load(file.as_file_mut(), &pdq.sets).map_err(|error| of_key(&error))?;
            let params_id = loaded.params.name().to_owned();
            pdq.keys
                .add(file, hash, owner, Arc::new(loaded))
                .map_err(|error| disk(&error))?;
            pdq.metrics.upload();
            pdq.metrics.keys(pdq.keys.count() as u64);
            Ok((hash, params_id))
        })
        .await
    }

    async fn take_part(
        &self,
        caller: &Caller,
        part: v1::UploadPartRequest,
    ) -> Result<v1::UploadPartResponse, Status> {
        let pdq = self.0.clone();
        let hash = refuse::hash("file_hash", &part.file_hash)?;
        check_total(part.total_bytes, pdq.sets.longest_key().max(LONGEST_QUERY))?;
        check_chunk(&part.data, part.total_bytes.saturating_sub(part.offset))?;
        let caller = caller.clone();
        let next_offset = blocking(move || {
            let part = Part {
                hash,
                total: part.total_bytes,
                offset: part.offset,
                data: &part.data,
            };
            pdq.arrivals.take(&pdq.keys, &caller, &part)
        });
        Ok(v1::UploadPartResponse {
            next_offset: next_offset.await?,
        })
    }

    /// Runs a query that arrived in parts.
    async fn ask_arrived(
        &self,
        request: &Request<v1::AskRequest>,
    ) -> Result<Answers<v1::AskResponse>, Status> {
        let pdq = &self.0;
        let caller = pdq.callers.with_right(request, Right::Detect)?;
        let v1::AskRequest {
            table,
            key_hash,
            query_hash,
        } = request.get_ref();
        let (served, key) = self.known(table, key_hash)?;
        let query = refuse::hash("query_hash", query_hash)?;
        let room = self.room(&caller)?;
        let arrived = pdq.arrivals.whole(&caller, &query)?;
        let bytes = blocking(move || arrived.bytes(LONGEST_QUERY)).await?;
        let asked = Asked {
            served,
            key,
            bytes,
            room,
        };
        let answers = self.answers(asked).map(|answer| {
            answer.map(|response| v1::AskResponse {
                response: Some(response),
            })
        });
        Ok(Box::pin(answers))
    }

    /// Returns a table and checks that a key is known.
    fn known(&self, table: &str, key_hash: &[u8]) -> Result<(Arc<Hosted>, Hash), Status> {
        let served = self.0.tables.named(table)?;
        let key = refuse::hash("key_hash", key_hash)?;
        if self.0.keys.find(&key) {
            Ok((served, key))
        } else {
            Err(no_key())
        }
    }

    /// Reserves a place for a query.
    fn room(&self, caller: &Caller) -> Result<Place, Status> {
        self.0
            .room
            .take(caller)
            .ok_or_else(|| refuse::busy("too many queries wait already: try again later", AGAIN))
    }

    /// Starts a query.
    fn answers(&self, asked: Asked) -> ReceiverStream<Result<v1::QueryResponse, Status>> {
        let (answers, ready) = mpsc::channel(READY);
        tokio::spawn(run(self.0.clone(), asked, answers));
        ReceiverStream::new(ready)
    }

    /// Receives a query. It has no place among the queries before it has arrived completely.
    async fn receive(
        &self,
        caller: &Caller,
        mut parts: Streaming<v1::QueryRequest>,
    ) -> Result<(Arc<Hosted>, Hash, Upload), Status> {
        let first = self.next(&mut parts).await?;
        let (served, key) = self.known(&first.table, &first.key_hash)?;
        let total = first.total_bytes;
        check_total(total, LONGEST_QUERY)?;
        let mut upload = self.begin(caller).await?;
        let mut data = first.data;
        loop {
            upload = grown(upload, total, data).await?;
            if upload.bytes == total {
                return Ok((served, key, upload));
            }
            data = self.next(&mut parts).await?.data;
        }
    }

    async fn ask_streamed(
        &self,
        request: Request<Streaming<v1::QueryRequest>>,
    ) -> Result<Answers<v1::QueryResponse>, Status> {
        let pdq = &self.0;
        let caller = pdq.callers.with_right(&request, Right::Detect)?;
        // If there is no place now, the client need not send the query.
        drop(self.room(&caller)?);
        let received = self.receive(&caller, request.into_inner());
        let (served, key, upload) = within(ARRIVAL[0], received).await?;
        let room = self.room(&caller)?;
        let bytes = blocking(move || upload.read()).await?;
        let asked = Asked {
            served,
            key,
            bytes,
            room,
        };
        Ok(Box::pin(self.answers(asked)))
    }
}

fn of_key(error: &LoadError) -> Status {
    match error {
        LoadError::Params(_) => Status::failed_precondition(error.to_string()),
        LoadError::Read(error) => disk(error),
        LoadError::Frame(_) | LoadError::Key(_) => Status::invalid_argument(error.to_string()),
    }
}

#[tonic::async_trait]
impl PdqService for Service {
    async fn list_tables(
        &self,
        request: Request<v1::ListTablesRequest>,
    ) -> Result<Response<v1::ListTablesResponse>, Status> {
        let pdq = &self.0;
        let answer = async {
            pdq.callers.of(&request)?;
            let summary = |served: &Hosted| {
                let schema = served.schema();
                v1::TableSummary {
                    name: schema.name.clone(),
                    rows: schema.rows,
                    columns: schema.columns.len() as u32,
                    schema_fingerprint: schema.fingerprint().to_vec().into(),
                }
            };
            Ok(Response::new(v1::ListTablesResponse {
                tables: pdq.tables.all().map(summary).collect(),
                params_ids: pdq.sets.names(),
                key_bytes: pdq.sets.longest_key(),
                query_bytes: LONGEST_QUERY,
                transform_seconds: pdq.sets.transform_seconds(),
                threads: pdq.pool.current_num_threads() as u32,
            }))
        };
        observe(&pdq.metrics, "ListTables", answer).await
    }

    async fn get_schema(
        &self,
        request: Request<v1::GetSchemaRequest>,
    ) -> Result<Response<v1::GetSchemaResponse>, Status> {
        let pdq = &self.0;
        let answer = async {
            pdq.callers.of(&request)?;
            let served = pdq.tables.named(&request.get_ref().table)?;
            let schema_json = served.public().to_json().into_bytes().into();
            Ok(Response::new(v1::GetSchemaResponse { schema_json }))
        };
        observe(&pdq.metrics, "GetSchema", answer).await
    }

    async fn find_key(
        &self,
        request: Request<v1::FindKeyRequest>,
    ) -> Result<Response<v1::FindKeyResponse>, Status> {
        let pdq = &self.0;
        let answer = async {
            pdq.callers.with_right(&request, Right::Detect)?;
            let hash = refuse::hash("key_hash", &request.get_ref().key_hash)?;
            let found = pdq.keys.find(&hash);
            Ok(Response::new(v1::FindKeyResponse { found }))
        };
        observe(&pdq.metrics, "FindKey", answer).await
    }

    async fn upload_key(
        &self,
        request: Request<Streaming<v1::UploadKeyRequest>>,
    ) -> Result<Response<v1::UploadKeyResponse>, Status> {
        let pdq = &self.0;
        let answer = async {
            let caller = pdq.callers.with_right(&request, Right::Detect)?;
            let upload = self.upload(&caller, request.into_inner());
            Ok(Response::new(within(ARRIVAL[1], upload).await?))
        };
        observe(&pdq.metrics, "UploadKey", answer).await
    }

    type QueryStream = Answers<v1::QueryResponse>;

    async fn query(
        &self,
        request: Request<Streaming<v1::QueryRequest>>,
    ) -> Result<Response<Self::QueryStream>, Status> {
        let answer = async { Ok(Response::new(self.ask_streamed(request).await?)) };
        observe(&self.0.metrics, "Query", answer).await
    }

    async fn upload_part(
        &self,
        request: Request<v1::UploadPartRequest>,
    ) -> Result<Response<v1::UploadPartResponse>, Status> {
        let answer = async {
            let caller = self.0.callers.with_right(&request, Right::Detect)?;
            let taken = self.take_part(&caller, request.into_inner()).await?;
            Ok(Response::new(taken))
        };
        observe(&self.0.metrics, "UploadPart", answer).await
    }

    async fn keep_key(
        &self,
        request: Request<v1::KeepKeyRequest>,
    ) -> Result<Response<v1::KeepKeyResponse>, Status> {
        let pdq = &self.0;
        let answer = async {
            let caller = pdq.callers.with_right(&request, Right::Detect)?;
            let hash = refuse::hash("key_hash", &request.get_ref().key_hash)?;
            let arrived = pdq.arrivals.whole(&caller, &hash)?;
            let upload = blocking(move || arrived.checked()).await?;
            let (_, params_id) = self.keep(Owner::of(&caller), upload).await?;
            Ok(Response::new(v1::KeepKeyResponse { params_id }))
        };
        observe(&pdq.metrics, "KeepKey", answer).await
    }

    type AskStream = Answers<v1::AskResponse>;

    async fn ask(
        &self,
        request: Request<v1::AskRequest>,
    ) -> Result<Response<Self::AskStream>, Status> {
        let answer = async { Ok(Response::new(self.ask_arrived(&request).await?)) };
        observe(&self.0.metrics, "Ask", answer).await
    }
}
