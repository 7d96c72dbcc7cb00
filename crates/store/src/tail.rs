//! The tail of a log: its latest messages, in runs of records, which are rows of the meta file.

use omr_errors::Mismatch;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use bytes::Bytes;
use redb::ReadableTable;

use crate::chain::Chain;
use crate::config::Message;
use crate::error::{Evidence, Part, Redb, StoreError};
use crate::format::{Layout, State, TAIL, index_key, index_of};
use crate::segment::Segment;
use crate::tables::{Open, View, Writing};

/// The greatest number of bytes of records in one row of the tail, unless a single record is longer. With its key a row
/// of this length just fits a page of redb, whose size is a power of two.
const RUN_BYTES: usize = (256 << 10) - 128;
/// The greatest number of bytes of the tail that are read at once.
const STEP_BYTES: usize = 1 << 20;

/// A writer at the end of the log in a transaction.
pub(crate) struct Tail<'t, 'l> {
    table: Open<'t>,
    layout: &'l Layout,
    /// The records that are not stored yet; the first is that of message `first`.
    run: Vec<u8>,
    first: u64,
    pub(crate) end: u64,
    chain: Chain,
}

impl<'t, 'l> Tail<'t, 'l> {
    pub(crate) fn open(
        writing: &Writing<'t>,
        layout: &'l Layout,
        state: &State,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            table: writing.table(TAIL)?,
            layout,
            run: Vec::new(),
            first: state.len,
            end: state.len,
            chain: Chain::new(state),
        })
    }

    pub(crate) fn push_all(&mut self, messages: &[Message]) -> Result<Range<u64>, StoreError> {
        let start = self.end;
        for message in messages {
            let (clue, payload) = (&message.clue, &message.payload);
            self.layout
                .push_record(self.end, clue, payload, &mut self.run);
            self.chain.push(clue, payload);
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

    /// Stores the remaining records, and puts the new length and the new running hash into `state`.
    pub(crate) fn finish(
        mut self,
        writing: &Writing<'_>,
        state: &mut State,
    ) -> Result<(), StoreError> {
        self.store()?;
        let Self {
            table, chain, end, ..
        } = self;
        drop(table);
        state.head = chain.finish(writing)?;
        state.len = end;
        Ok(())
    }
}

/// Consecutive records.
pub(crate) struct Piece {
    /// The index of the first record.
    pub(crate) first: u64,
    pub(crate) records: Bytes,
    /// The messages that no row of the tail contains, not even as marked lost.
    pub(crate) lost: Vec<u64>,
    /// The segment that contains the records; `None` for records of the tail.
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

/// Returns the greatest number of records in a run.
pub(crate) fn most_in_run(layout: &Layout) -> u64 {
    (RUN_BYTES / layout.record_bytes()).max(1) as u64
}

/// Returns the bytes of a full run.
pub(crate) fn run_bytes(layout: &Layout) -> usize {
    most_in_run(layout) as usize * layout.record_bytes()
}

/// Returns the error of a message that no row of the tail contains.
pub(crate) fn lost_record(index: u64) -> StoreError {
    damaged_tail(
        index,
        index + 1,
        Mismatch::new(Evidence::Present, Evidence::Malformed),
    )
}

/// Returns records of the tail from message `at` on, up to [`STEP_BYTES`] and to message `limit`. A message that no row
/// contains intact is lost.
pub(crate) fn tail_piece(
    view: &View,
    layout: &Layout,
    at: u64,
    limit: u64,
) -> Result<Piece, StoreError> {
    let most = (STEP_BYTES / layout.record_bytes()).max(1) as u64;
    let end = limit.min(at.saturating_add(most));
    let mut records = Vec::new();
    for index in at..end {
        layout.push_lost(index, &mut records);
    }
    let mut missing = vec![true; (end - at) as usize];
    let nearest = match view.last_to(TAIL, &index_key(at))? {
        Some((key, _)) => key,
        None => index_key(at).to_vec(),
    };
    take_intact(view, layout, at..end, &nearest, &mut missing, &mut records)?;
    if missing.contains(&true) {
        // A row with a damaged key may lie between a message and the key of its run.
        let from = index_key(at.saturating_sub(most_in_run(layout)));
        take_intact(view, layout, at..end, &from, &mut missing, &mut records)?;
    }
    let lost = (at..end)
        .zip(missing)
        .filter_map(|(index, missing)| missing.then_some(index))
        .collect();
    Ok(Piece {
        first: at,
        records: Bytes::from(records),
        lost,
        segment: None,
    })
}

/// Replaces the records that are marked in `missing` by intact ones from the rows from key `from` on.
fn take_intact(
    view: &View,
    layout: &Layout,
    range: Range<u64>,
    from: &[u8],
    missing: &mut [bool],
    records: &mut [u8],
) -> Result<(), StoreError> {
    let bytes = layout.record_bytes();
    view.each(TAIL, from, |key, run| {
        let Ok(first) = index_of("tail", key) else {
            return Ok(ControlFlow::Continue(()));
        };
        if first >= range.end {
            return Ok(ControlFlow::Break(()));
        }
        let skip = usize::try_from(range.start.saturating_sub(first)).unwrap_or(usize::MAX);
        let wanted = run.chunks_exact(bytes).skip(skip);
        for (index, record) in (first.max(range.start)..range.end).zip(wanted) {
            let place = (index - range.start) as usize;
            if missing[place] && layout.open_record(index, record).is_ok() {
                records[place * bytes..(place + 1) * bytes].copy_from_slice(record);
                missing[place] = false;
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Removes the records before message `end` from the tail. The rest of a run that contains `end` stays.
pub(crate) fn drop_runs(table: &mut Open<'_>, layout: &Layout, end: u64) -> Result<(), StoreError> {
    let mut rest = BTreeMap::new();
    let (from, to) = (
        index_key(end.saturating_sub(most_in_run(layout))),
        index_key(end),
    );
    for row in table.range(from.as_slice()..to.as_slice()).map_err(Redb)? {
        let (key, run) = row.map_err(Redb)?;
        let Ok(first) = index_of("tail", key.value()) else {
            continue;
        };
        let records = run.value().chunks_exact(layout.record_bytes());
        for (index, record) in (first..).zip(records).skip((end - first) as usize) {
            if layout.open_record(index, record).is_ok() {
                rest.insert(index, record.to_vec());
            }
        }
    }
    table
        .retain_in(..to.as_slice(), |_, _| false)
        .map_err(Redb)?;
    let mut run = Vec::new();
    for (index, record) in &rest {
        run.extend_from_slice(record);
        if !rest.contains_key(&(index + 1)) {
            let count = (run.len() / layout.record_bytes()) as u64;
            let key = index_key(index + 1 - count);
            table.insert(key.as_slice(), run.as_slice()).map_err(Redb)?;
            run.clear();
        }
    }
    Ok(())
}

/// Removes the records from message `len` on from the tail.
pub(crate) fn drop_from(table: &mut Open<'_>, layout: &Layout, len: u64) -> Result<(), StoreError> {
    let from = index_key(len);
    let mut rest = None;
    if let Some(last) = table.range(..from.as_slice()).map_err(Redb)?.next_back() {
        let (key, run) = last.map_err(Redb)?;
        if let Ok(first) = index_of("tail", key.value()) {
            let bytes = (len - first) as usize * layout.record_bytes();
            let kept = run.value().get(..bytes);
            rest = kept.map(|kept| (first, kept.to_vec()));
        }
    }
    if let Some((first, kept)) = rest {
        table
            .insert(index_key(first).as_slice(), kept.as_slice())
            .map_err(Redb)?;
    }
    table
        .retain_in(from.as_slice().., |_, _| false)
        .map_err(Redb)?;
    Ok(())
}

/// Tests the sizes of the messages of a post; `post` is the position of the post in the call.
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
