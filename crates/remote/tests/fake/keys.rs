//! Keys of the fake.

use super::Fake;
use omr_remote::v1::key_service_server::KeyService;
use omr_remote::v1::*;
use tonic::{Request, Response, Status, Streaming};

#[tonic::async_trait]
impl KeyService for Fake {
    async fn begin_upload(
        &self,
        request: Request<BeginUploadRequest>,
    ) -> Result<Response<BeginUploadResponse>, Status> {
        let begin = request.into_inner();
        let fate = self.enter("BeginUpload", begin.total_bytes)?;
        fate.answer(self.with(|state| {
            let fresh = (Vec::new(), begin.total_bytes);
            let upload = state
                .uploads
                .entry(begin.key_hash.to_vec())
                .or_insert(fresh);
            BeginUploadResponse {
                next_offset: upload.0.len() as u64,
                complete: upload.0.len() as u64 == upload.1,
            }
        }))
    }

    async fn upload_chunks(
        &self,
        request: Request<Streaming<UploadChunksRequest>>,
    ) -> Result<Response<UploadChunksResponse>, Status> {
        let fate = self.enter("UploadChunks", "")?;
        let mut chunks = request.into_inner();
        let (mut taken, mut answer) = (0, UploadChunksResponse::default());
        while let Some(chunk) = chunks.message().await? {
            if fate.breaks == Some(taken) {
                return Err(Status::unavailable("broken"));
            }
            taken += 1;
            answer = self.with(|state| {
                let (file, total) = state.uploads.get_mut(&chunk.key_hash[..]).unwrap();
                assert_eq!(chunk.offset, file.len() as u64, "chunks follow one another");
                assert_eq!(chunk.crc32c, crc32c::crc32c(&chunk.data));
                file.extend_from_slice(&chunk.data);
                state.chunk_bytes_seen += chunk.data.len() as u64;
                UploadChunksResponse {
                    next_offset: file.len() as u64,
                    complete: file.len() as u64 == *total,
                }
            });
        }
        fate.answer(answer)
    }

    /// No client in Rust sends chunks one by one.
    async fn upload_chunk(
        &self,
        _: Request<UploadChunkRequest>,
    ) -> Result<Response<UploadChunkResponse>, Status> {
        Err(Status::unimplemented("UploadChunk"))
    }

    async fn register_key(
        &self,
        request: Request<RegisterKeyRequest>,
    ) -> Result<Response<RegisterKeyResponse>, Status> {
        let fate = self.enter("RegisterKey", "")?;
        let hash = request.into_inner().key_hash.to_vec();
        self.with(|state| state.registered.insert(hash));
        fate.answer(RegisterKeyResponse::default())
    }

    async fn revoke_key(
        &self,
        request: Request<RevokeKeyRequest>,
    ) -> Result<Response<RevokeKeyResponse>, Status> {
        let fate = self.enter("RevokeKey", "")?;
        let hash = request.into_inner().key_hash.to_vec();
        self.with(|state| state.registered.remove(&hash));
        fate.answer(RevokeKeyResponse {})
    }
}
