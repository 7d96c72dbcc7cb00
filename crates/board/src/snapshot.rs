//! Reading: a fixed view of a board, every record checked.

use std::ops::{ControlFlow, Range};

use redb::{OwnedAccessGuard, ReadOnlyTable, ReadTransaction, ReadableTableMetadata};

use crate::config::{Clues, POST_KEY_BYTES};
use crate::error::{BoardError, Redb};
use crate::format::{Layout, MESSAGES, ONCE};
use crate::store::{Guarded, Store, guarded};

/// A visitor of messages: index, clue, payload. It breaks to end the reading.
pub type Visit<'a> = dyn FnMut(u64, &[u8], &[u8]) -> ControlFlow<()> + 'a;

/// The messages of a board at one moment.
///
/// Later appends neither show in it nor wait for it. It outlives neither a close nor a failed
/// append: its reads are then [`BoardError::Suspended`].
#[derive(Debug)]
pub struct Snapshot {
    table: Guarded<ReadOnlyTable<u64, &'static [u8]>>,
    transaction: Guarded<ReadTransaction>,
    layout: Layout,
    first: u64,
    len: u64,
}

/// The keys of bound clues.
pub(crate) type Keys = Guarded<ReadOnlyTable<&'static [u8; POST_KEY_BYTES], u64>>;

impl Snapshot {
    pub(crate) fn new(
        store: &Store,
        layout: Layout,
        (first, len): (u64, u64),
    ) -> Result<Self, BoardError> {
        let transaction = Guarded::new(guarded(|| store.begin_read())?);
        let table = guarded(|| Ok(transaction.get()?.open_table(MESSAGES).map_err(Redb)?))?;
        Ok(Self {
            table: Guarded::new(table),
            transaction,
            layout,
            first,
            len,
        })
    }

    /// The first message that is there: those before have expired.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number of messages, those that have expired among them.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Calls `each(index, clue, payload)` for every message of `range` in order, until it breaks.
    ///
    /// Errors: [`BoardError::EmptyRange`], [`BoardError::OutOfRange`], [`BoardError::Expired`] before any call;
    /// [`BoardError::Corrupt`], [`BoardError::Chunk`] on a damaged message, after the calls for
    /// the intact ones before it; those of the database.
    pub fn read(&self, range: Range<u64>, each: &mut Visit<'_>) -> Result<(), BoardError> {
        self.check_range(&range)?;
        let first = range.start / self.layout.chunk_messages;
        for chunk in first..self.layout.chunk_count(range.end) {
            let guard = self.chunk(chunk)?;
            for (index, record) in self.records(chunk, guard.value()) {
                if !range.contains(&index) {
                    continue;
                }
                let (clue, payload) = self.layout.open_record(index, record)?;
                if each(index, clue, payload).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reads `range` in bulk: clues one after another into `clues`, payloads into `payloads`.
    ///
    /// Shape: `range` length times the clue and the payload bytes; former contents are dropped.
    /// Errors: as [`Snapshot::read`]; both vectors are then empty.
    pub fn read_into(
        &self,
        range: Range<u64>,
        clues: &mut Vec<u8>,
        payloads: &mut Vec<u8>,
    ) -> Result<(), BoardError> {
        clues.clear();
        payloads.clear();
        self.check_range(&range)?;
        let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        // The range lies on the board, so the sizes are those of bytes on disk.
        clues.reserve(count.saturating_mul(self.layout.clue_bytes));
        payloads.reserve(count.saturating_mul(self.layout.payload_bytes));
        let result = self.read(range, &mut |_, clue, payload| {
            clues.extend_from_slice(clue);
            payloads.extend_from_slice(payload);
            ControlFlow::Continue(())
        });
        if result.is_err() {
            clues.clear();
            payloads.clear();
        }
        result
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The keys of the board's clues; none where they are plain.
    pub(crate) fn keys(&self) -> Result<Option<Keys>, BoardError> {
        let open = || {
            let table = self.transaction.get()?.open_table(ONCE).map_err(Redb)?;
            Ok(Guarded::new(table))
        };
        (self.layout.clues == Clues::Bound)
            .then(|| guarded(open))
            .transpose()
    }

    /// The number of chunks in the file, whatever the messages.
    pub(crate) fn stored_chunks(&self) -> Result<u64, BoardError> {
        guarded(|| Ok(self.table.get()?.len().map_err(Redb)?))
    }

    /// The bytes of chunk `chunk`, of the right length.
    pub(crate) fn chunk(&self, chunk: u64) -> Result<OwnedAccessGuard<&'static [u8]>, BoardError> {
        let messages = self.layout.chunk_range(chunk, self.len);
        let count = (messages.end - messages.start) as usize;
        let expected = count * self.layout.record_bytes();
        guarded(|| {
            let found = self.table.get()?.get_owned(chunk).map_err(Redb)?;
            let bytes = found.as_ref().map(|guard| guard.value().len());
            match found {
                Some(guard) if bytes == Some(expected) => Ok(guard),
                _ => Err(BoardError::Chunk {
                    messages,
                    expected,
                    found: bytes,
                }),
            }
        })
    }

    /// The records of a chunk with their indices.
    pub(crate) fn records<'a>(
        &self,
        chunk: u64,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
        let first = self.layout.chunk_range(chunk, self.len).start;
        (first..).zip(bytes.chunks_exact(self.layout.record_bytes()))
    }

    fn check_range(&self, range: &Range<u64>) -> Result<(), BoardError> {
        if range.start >= range.end {
            return Err(BoardError::EmptyRange {
                start: range.start,
                end: range.end,
            });
        }
        if range.end > self.len {
            return Err(BoardError::OutOfRange {
                expected: self.len,
                found: range.end,
            });
        }
        if range.start < self.first {
            return Err(BoardError::Expired {
                start: range.start,
                end: range.end.min(self.first),
                first: self.first,
            });
        }
        Ok(())
    }
}
