//! The board as the detector reads it.

use crate::damage::Damage;
use omr_detector::MessageSource;
use omr_store::Store;
use std::ops::{ControlFlow, Range};

type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Messages of a store.
pub(crate) struct StoreSource<'a> {
    pub(crate) store: &'a Store,
    pub(crate) damage: &'a Damage,
}

impl StoreSource<'_> {
    fn collect(
        &self,
        range: Range<u64>,
        bytes: u32,
        part: impl for<'b> Fn(&'b [u8], &'b [u8]) -> &'b [u8],
    ) -> Result<Vec<u8>, SourceError> {
        let mut out = Vec::with_capacity((range.end - range.start) as usize * bytes as usize);
        let read = self.store.read(range, &mut |_, clue, payload| {
            out.extend_from_slice(part(clue, payload));
            ControlFlow::Continue(())
        });
        read.inspect_err(|error| self.damage.note(error))?;
        Ok(out)
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
}
