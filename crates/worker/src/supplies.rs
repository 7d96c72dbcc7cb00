//! Keys and messages that are read from the server.

use crate::kept::{Kept, Place};
use futures::TryStreamExt;
use omr_detector::MessageSource;
use omr_protocol::ParamSet;
use omr_protocol::clue::{HashesOf, KeptHashes};
use omr_remote::v1::{self, Part};
use omr_remote::{Client, Piece, RemoteError};
use omr_runner::{KeyError, KeyRef, Supplies, Unit};
use std::io::{Cursor, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;

type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// The server as a source of keys and messages.
pub(crate) struct Remote {
    pub(crate) client: Client,
    pub(crate) handle: Handle,
    pub(crate) worker: v1::Worker,
    pub(crate) set: Arc<ParamSet>,
    /// Length in bytes of a clue, as in the last unit.
    pub(crate) clue_bytes: Arc<AtomicUsize>,
    /// The cache of messages.
    pub(crate) kept: Mutex<Kept>,
}

impl Supplies for Remote {
    fn key(&self, key: &KeyRef) -> Result<Box<dyn Read + Send>, KeyError> {
        let read = self.client.read_key(&self.worker, key.hash, key.bytes);
        let file = self
            .handle
            .block_on(read)
            .map_err(|error| KeyError::Read(std::io::Error::other(error)))?;
        Ok(Box::new(Cursor::new(file)))
    }

    fn messages(&self, unit: &Unit) -> Box<dyn MessageSource + Send + '_> {
        Box::new(Messages {
            remote: self,
            of: HashesOf::new(self.set.clue(), &unit.board_id),
            history_id: unit.history_id,
            clue_bytes: self.clue_bytes.load(Ordering::Relaxed),
            payload_bytes: unit.payload_bytes,
        })
    }
}

/// The messages of a board.
struct Messages<'a> {
    remote: &'a Remote,
    of: HashesOf,
    history_id: [u8; 16],
    clue_bytes: usize,
    payload_bytes: usize,
}

/// Reads a part of `bytes` bytes of each message of a range, one after another. Lost messages are replaced by zeros.
///
/// Errors: those of the server; `Answer` for parts of another length.
pub async fn read_part(
    client: &Client,
    range: Range<u64>,
    part: Part,
    bytes: usize,
) -> Result<Vec<u8>, RemoteError> {
    let of = |message: &v1::Message| match part {
        Part::Clues => message.clue.clone(),
        _ => message.payload.clone(),
    };
    let add = |mut all: Vec<u8>, piece: Piece| async move {
        for message in &piece.messages {
            if message.clue.is_empty() && message.payload.is_empty() {
                // The message is lost. No kind of clue begins with zero, so the detector ignores it.
                all.resize(all.len() + bytes, 0);
                continue;
            }
            let found = of(message);
            if found.len() != bytes {
                let expected = format!("{bytes} bytes of a message");
                return Err(RemoteError::answer(
                    "ReadMessages",
                    expected,
                    found.len().to_string(),
                ));
            }
            all.extend_from_slice(&found);
        }
        Ok(all)
    };
    client.read(range, part).try_fold(Vec::new(), add).await
}

impl Messages<'_> {
    /// Returns parts of messages from the cache or from the server.
    fn collect(&self, range: Range<u64>, part: Part, bytes: usize) -> Result<Vec<u8>, SourceError> {
        let place = Place {
            history_id: self.history_id,
            part,
            range: range.clone(),
        };
        let kept = || {
            self.remote
                .kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(found) = kept().find(&place) {
            return Ok(found.to_vec());
        }
        let read =
            self.remote
                .handle
                .block_on(read_part(&self.remote.client, range, part, bytes))?;
        kept().keep(place, &read);
        Ok(read)
    }
}

impl MessageSource for Messages<'_> {
    fn clue_bytes(&self) -> usize {
        self.clue_bytes
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.collect(range, Part::Clues, self.clue_bytes)
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.collect(range, Part::Payloads, self.payload_bytes)
    }

    fn hashes(&mut self, range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        let read = self.remote.client.read_hashes(range);
        let hashes = self.remote.handle.block_on(read)?;
        Ok(hashes.map(|all| KeptHashes::new(self.of, all)))
    }
}
