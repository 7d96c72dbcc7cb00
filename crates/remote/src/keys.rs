//! Detection keys: hashed, sent in chunks, resumed where an upload broke off.

mod source;

pub use source::KeyMaker;

use crate::retry::Patience;
use crate::{Client, RemoteError};
use bytes::Bytes;
use omr_api::v1::{
    BeginUploadRequest, BeginUploadResponse, RegisterKeyRequest, RegisterKeyResponse,
    RevokeKeyRequest, UploadChunksRequest,
};
use source::Source;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

/// Chunks read ahead of the network.
const AHEAD: usize = 4;

const UPLOAD: &str = "UploadChunks";

/// A key by its content.
#[derive(Clone)]
struct Upload {
    source: Source,
    hash: Bytes,
    bytes: u64,
    chunk: usize,
}

impl Client {
    /// Sends a key's file and returns its BLAKE3 hash. Bytes that the server has already are not
    /// sent again. Now and then `progress` is called with the bytes sent and their total, at last with all of them.
    ///
    /// Errors: the server's; `File`.
    pub async fn upload_key(
        &self,
        path: &Path,
        progress: impl Fn(u64, u64),
    ) -> Result<[u8; 32], RemoteError> {
        self.upload(Source::File(path.to_owned()), progress).await
    }

    /// Sends a key while it is made, so that the whole key is never stored, and returns its BLAKE3 hash. The key is made
    /// once before, to be hashed, and again after each interruption of the network. `progress` is called as by
    /// [`Client::upload_key`].
    ///
    /// Errors: the errors of the server; `Made`.
    pub async fn upload_made_key(
        &self,
        make: KeyMaker,
        progress: impl Fn(u64, u64),
    ) -> Result<[u8; 32], RemoteError> {
        self.upload(Source::Made(make), progress).await
    }

    async fn upload(
        &self,
        source: Source,
        progress: impl Fn(u64, u64),
    ) -> Result<[u8; 32], RemoteError> {
        let chunk = (self.limits().await?.chunk_bytes as usize).clamp(1, omr_api::CHUNK_BYTES);
        let (hash, bytes) = hashed(&source).await?;
        let upload = Upload {
            source,
            hash: hash.to_vec().into(),
            bytes,
            chunk,
        };
        let mut patience = Patience::new(&self.retry, UPLOAD);
        let mut reached = 0;
        loop {
            let begun = self.begin(&upload).await?;
            progress(begun.next_offset, bytes);
            if begun.complete {
                return Ok(hash);
            }
            if begun.next_offset > reached {
                reached = begun.next_offset;
                patience.progress();
            }
            match self.chunks(&upload, begun.next_offset, &progress).await? {
                Ok(true) => {
                    progress(bytes, bytes);
                    return Ok(hash);
                }
                Ok(false) => patience.pause(&Status::unavailable("not complete")).await?,
                Err(status) => patience.pause(&status).await?,
            }
        }
    }

    /// The hash under which a key's file is uploaded.
    ///
    /// Errors: `File`.
    pub async fn key_hash(path: &Path) -> Result<[u8; 32], RemoteError> {
        Ok(hashed(&Source::File(path.to_owned())).await?.0)
    }

    /// Registers an uploaded key under the caller's token.
    ///
    /// Errors: the server's.
    pub async fn register_key(&self, hash: [u8; 32]) -> Result<RegisterKeyResponse, RemoteError> {
        let key_hash: Bytes = hash.to_vec().into();
        let register = || async {
            let key_hash = key_hash.clone();
            self.keys()
                .register_key(RegisterKeyRequest { key_hash })
                .await
        };
        self.unary("RegisterKey", register).await
    }

    /// Ends the caller's registration of a key, and the caller's jobs that use it.
    ///
    /// Errors: the server's.
    pub async fn revoke_key(&self, hash: [u8; 32]) -> Result<(), RemoteError> {
        let key_hash: Bytes = hash.to_vec().into();
        let revoke = || async {
            let key_hash = key_hash.clone();
            self.keys().revoke_key(RevokeKeyRequest { key_hash }).await
        };
        self.unary("RevokeKey", revoke).await.map(drop)
    }

    async fn begin(&self, upload: &Upload) -> Result<BeginUploadResponse, RemoteError> {
        let begin = || async {
            let request = BeginUploadRequest {
                key_hash: upload.hash.clone(),
                total_bytes: upload.bytes,
            };
            self.keys().begin_upload(request).await
        };
        let begun = self.unary("BeginUpload", begin).await?;
        if begun.next_offset <= upload.bytes {
            Ok(begun)
        } else {
            Err(RemoteError::answer(
                "BeginUpload",
                format!("an offset of at most {}", upload.bytes),
                begun.next_offset.to_string(),
            ))
        }
    }

    /// Sends chunks from `offset` on; returns whether the server then had all.
    async fn chunks(
        &self,
        upload: &Upload,
        offset: u64,
        progress: &impl Fn(u64, u64),
    ) -> Result<Result<bool, Status>, RemoteError> {
        let (chunks, outgoing) = mpsc::channel(AHEAD);
        let sent = Arc::new(AtomicU64::new(offset));
        let (reader, counter) = (upload.clone(), sent.clone());
        let reading = tokio::task::spawn_blocking(move || reader.read(offset, &chunks, &counter));
        let mut keys = self.keys();
        let call = keys.upload_chunks(ReceiverStream::new(outgoing));
        let mut tick = tokio::time::interval(std::time::Duration::from_millis(200));
        tokio::pin!(call);
        let answer = loop {
            tokio::select! {
                answer = &mut call => break answer,
                _ = tick.tick() => progress(sent.load(Ordering::Relaxed), upload.bytes),
            }
        };
        // The receiver is gone with the call, so the reader has ended or will at its next chunk.
        let read = reading.await.map_err(|_| RemoteError::Task)?;
        read.map_err(|error| upload.source.error(error))?;
        Ok(answer.map(|answer| answer.into_inner().complete))
    }
}

impl Upload {
    fn read(
        &self,
        offset: u64,
        chunks: &mpsc::Sender<UploadChunksRequest>,
        sent: &AtomicU64,
    ) -> io::Result<()> {
        let (mut at, mut taken) = (offset, true);
        let mut send = |mut data: Vec<u8>| {
            // A file may have grown since it was hashed.
            data.truncate(usize::try_from(self.bytes - at).unwrap_or(usize::MAX));
            let len = data.len() as u64;
            if len == 0 {
                return false;
            }
            let request = UploadChunksRequest {
                key_hash: self.hash.clone(),
                offset: at,
                crc32c: crc32c::crc32c(&data),
                data: data.into(),
            };
            at += len;
            taken = chunks.blocking_send(request).is_ok();
            if taken {
                sent.store(at, Ordering::Relaxed);
            }
            taken && at < self.bytes
        };
        self.source.read(offset, self.chunk, &mut send)?;
        if taken && at < self.bytes {
            Err(io::ErrorKind::UnexpectedEof.into())
        } else {
            Ok(())
        }
    }
}

/// Hash and length of a key.
async fn hashed(source: &Source) -> Result<([u8; 32], u64), RemoteError> {
    let own = source.clone();
    let hashed = tokio::task::spawn_blocking(move || own.hashed())
        .await
        .map_err(|_| RemoteError::Task)?;
    hashed.map_err(|error| source.error(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_since_it_was_hashed_is_sent_no_further_and_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 4000]).unwrap();
        for (bytes, offset, sent) in [(4000, 0, 4000), (3000, 500, 2500), (3000, 3000, 0)] {
            assert_eq!(
                read(&file, bytes, offset).unwrap(),
                sent,
                "{bytes} {offset}"
            );
        }
        let short = read(&file, 5000, 0).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof);
    }

    /// Returns the bytes that are sent of a file whose length was `bytes`.
    fn read(file: &tempfile::NamedTempFile, bytes: u64, offset: u64) -> io::Result<usize> {
        let upload = Upload {
            source: Source::File(file.path().to_owned()),
            hash: Bytes::new(),
            bytes,
            chunk: 700,
        };
        let (chunks, mut sent) = mpsc::channel(10);
        upload.read(offset, &chunks, &AtomicU64::new(0))?;
        drop(chunks);
        let all = std::iter::from_fn(|| sent.blocking_recv());
        Ok(all.map(|chunk| chunk.data.len()).sum())
    }
}
