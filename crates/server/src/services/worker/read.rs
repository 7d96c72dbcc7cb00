//! The data that workers read: keys of their units, and hashes of messages.

use super::Workers;
use crate::refuse::{self, blocking};
use crate::services::{Answers, READY};
use crate::source::StoreSource;
use crate::tokens::Right;
use omr_api::v1;
use omr_detector::MessageSource;
use std::io::Read;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Status};

/// The number of messages whose hashes are in one response.
const TOGETHER: u64 = 4096;

impl Workers {
    /// Streams a key of a unit that the worker has leased, from an offset on.
    pub(super) fn key(
        &self,
        request: Request<v1::ReadKeyRequest>,
    ) -> Result<Answers<v1::ReadKeyResponse>, Status> {
        let who = self.who(&request, request.get_ref().worker.as_ref())?;
        let room = self.0.stream(&self.0.caller(&request, Right::Work)?)?;
        let request = request.into_inner();
        let hash = refuse::hash("key_hash", &request.key_hash)?;
        if !self.0.jobs.may_read(&who, &hash) {
            return Err(Status::permission_denied(
                "expected a key of a unit that this worker has leased, found another",
            ));
        }
        let (to, answers) = mpsc::channel(READY);
        let shared = self.0.clone();
        tokio::task::spawn_blocking(move || {
            let _room = room;
            let sent = |answer| to.blocking_send(answer).is_ok();
            let opened = shared.store.key_bytes(hash).and_then(|found| {
                let total = found.ok_or(omr_store::StoreError::NoKey(hash))?;
                Ok((total, shared.store.open_key(hash)?))
            });
            let (total, mut file) = match opened {
                Ok(total_and_file) => total_and_file,
                Err(error) => {
                    sent(Err(refuse::store(&error)));
                    return;
                }
            };
            if let Err(error) = send(&mut file, request.offset, total, sent) {
                tracing::warn!(%error, "a key for a worker");
                sent(Err(Status::data_loss(error.to_string())));
            }
        });
        Ok(Box::pin(ReceiverStream::new(answers)))
    }

    /// Streams the hashes of the bound clues of a range.
    pub(super) fn hashes(
        &self,
        request: Request<v1::ReadHashesRequest>,
    ) -> Result<Answers<v1::ReadHashesResponse>, Status> {
        let room = self.0.stream(&self.0.caller(&request, Right::Work)?)?;
        let (v1::ReadHashesRequest { start, end }, len) =
            (request.into_inner(), self.0.store.len());
        if start > end || end > len {
            let text = format!("expected a range in 0..{len}, found {start}..{end}");
            return Err(Status::out_of_range(text));
        }
        refuse::expired(&self.0.store, start)?;
        let (to, answers) = mpsc::channel(READY);
        let shared = self.0.clone();
        tokio::spawn(async move {
            let _room = room;
            for first in (start..end).step_by(TOGETHER as usize) {
                let piece = first..end.min(first + TOGETHER);
                let shared = shared.clone();
                let read = blocking(move || {
                    let mut source = StoreSource {
                        store: &shared.store,
                        damage: &shared.damage,
                        params: shared.set.clue(),
                    };
                    source
                        .hashes(piece)
                        .map_err(|error| Status::data_loss(error.to_string()))
                });
                let answer = match read.await {
                    Ok(None) => return,
                    Ok(Some(kept)) => Ok(v1::ReadHashesResponse {
                        first_index: first,
                        hashes: kept.hashes.concat().into(),
                    }),
                    Err(status) => Err(status),
                };
                let failed = answer.is_err();
                if to.send(answer).await.is_err() || failed {
                    return;
                }
            }
        });
        Ok(Box::pin(ReceiverStream::new(answers)))
    }
}

/// Sends a file in chunks, until its end or until the client has left.
fn send(
    file: &mut dyn Read,
    offset: u64,
    total: u64,
    sent: impl Fn(Result<v1::ReadKeyResponse, Status>) -> bool,
) -> std::io::Result<()> {
    let mut next = std::io::copy(&mut file.take(offset), &mut std::io::sink())?;
    loop {
        let mut data = Vec::new();
        file.take(omr_api::CHUNK_BYTES as u64)
            .read_to_end(&mut data)?;
        let bytes = data.len() as u64;
        let answer = v1::ReadKeyResponse {
            offset: next,
            data: data.into(),
            total_bytes: total,
        };
        next += bytes;
        if bytes == 0 || !sent(Ok(answer)) || next >= total {
            return Ok(());
        }
    }
}
