//! The methods that upload and register detection keys.

use crate::caller::Caller;
use crate::refuse::{self, blocking};
use crate::registrations::Key;
use crate::shared::Shared;
use crate::tokens::Right;
use omr_api::v1;
use omr_api::v1::key_service_server::KeyService;
use omr_protocol::rounds::RoundsKey;
use omr_protocol::sophomr::DetectionKey;
use omr_protocol::{DetectionKeyError, EngineKind, KeyFile, ParamSet};
use omr_store::Upload;
use std::io::Read;
use std::sync::Arc;
use tonic::{Request, Response, Status, Streaming};

pub(crate) struct Keys(pub(crate) Arc<Shared>);

impl Keys {
    async fn take_chunks(
        &self,
        caller: &Caller,
        mut chunks: Streaming<v1::UploadChunksRequest>,
    ) -> Result<Upload, Status> {
        let mut last = None;
        while let Some(chunk) = self.0.next(&mut chunks).await? {
            last = Some(self.take(caller, chunk).await?);
        }
        last.ok_or_else(|| refuse::invalid("chunks", "at least one", 0))
    }

    async fn take(
        &self,
        caller: &Caller,
        chunk: v1::UploadChunksRequest,
    ) -> Result<Upload, Status> {
        self.0
            .uploads
            .room(&self.0.store, caller, chunk.data.len())?;
        let hash = refuse::hash("key_hash", &chunk.key_hash)?;
        let found = chunk.data.len();
        if !(1..=omr_api::CHUNK_BYTES).contains(&found) {
            let expected = format!("1 to {} bytes", omr_api::CHUNK_BYTES);
            return Err(refuse::invalid("data", expected, found));
        }
        let found = crc32c::crc32c(&chunk.data);
        if found != chunk.crc32c {
            return Err(Status::data_loss(format!(
                "chunk at {}: expected CRC-32C {:08x}, found {found:08x}: send it again",
                chunk.offset, chunk.crc32c
            )));
        }
        let shared = self.0.clone();
        blocking(move || {
            let taken = shared
                .store
                .upload_chunk(hash, chunk.offset, &chunk.data)
                .map_err(|error| refuse::store(&error))?;
            shared.uploads.note(&hash, &taken);
            Ok(taken)
        })
        .await
    }

    async fn register(
        &self,
        request: Request<v1::RegisterKeyRequest>,
    ) -> Result<v1::RegisterKeyResponse, Status> {
        let shared = &self.0;
        let caller = shared.caller(&request, Right::Detect)?;
        let hash = refuse::hash("key_hash", &request.get_ref().key_hash)?;
        shared.registrations.room(&caller, &hash)?;
        let key = match shared.registrations.key(&hash) {
            Some(key) => key,
            None => self.check(hash).await?,
        };
        let own = self.0.clone();
        blocking(move || own.registrations.add(&caller, &hash, key)).await?;
        shared.metrics.upload();
        shared.metrics.keys(shared.registrations.len() as u64);
        Ok(v1::RegisterKeyResponse {
            params_id: shared.set.name().to_owned(),
            // The numbers of `KeyKind` are those of engines.
            kind: key.kind.tag().into(),
        })
    }

    /// Reads a whole key and checks it. Deletes a file that is not a key.
    async fn check(&self, hash: [u8; 32]) -> Result<Key, Status> {
        let permit = self.0.checks.acquire().await;
        let _permit = permit.map_err(|_| Status::unavailable("the server stops"))?;
        self.0.room.check_key()?;
        let shared = self.0.clone();
        blocking(move || {
            let store = &shared.store;
            let known = store
                .key_bytes(hash)
                .map_err(|error| refuse::store(&error))?;
            if known.is_none() {
                return Err(Status::not_found(
                    "expected an uploaded key, found none of this hash: upload it first",
                ));
            }
            let opened = || store.open_key(hash).map_err(|error| refuse::store(&error));
            match read(&shared.set, opened()?, opened()?) {
                Ok(key) => Ok(key),
                Err(error) if error.is_unread() => Err(Status::data_loss(error.to_string())),
                Err(error) => {
                    if let Err(error) = store.delete_key(hash) {
                        tracing::warn!(%error, "a file that is no key stays");
                    }
                    Err(Status::invalid_argument(error.to_string()))
                }
            }
        })
        .await
    }
}

/// Reads the head of a key's file, and checks the whole file.
///
/// Errors: those of reading the file.
fn read(set: &ParamSet, head: impl Read, whole: impl Read) -> Result<Key, DetectionKeyError> {
    let KeyFile {
        kind,
        key_id,
        reader,
    } = KeyFile::open(head, set)?;
    let masks = match kind {
        EngineKind::Sophomr => Some(DetectionKey::read_masks(set.sophomr()?, reader)?),
        EngineKind::Instantomr => None,
        EngineKind::Rounds => Some(RoundsKey::read_masks(set.rounds()?, reader)?),
    };
    set.check_key_file(kind, whole)?;
    Ok(Key {
        kind,
        id: key_id,
        masks,
    })
}

#[tonic::async_trait]
impl KeyService for Keys {
    async fn begin_upload(
        &self,
        request: Request<v1::BeginUploadRequest>,
    ) -> Result<Response<v1::BeginUploadResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let request = request.into_inner();
            let hash = refuse::hash("key_hash", &request.key_hash)?;
            self.0.registrations.room(&caller, &hash)?;
            let (total, most) = (request.total_bytes, self.0.longest_key);
            if !(1..=most).contains(&total) {
                let expected = format!("1 to {most}");
                return Err(refuse::invalid("total_bytes", expected, total));
            }
            let own = self.0.clone();
            let upload = blocking(move || {
                let store = &own.store;
                own.uploads.begin(store, &caller, &hash)?;
                let upload = store
                    .upload(hash, total)
                    .map_err(|error| refuse::store(&error))?;
                own.uploads.note(&hash, &upload);
                Ok(upload)
            })
            .await?;
            Ok(Response::new(v1::BeginUploadResponse {
                next_offset: upload.next_offset,
                complete: upload.complete,
            }))
        };
        self.0.observe("BeginUpload", answer).await
    }

    async fn upload_chunks(
        &self,
        request: Request<Streaming<v1::UploadChunksRequest>>,
    ) -> Result<Response<v1::UploadChunksResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let _room = self.0.stream(&caller)?;
            let upload = self.take_chunks(&caller, request.into_inner()).await?;
            Ok(Response::new(v1::UploadChunksResponse {
                next_offset: upload.next_offset,
                complete: upload.complete,
            }))
        };
        self.0.observe("UploadChunks", answer).await
    }

    async fn upload_chunk(
        &self,
        request: Request<v1::UploadChunkRequest>,
    ) -> Result<Response<v1::UploadChunkResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let Some(chunk) = request.into_inner().chunk else {
                return Err(refuse::invalid("chunk", "one", "none"));
            };
            let upload = self.take(&caller, chunk).await?;
            Ok(Response::new(v1::UploadChunkResponse {
                next_offset: upload.next_offset,
                complete: upload.complete,
            }))
        };
        self.0.observe("UploadChunk", answer).await
    }

    async fn register_key(
        &self,
        request: Request<v1::RegisterKeyRequest>,
    ) -> Result<Response<v1::RegisterKeyResponse>, Status> {
        let answer = async { Ok(Response::new(self.register(request).await?)) };
        self.0.observe("RegisterKey", answer).await
    }

    async fn revoke_key(
        &self,
        request: Request<v1::RevokeKeyRequest>,
    ) -> Result<Response<v1::RevokeKeyResponse>, Status> {
        let answer = async {
            let caller = self.0.caller(&request, Right::Detect)?;
            let hash = refuse::hash("key_hash", &request.get_ref().key_hash)?;
            let shared = self.0.clone();
            blocking(move || {
                shared.registrations.kind(&caller.account, &hash)?;
                // Orders are deleted first, so that they request nothing more.
                shared.orders.revoke(&caller.account, &hash)?;
                shared.jobs.revoke(&caller.account, &hash)?;
                if let Some(sessions) = &shared.sessions {
                    sessions.revoke(&caller.account, &hash)?;
                }
                shared.registrations.remove(&caller.account, &hash)?;
                shared.metrics.keys(shared.registrations.len() as u64);
                Ok(())
            })
            .await?;
            Ok(Response::new(v1::RevokeKeyResponse {}))
        };
        self.0.observe("RevokeKey", answer).await
    }
}
