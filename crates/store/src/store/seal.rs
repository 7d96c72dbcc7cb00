//! Sealing: full segments move from the tail into objects.

use std::ops::{ControlFlow, Range};

use bytes::Bytes;

use super::Store;
use super::blocks::settled;
use super::sealed::{self, build};
use crate::chain;
use crate::error::StoreError;
use crate::format::{SEGMENTS, TAIL, index_key};
use crate::log::{Log, Visit, expired};
use crate::meta::{Meta, Outcome, lock};
use crate::segment::Segment;
use crate::tail::{Piece, drop_runs};

impl Store {
    /// Calls `visit(index, clue, payload)` for every message of `range` in order, until it breaks. The checksum of
    /// every record is tested. For a lost message, whose record in the tail is or was damaged, `visit` gets an empty
    /// clue and an empty payload.
    ///
    /// Errors: [`StoreError::OutOfRange`] before the first call; [`StoreError::Expired`] before the first call, or
    /// later if messages expire meanwhile; [`StoreError::Damaged`] where a segment is damaged; those of the database
    /// and of the objects.
    pub fn read(&self, range: Range<u64>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.read_range(range, visit)
    }

    /// Returns all bytes of a segment after a test.
    pub(crate) fn fetch(&self, segment: &Segment) -> Result<Bytes, StoreError> {
        let inner = self.inner();
        let board = &inner.meta.config.board_id;
        sealed::fetch(&inner.place, &inner.meta.layout, board, segment)
    }

    /// Moves full segments out of the tail into immutable objects, and returns their number. Messages of blocks that may
    /// be withdrawn stay in the tail. A mark replaces a message whose record is damaged.
    ///
    /// Appends and reads continue meanwhile. An object is durable before the transaction that records it and removes
    /// the tail's records. A crash at any point therefore loses nothing, and leaves at most an object that the next
    /// call writes again.
    ///
    /// Errors: those of the database and of the objects.
    pub fn seal(&self) -> Result<u64, StoreError> {
        let inner = self.inner();
        let _one_at_a_time = lock(&inner.sealing);
        let _no_sweep = inner.keep_objects();
        let mut sealed = 0;
        loop {
            let (state, settled) = inner
                .meta
                .view(|view| Ok((view.state()?, settled(view, inner.fork_blocks)?)))?;
            let end = state.sealed.saturating_add(inner.segment_messages);
            if end > settled {
                return Ok(sealed);
            }
            let records = self.tail_records(state.sealed..end)?;
            let board = &inner.meta.config.board_id;
            let (segment, bytes) = build(&inner.meta.layout, board, state.sealed, &records);
            drop(records);
            inner.place.put(&segment.name(), bytes)?;
            self.record_segment(&Segment {
                sealed_at: Some(inner.meta.clock()),
                ..segment
            })?;
            sealed += 1;
        }
    }

    /// Returns whole, tested records of a range of the tail, with marks in place of lost messages.
    fn tail_records(&self, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let layout = &self.inner().meta.layout;
        let mut out = Vec::new();
        self.read(range, &mut |index, clue, payload| {
            if clue.is_empty() {
                tracing::error!(
                    index,
                    "this message is lost, its record was damaged: `omr data repair` brings it back from a backup"
                );
                layout.push_lost(index, &mut out);
            } else {
                layout.push_record(index, clue, payload, &mut out);
            }
            ControlFlow::Continue(())
        })?;
        Ok(out)
    }

    fn record_segment(&self, segment: &Segment) -> Result<(), StoreError> {
        let inner = self.inner();
        let layout = inner.meta.layout;
        inner.meta.transact(|writing, state| {
            writing.put(SEGMENTS, &index_key(segment.first), &segment.encode())?;
            drop_runs(&mut writing.table(TAIL)?, &layout, segment.end())?;
            chain::join(writing, segment.first..segment.end())?;
            state.sealed = segment.end();
            Ok(Outcome::Commit(()))
        })?;
        let mut totals = lock(&inner.totals);
        totals.segments += 1;
        totals.segment_bytes += segment.bytes;
        Ok(())
    }
}

impl Log for Store {
    fn meta(&self) -> &Meta {
        &self.inner().meta
    }

    fn in_segment(&self, segment: &Segment, at: u64, end: u64) -> Result<Piece, StoreError> {
        let inner = self.inner();
        let fetch = || Ok(sealed::records(&self.fetch(segment)?));
        // The segment may have expired since its row was read.
        let records = inner.cache.get(segment, fetch).map_err(|error| {
            let first = self.first();
            if at < first {
                expired(at..end, first)
            } else {
                error
            }
        })?;
        Ok(Piece {
            first: segment.first,
            records,
            lost: Vec::new(),
            segment: Some(*segment),
        })
    }
}
