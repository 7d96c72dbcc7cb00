//! The tail of a log: its latest messages, in runs of records that are rows of the meta file.

use omr_mismatch::Mismatch;
use std::ops::{ControlFlow, Range};

use bytes::Bytes;
use redb::ReadableTable;

use crate::config::Message;
use crate::error::{Evidence, Part, Redb, StoreError};
use crate::format::{Layout, TAIL, index_key, index_of};
use crate::segment::Segment;
use crate::tables::{Open, View, Writing};

/// Bytes of records in one row of the tail, at most, unless a single record is longer: with its
/// key it just fits a page of redb, which is a power of two.
const RUN_BYTES: usize = (256 << 10) - 128;
/// Bytes of the tail that a read takes at a time.
const STEP_BYTES: usize = 1 << 20;

/// The end of the log in a transaction.
pub(crate) struct Tail<'t, 'l> {
    table: Open<'t>,
    layout: &'l Layout,
    /// Records not stored yet, the first of index `first`.
    run: Vec<u8>,
    first: u64,
    pub(crate) end: u64,
}

impl<'t, 'l> Tail<'t, 'l> {
    pub(crate) fn open(
        writing: &Writing<'t>,
        layout: &'l Layout,
        len: u64,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            table: writing.table(TAIL)?,
            layout,
            run: Vec::new(),
            first: len,
            end: len,
        })
    }

    pub(crate) fn push_all(&mut self, messages: &[Message]) -> Result<Range<u64>, StoreError> {
        let start = self.end;
        for message in messages {
            let (clue, payload) = (&message.clue, &message.payload);
            self.layout
                .push_record(self.end, clue, payload, &mut self.run);
            self.end += 1;
            if self.run.len() + self.layout.record_bytes() > RUN_BYTES {
                self.store()?;
            }
        }
        Ok(start..self.end)
    }

    fn store(&mut self) -> Result<(), StoreError> {
        if self.end > self.first {
            let key = index_key(self.first);
            let table = &mut self.table;
            table
                .insert(key.as_slice(), self.run.as_slice())
                .map_err(Redb)?;
        }
        self.run.clear();
        self.first = self.end;
        Ok(())
    }

    /// Stores what is left and returns the new length.
    pub(crate) fn finish(mut self) -> Result<u64, StoreError> {
        self.store()?;
        Ok(self.end)
    }
}

/// Some records, one after another.
pub(crate) struct Piece {
    /// Index of the first record.
    pub(crate) first: u64,
    pub(crate) records: Bytes,
    /// The segment they are; none in the tail.
    pub(crate) segment: Option<Segment>,
}

impl Piece {
    pub(crate) fn damaged(&self, at: u64, evidence: Mismatch<Evidence>) -> StoreError {
        match &self.segment {
            Some(segment) => segment.damaged(evidence),
            None => damaged_tail(at, at + 1, evidence),
        }
    }
}

pub(crate) fn damaged_tail(first: u64, end: u64, evidence: Mismatch<Evidence>) -> StoreError {
    StoreError::Damaged {
        object: "tail".into(),
        first,
        end,
        evidence,
    }
}

/// Runs of the tail from the one that holds message `at` on, up to a limit of bytes.
pub(crate) fn tail_piece(
    view: &View,
    layout: &Layout,
    at: u64,
    end: u64,
) -> Result<Piece, StoreError> {
    let missing = |found| damaged_tail(at, end, Mismatch::new(Evidence::Present, found));
    let run = view.last_to(TAIL, &index_key(at))?;
    let (key, _) = run.ok_or_else(|| missing(Evidence::Missing))?;
    let first = index_of("tail", &key)?;
    let (mut next, mut records) = (first, Vec::new());
    view.each(TAIL, &key, |key, run| {
        // A gap ends the piece; the next one begins there and finds nothing.
        let whole = run.len().is_multiple_of(layout.record_bytes());
        if index_of("tail", key)? != next || !whole || next >= end {
            return Ok(ControlFlow::Break(()));
        }
        records.extend_from_slice(run);
        next += (run.len() / layout.record_bytes()) as u64;
        let enough = records.len() >= STEP_BYTES;
        Ok(if enough {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    if next <= at {
        return Err(missing(Evidence::Number(next)));
    }
    Ok(Piece {
        first,
        records: Bytes::from(records),
        segment: None,
    })
}

/// Removes the records before message `end` from the tail; the run that holds it is cut.
pub(crate) fn drop_runs(table: &mut Open<'_>, layout: &Layout, end: u64) -> Result<(), StoreError> {
    let mut rest = None;
    let to = index_key(end);
    {
        let mut before = table.range(..to.as_slice()).map_err(Redb)?;
        if let Some(last) = before.next_back() {
            let (key, run) = last.map_err(Redb)?;
            let first = index_of("tail", key.value())?;
            let skip = (end - first) as usize * layout.record_bytes();
            rest = run.value().get(skip..).map(<[u8]>::to_vec);
        }
    }
    table
        .retain_in(..to.as_slice(), |_, _| false)
        .map_err(Redb)?;
    if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
        table.insert(to.as_slice(), rest.as_slice()).map_err(Redb)?;
    }
    Ok(())
}

/// Tests the sizes of the messages of post number `post`.
///
/// Errors: [`StoreError::Size`].
pub(crate) fn check_sizes(
    layout: &Layout,
    post: usize,
    messages: &[Message],
) -> Result<(), StoreError> {
    for (position, message) in messages.iter().enumerate() {
        for (part, expected, found) in [
            (Part::Clue, layout.clue_bytes, message.clue.len()),
            (Part::Payload, layout.payload_bytes, message.payload.len()),
        ] {
            if expected != found {
                return Err(StoreError::Size {
                    post,
                    position,
                    part,
                    expected,
                    found,
                });
            }
        }
    }
    Ok(())
}
