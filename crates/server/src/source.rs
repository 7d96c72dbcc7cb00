//! The board as a source of messages for the detector.

use crate::damage::Damage;
use omr_detector::MessageSource;
use omr_protocol::ClueParams;
use omr_protocol::clue::{BoundClue, HashesOf, KeptHashes, message_hash};
use omr_store::{Clues, Gathered, Store, StoreError};
use std::ops::{ControlFlow, Range};

type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// The messages of a store.
pub(crate) struct StoreSource<'a> {
    pub(crate) store: &'a Store,
    pub(crate) damage: &'a Damage,
    /// The parameters of clues in the board's set.
    pub(crate) params: &'a ClueParams,
}

impl StoreSource<'_> {
    fn collect(
        &self,
        range: Range<u64>,
        bytes: u32,
        part: impl for<'b> Fn(&'b [u8], &'b [u8]) -> &'b [u8],
    ) -> Result<Vec<u8>, SourceError> {
        let mut out = Vec::with_capacity((range.end - range.start) as usize * bytes as usize);
        let read = self.store.read(range, &mut |index, clue, payload| {
            if clue.is_empty() {
                // A clue of zeros is of no kind, so the detector skips the message.
                self.damage.lost(index);
                out.resize(out.len() + bytes as usize, 0);
            } else {
                out.extend_from_slice(part(clue, payload));
            }
            ControlFlow::Continue(())
        });
        read.inspect_err(|error| self.damage.note(error))?;
        Ok(out)
    }

    /// Returns the hashes of bound clues. Missing ones are computed now and stored for the next digest.
    fn gather(&self, range: Range<u64>, of: HashesOf) -> Result<Gathered, StoreError> {
        let gathered = self.store.hashes(range, of.tag, &mut |clue, payload| {
            message_hash(self.params, &of.board_id, clue, payload)
        })?;
        if let Some((first, anew)) = gathered.anew()
            && let Err(error) = self.store.keep_hashes(first, &anew)
        {
            // The digest does not need them to be stored.
            tracing::warn!(%error, "hashes of messages are not kept");
        }
        Ok(gathered)
    }
}

impl MessageSource for StoreSource<'_> {
    fn clue_bytes(&self) -> usize {
        self.store.board().clue_bytes as usize
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.collect(range, self.store.board().clue_bytes, |clue, _| clue)
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.collect(range, self.store.board().payload_bytes, |_, payload| {
            payload
        })
    }

    fn hashes(&mut self, range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        let board = self.store.board();
        let bytes = BoundClue::bytes(self.params);
        if board.clues == Clues::Plain || board.clue_bytes as usize != bytes {
            return Ok(None);
        }
        let of = HashesOf::new(self.params, &board.board_id);
        // Without hashes the detector reads the messages, and reports what is wrong with them.
        let gathered = self
            .gather(range, of)
            .inspect_err(|error| self.damage.note(error));
        Ok(gathered.ok().map(|all| KeptHashes::new(of, all.hashes)))
    }
}
