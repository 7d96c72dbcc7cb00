//! The methods of the services in `proto/omr/v1`.

mod address;
mod admin;
mod board;
mod capability;
mod detection;
mod key;
mod worker;

pub(crate) use address::Addresses;
pub(crate) use admin::Admin;
pub(crate) use board::{Board, check_clue};
pub(crate) use capability::Capability;
pub(crate) use detection::Detection;
pub(crate) use key::Keys;
pub(crate) use worker::Workers;

use futures::Stream;
use std::pin::Pin;
use tonic::Status;

/// The stream of a method's responses.
pub(crate) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The number of responses prepared for a client. A slow client delays only its own stream.
const READY: usize = 2;

/// Returns a running hash as responses contain it: empty if it is unknown.
fn hash_bytes(hash: Option<[u8; 32]>) -> bytes::Bytes {
    hash.map(Vec::from).unwrap_or_default().into()
}

/// Returns a stream of `bytes` in chunks, from an offset on.
///
/// Errors: OUT_OF_RANGE where the offset is greater than the length.
fn chunks<T: Send + 'static>(
    bytes: Vec<u8>,
    offset: u64,
    chunk: impl Fn(u64, bytes::Bytes, u64) -> T + Send + 'static,
) -> Result<Answers<T>, Status> {
    let total = bytes.len() as u64;
    if offset > total {
        let text = format!("offset: expected at most {total}, found {offset}");
        return Err(Status::out_of_range(text));
    }
    let rest = bytes::Bytes::from(bytes).slice(offset as usize..);
    let starts = (0..rest.len().max(1)).step_by(omr_api::CHUNK_BYTES);
    let parts = starts.map(move |start| {
        let end = rest.len().min(start + omr_api::CHUNK_BYTES);
        Ok(chunk(offset + start as u64, rest.slice(start..end), total))
    });
    Ok(Box::pin(futures::stream::iter(parts)))
}
