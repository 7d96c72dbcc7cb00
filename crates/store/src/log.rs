//! The log: appending in one transaction, reading from the tail and from segments, sealing.

use std::ops::{ControlFlow, Range};
use std::time::Duration;

use crate::config::Message;
use crate::error::Part;
use bytes::Bytes;
use redb::ReadableTable;

use crate::error::{Evidence, Redb, Refusal, StoreError};
use crate::format::{Layout, SEGMENTS, TAIL, index_key, index_of};
use crate::meta::{Meta, Outcome, lock};
use crate::once::Once;
use crate::posts::{Ids, contents};
use crate::segment::{self, Segment};
use crate::store::Store;
use crate::tables::{Open, View, Writing};

/// Bytes of records in one row of the tail, at most, unless a single record is longer: with its
/// key it just fits a page of redb, which is a power of two.
const RUN_BYTES: usize = (256 << 10) - 128;
/// Bytes of the tail that a read takes at a time.
const STEP_BYTES: usize = 1 << 20;
/// Ids forgotten by one append, beside two for each of its posts.
const FORGET: usize = 64;

/// Messages that are posted together, under an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Drawn at random by the sender; the same again, with the same contents, means the same post.
    pub id: [u8; 16],
    /// Who posts: an id is hers, not anybody's who saw it.
    pub account: String,
    /// At least one.
    pub messages: Vec<Message>,
}

/// Where a post is on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Indices of its messages.
    pub range: Range<u64>,
    /// The post was known: the range is that of the first time.
    pub repeated: bool,
}

/// A visitor of messages: index, clue, payload. It breaks to end the reading.
pub type Visit<'a> = dyn FnMut(u64, &[u8], &[u8]) -> ControlFlow<()> + 'a;

impl Store {
    /// Appends `posts` in one durable transaction, all or none, but for those that are remembered
    /// by their id, also from the same call, and those that are refused, of which nothing is
    /// appended: under the id of a post of other contents or of another account, or with one-time
    /// keys that were used before.
    ///
    /// The caller has tested that the keys of bound clues signed: without that, whoever sees a
    /// message could have its key refused by posting first.
    ///
    /// They are on the disk when this returns. After an error of the disk the next call opens the
    /// meta file anew; a post that reached the disk without an answer is found by its id.
    ///
    /// Errors: [`StoreError::Size`], [`StoreError::PostLength`], [`StoreError::DiskFull`],
    /// [`StoreError::KeyCount`] and those of the database.
    pub fn append(&self, posts: &[Post]) -> Result<Vec<Result<Appended, Refusal>>, StoreError> {
        let inner = self.inner();
        check_posts(&inner.meta.layout, posts)?;
        let now = inner.meta.clock();
        let memory = u64::try_from(inner.post_id_memory.as_millis()).unwrap_or(u64::MAX);
        let hashes: Vec<[u8; 32]> = posts.iter().map(contents).collect();
        inner.meta.transact(|writing, state| {
            let mut ids = Ids::open(writing)?;
            ids.forget(now.saturating_sub(memory), FORGET + 2 * posts.len())?;
            let mut once = Once::open(writing, &inner.meta.layout, state)?;
            let mut tail = Tail::open(writing, &inner.meta.layout, state.len)?;
            let mut out = Vec::with_capacity(posts.len());
            for (post, hash) in posts.iter().zip(&hashes) {
                if let Some(known) = ids.find(&post.id)? {
                    let repeated = true;
                    out.push(match known.is_of(post, hash) {
                        true => Ok(Appended {
                            range: known.range,
                            repeated,
                        }),
                        false => Err(Refusal::OtherPost),
                    });
                    continue;
                }
                let used = once.take(&post.messages, tail.end)?;
                if !used.is_empty() {
                    out.push(Err(Refusal::UsedKeys { keys: used }));
                    continue;
                }
                let range = tail.push_all(&post.messages)?;
                ids.remember(&post.id, &range, now, hash)?;
                let repeated = false;
                out.push(Ok(Appended { range, repeated }));
            }
            let end = tail.finish()?;
            if end == state.len {
                return Ok(Outcome::Nothing(out));
            }
            state.len = end;
            Ok(Outcome::Commit(out))
        })
    }

    /// Calls `visit(index, clue, payload)` for every message of `range` in order, until it breaks.
    /// Every record's checksum is tested.
    ///
    /// Errors: [`StoreError::OutOfRange`], [`StoreError::Expired`] before any call, the latter also where messages
    /// expire meanwhile; [`StoreError::Damaged`] after the calls
    /// for the intact messages before; those of the database and of the objects.
    pub fn read(&self, range: Range<u64>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.read_range(range, visit)
    }

    /// All bytes of a segment, tested.
    pub(crate) fn fetch(&self, segment: &Segment) -> Result<Bytes, StoreError> {
        let inner = self.inner();
        let board = &inner.meta.config.board_id;
        segment::fetch(&inner.place, &inner.meta.layout, board, segment)
    }

    /// Moves full segments out of the tail into immutable objects; gives how many.
    ///
    /// Appends and reads go on meanwhile. An object is durable before the transaction that records
    /// it and drops the tail's records, so a crash at any point loses nothing and leaves at most an
    /// object that the next call writes again.
    ///
    /// Errors: [`StoreError::Damaged`] where a record of the tail is damaged, which keeps it there;
    /// those of the database and of the objects.
    pub fn seal(&self) -> Result<u64, StoreError> {
        let inner = self.inner();
        let _one_at_a_time = lock(&inner.sealing);
        let _no_sweep = inner.keep_objects();
        let mut sealed = 0;
        loop {
            let state = inner.meta.view(View::state)?;
            let end = state.sealed.saturating_add(inner.segment_messages);
            if end > state.len {
                return Ok(sealed);
            }
            let records = self.tail_records(state.sealed..end)?;
            let board = &inner.meta.config.board_id;
            let (segment, bytes) =
                segment::build(&inner.meta.layout, board, state.sealed, &records);
            drop(records);
            inner.place.put(&segment.name(), bytes)?;
            self.record_segment(&Segment {
                sealed_at: Some(inner.meta.clock()),
                ..segment
            })?;
            sealed += 1;
        }
    }

    /// Whole, tested records of a range of the tail.
    fn tail_records(&self, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let layout = &self.inner().meta.layout;
        let mut out = Vec::new();
        self.read(range, &mut |index, clue, payload| {
            layout.push_record(index, clue, payload, &mut out);
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
        let fetch = || Ok(segment::records(&self.fetch(segment)?));
        // It may have expired since its row was read.
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
            segment: Some(*segment),
        })
    }
}

/// Messages in order, in a meta file and perhaps in segments.
pub(crate) trait Log {
    /// The meta file.
    fn meta(&self) -> &Meta;

    /// The records of a segment, for a reader of messages `at..end`.
    fn in_segment(&self, segment: &Segment, at: u64, end: u64) -> Result<Piece, StoreError>;

    /// Reads messages: see [`Store::read`].
    fn read_range(&self, range: Range<u64>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let (first, len) = (self.meta().first(), self.meta().len());
        if range.start < range.end && range.start < first {
            return Err(expired(range, first));
        }
        if range.start > range.end || range.end > len {
            return Err(StoreError::OutOfRange {
                start: range.start,
                end: range.end,
                expected: len,
            });
        }
        let layout = &self.meta().layout;
        let mut at = range.start;
        while at < range.end {
            let piece = self.piece(at, range.end)?;
            let skip = (at - piece.first) as usize * layout.record_bytes();
            let records = piece.records.get(skip..).unwrap_or_default();
            for record in records.chunks_exact(layout.record_bytes()) {
                if at == range.end {
                    break;
                }
                let opened = layout.open_record(at, record);
                let (clue, payload) =
                    opened.map_err(|(expected, found)| piece.damaged(at, expected, found))?;
                if visit(at, clue, payload).is_break() {
                    return Ok(());
                }
                at += 1;
            }
        }
        Ok(())
    }

    /// Records that hold message `at`, and others behind it.
    fn piece(&self, at: u64, end: u64) -> Result<Piece, StoreError> {
        let layout = self.meta().layout;
        let found = self.meta().view(|view| {
            let state = view.state()?;
            if at < state.first {
                return Err(expired(at..end, state.first));
            }
            if at < state.sealed {
                return Ok(Err(segment::holding(view, at)?));
            }
            tail_piece(view, &layout, at, end).map(Ok)
        })?;
        found.or_else(|segment| self.in_segment(&segment, at, end))
    }
}

/// The error of a range that begins before message `first`, the first that is kept.
fn expired(range: Range<u64>, first: u64) -> StoreError {
    StoreError::Expired {
        start: range.start,
        end: range.end.min(first),
        first,
    }
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

/// Some records, one after another.
pub(crate) struct Piece {
    /// Index of the first record.
    pub(crate) first: u64,
    pub(crate) records: Bytes,
    /// The segment they are; none in the tail.
    segment: Option<Segment>,
}

impl Piece {
    pub(crate) fn damaged(&self, at: u64, expected: Evidence, found: Evidence) -> StoreError {
        match &self.segment {
            Some(segment) => segment.damaged(expected, found),
            None => damaged_tail(at, at + 1, expected, found),
        }
    }
}

pub(crate) fn damaged_tail(
    first: u64,
    end: u64,
    expected: Evidence,
    found: Evidence,
) -> StoreError {
    StoreError::Damaged {
        object: "tail".into(),
        first,
        end,
        expected,
        found,
    }
}

/// Tests a run of the tail, the first record being that of `first`; gives the number of records.
///
/// Errors: [`StoreError::Damaged`] for the first record that is not intact.
pub(crate) fn check_run(layout: &Layout, first: u64, run: &[u8]) -> Result<u64, StoreError> {
    let mut index = first;
    let mut records = run.chunks_exact(layout.record_bytes());
    for record in records.by_ref() {
        let opened = layout.open_record(index, record);
        opened.map_err(|(expected, found)| damaged_tail(index, index + 1, expected, found))?;
        index += 1;
    }
    if !records.remainder().is_empty() || index == first {
        let expected = Evidence::Bytes(layout.record_bytes() as u64);
        let found = Evidence::Bytes(records.remainder().len() as u64);
        return Err(damaged_tail(index, index + 1, expected, found));
    }
    Ok(index - first)
}

/// Runs of the tail from the one that holds message `at` on, up to a limit of bytes.
fn tail_piece(view: &View, layout: &Layout, at: u64, end: u64) -> Result<Piece, StoreError> {
    let missing = |found| damaged_tail(at, end, Evidence::Present, found);
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

/// Errors: [`StoreError::Size`], [`StoreError::PostLength`].
fn check_posts(layout: &Layout, posts: &[Post]) -> Result<(), StoreError> {
    for (at, post) in posts.iter().enumerate() {
        if post.messages.is_empty() || u32::try_from(post.messages.len()).is_err() {
            let found = post.messages.len();
            return Err(StoreError::PostLength { post: at, found });
        }
        check_sizes(layout, at, &post.messages)?;
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

/// The end of the log in a transaction.
pub(crate) struct Tail<'t, 'l> {
    table: Open<'t>,
    layout: &'l Layout,
    /// Records not stored yet, the first of index `first`.
    run: Vec<u8>,
    first: u64,
    end: u64,
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

/// The default of [`crate::StoreConfig::post_id_memory`].
pub(crate) const POST_ID_MEMORY: Duration = Duration::from_secs(7 * 24 * 3600);
