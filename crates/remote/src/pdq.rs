//! Private database queries: tables, evaluation keys, encrypted queries and their answers.

use crate::jobs::{Data, append};
use crate::retry::Patience;
use crate::{Client, RemoteError};
use bytes::Bytes;
use omr_api::CHUNK_BYTES;
use omr_api::v1::query_response::Part;
use omr_api::v1::{
    FindKeyRequest, GetSchemaRequest, ListTablesRequest, ListTablesResponse, QueryAnswer,
    QueryRequest, UploadKeyRequest, UploadKeyResponse,
};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

/// Chunks read ahead of the network.
const AHEAD: usize = 4;

const UPLOAD: &str = "UploadKey";
const QUERY: &str = "Query";

/// The progress of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Others go first.
    Waiting,
    /// The number of blocks of rows that are done, and the number of all blocks.
    Blocks(u64, u64),
}

impl From<QueryAnswer> for Data {
    fn from(answer: QueryAnswer) -> Self {
        Self {
            offset: answer.offset,
            data: answer.data,
            total: answer.total_bytes,
        }
    }
}

impl Client {
    /// The server's tables and parameter sets.
    ///
    /// Errors: the server's.
    pub async fn tables(&self) -> Result<ListTablesResponse, RemoteError> {
        let list = || async { self.pdq().list_tables(ListTablesRequest {}).await };
        self.unary("ListTables", list).await
    }

    /// The public schema of a table, as JSON.
    ///
    /// Errors: the server's.
    pub async fn schema(&self, table: &str) -> Result<Bytes, RemoteError> {
        let get = || async {
            let table = table.to_owned();
            self.pdq().get_schema(GetSchemaRequest { table }).await
        };
        Ok(self.unary("GetSchema", get).await?.schema_json)
    }

    /// Whether the server has the evaluation key of this hash.
    ///
    /// Errors: the server's.
    pub async fn has_evaluation_key(&self, hash: [u8; 32]) -> Result<bool, RemoteError> {
        let find = || async {
            let key_hash = hash.to_vec().into();
            self.pdq().find_key(FindKeyRequest { key_hash }).await
        };
        Ok(self.unary("FindKey", find).await?.found)
    }

    /// Sends an evaluation key's file, unless the server has it; gives its hash and the bytes sent.
    ///
    /// Errors: the server's; `File`; `Answer`.
    pub async fn upload_evaluation_key(&self, path: &Path) -> Result<([u8; 32], u64), RemoteError> {
        let hash = Self::key_hash(path).await?;
        if self.has_evaluation_key(hash).await? {
            return Ok((hash, 0));
        }
        let file_error = |source| RemoteError::File(path.to_owned(), source);
        let bytes = std::fs::metadata(path).map_err(file_error)?.len();
        let mut patience = Patience::new(&self.retry, UPLOAD);
        loop {
            match self.send_key(path, bytes).await? {
                Ok(answer) if answer.key_hash[..] == hash => return Ok((hash, bytes)),
                Ok(_) => {
                    return Err(RemoteError::answer(UPLOAD, "the key's hash", "another"));
                }
                Err(status) => patience.pause(&status).await?,
            }
        }
    }

    async fn send_key(
        &self,
        path: &Path,
        bytes: u64,
    ) -> Result<Result<UploadKeyResponse, Status>, RemoteError> {
        let (chunks, outgoing) = mpsc::channel(AHEAD);
        let from = path.to_owned();
        let reading = tokio::task::spawn_blocking(move || read_key(&from, bytes, &chunks));
        let answer = self.pdq().upload_key(ReceiverStream::new(outgoing)).await;
        // The receiver is gone with the call, so the reader has ended or will at its next chunk.
        let read = reading.await.map_err(|_| RemoteError::Task)?;
        read.map_err(|source| RemoteError::File(path.to_owned(), source))?;
        Ok(answer.map(tonic::Response::into_inner))
    }

    /// Sends a query's file and gives the answer's. A busy server is asked again; `progress` hears how far it is.
    ///
    /// Errors: the server's; `Answer` for bytes that do not follow or are too many.
    pub async fn query(
        &self,
        table: &str,
        key_hash: [u8; 32],
        query: Bytes,
        mut progress: impl FnMut(Stage),
    ) -> Result<Vec<u8>, RemoteError> {
        let mut patience = Patience::new(&self.retry, QUERY);
        loop {
            let parts = query_parts(table, key_hash, query.clone());
            match self.ask(parts, &mut patience, &mut progress).await? {
                Ok(answer) => return Ok(answer),
                Err(status) => patience.pause(&status).await?,
            }
        }
    }

    async fn ask(
        &self,
        parts: Vec<QueryRequest>,
        patience: &mut Patience<'_>,
        progress: &mut impl FnMut(Stage),
    ) -> Result<Result<Vec<u8>, Status>, RemoteError> {
        let mut stream = match self.pdq().query(tokio_stream::iter(parts)).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => return Ok(Err(status)),
        };
        let (mut answer, mut total) = (Vec::new(), None);
        while total.is_none_or(|total| (answer.len() as u64) < total) {
            let part = match stream.message().await {
                Ok(Some(message)) => message.part,
                Ok(None) => return Ok(Err(Status::unavailable("the stream ended early"))),
                Err(status) => return Ok(Err(status)),
            };
            patience.progress();
            match part {
                Some(Part::Progress(at)) if at.waiting => progress(Stage::Waiting),
                Some(Part::Progress(at)) => progress(Stage::Blocks(at.blocks_done, at.blocks)),
                Some(Part::Answer(data)) => append(QUERY, &mut answer, &mut total, &data.into())?,
                None => return Err(RemoteError::answer(QUERY, "progress or data", "neither")),
            }
        }
        Ok(Ok(answer))
    }
}

/// A query's file in messages.
fn query_parts(table: &str, key_hash: [u8; 32], query: Bytes) -> Vec<QueryRequest> {
    let total_bytes = query.len() as u64;
    let starts = (0..query.len().max(1)).step_by(CHUNK_BYTES);
    let part = |start: usize| QueryRequest {
        data: query.slice(start..query.len().min(start + CHUNK_BYTES)),
        ..QueryRequest::default()
    };
    let mut parts: Vec<QueryRequest> = starts.map(part).collect();
    parts[0].table = table.to_owned();
    parts[0].key_hash = key_hash.to_vec().into();
    parts[0].total_bytes = total_bytes;
    parts
}

fn read_key(path: &Path, bytes: u64, chunks: &mpsc::Sender<UploadKeyRequest>) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut offset = 0;
    while offset < bytes {
        let len = (bytes - offset).min(CHUNK_BYTES as u64) as usize;
        let mut data = vec![0; len];
        file.read_exact(&mut data)?;
        let request = UploadKeyRequest {
            total_bytes: if offset == 0 { bytes } else { 0 },
            data: data.into(),
        };
        if chunks.blocking_send(request).is_err() {
            return Ok(());
        }
        offset += len as u64;
    }
    Ok(())
}
