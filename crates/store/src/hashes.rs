//! Hashes of messages, computed once when messages are appended, and kept for readers.
//!
//! The crate does not know how a message is hashed: a tag names the way, and a reader with another tag finds nothing.
//! The table follows from the messages and is never needed: the reader hashes again what is missing or damaged, and
//! stores it. Backups leave the table out.

use std::ops::{ControlFlow, Range};

use omr_errors::Mismatch;
use redb::ReadableTable;

use crate::config::Clues;
use crate::error::{Evidence, Redb, StoreError};
use crate::format::{HASHES, Layout, bad_row, index_key, index_of, open_row, seal_row};
use crate::log::Log;
use crate::meta::{Meta, Outcome};
use crate::tables::{View, Writing};

/// The greatest number of hashes in one row. With key, tag and checksum they just fit a page of redb, whose size is a
/// power of two.
const ROW_HASHES: usize = 4000;
const HASH_BYTES: usize = 32;
/// The name of the table in checksums and errors.
const NAME: &str = "hashes";
/// The greatest number of faults that a verification lists.
const MAX_LISTED: usize = 16;

/// A hash of a message, opaque to the store.
type Hash = [u8; HASH_BYTES];

/// The hashes of consecutive messages, computed by the caller who appends the messages. A board of plain clues keeps
/// none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageHashes {
    /// A tag that names the way in which the messages were hashed.
    pub tag: [u8; 4],
    /// The hashes, one a message.
    pub hashes: Vec<Hash>,
}

impl MessageHashes {
    /// Returns hashes under a tag.
    pub const fn new(tag: [u8; 4], hashes: Vec<Hash>) -> Self {
        Self { tag, hashes }
    }

    /// Tests that there is one hash for each message.
    ///
    /// Errors: [`StoreError::HashCount`].
    pub(crate) fn check(&self, messages: usize) -> Result<(), StoreError> {
        if self.hashes.len() == messages {
            Ok(())
        } else {
            Err(StoreError::HashCount(Mismatch::new(
                messages,
                self.hashes.len(),
            )))
        }
    }
}

/// The hashes of all messages of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gathered {
    /// The hashes, one a message.
    pub hashes: Vec<Hash>,
    tag: [u8; 4],
    first: u64,
    /// The range from the first to the last message without a stored hash, counted from the start of the range.
    missing: Option<Range<usize>>,
}

impl Gathered {
    /// Returns the hashes that were not stored, and the index of their first message. Returns `None` if all were
    /// stored.
    pub fn anew(&self) -> Option<(u64, MessageHashes)> {
        let missing = self.missing.clone()?;
        let first = self.first + missing.start as u64;
        let hashes = MessageHashes::new(self.tag, self.hashes[missing].to_vec());
        Some((first, hashes))
    }
}

/// A function that computes the hash of a message from its clue and its payload.
pub type Take<'a> = dyn FnMut(&[u8], &[u8]) -> Hash + 'a;

/// A writer of hashes in a transaction.
pub(crate) struct Keeper<'w, 't> {
    writing: &'w Writing<'t>,
    clues: Clues,
    tag: [u8; 4],
    /// The hashes that are not stored yet; the first is that of message `first`.
    run: Vec<Hash>,
    first: u64,
}

impl<'w, 't> Keeper<'w, 't> {
    pub(crate) fn new(writing: &'w Writing<'t>, layout: &Layout) -> Self {
        Self {
            writing,
            clues: layout.clues,
            tag: [0; 4],
            run: Vec::new(),
            first: 0,
        }
    }

    /// Adds the hashes of the messages from `first` on.
    pub(crate) fn push(
        &mut self,
        first: u64,
        tag: [u8; 4],
        hashes: &[Hash],
    ) -> Result<(), StoreError> {
        if self.clues == Clues::Plain {
            return Ok(());
        }
        let next = self.first + self.run.len() as u64;
        if next != first || self.tag != tag {
            self.store()?;
            (self.first, self.tag) = (first, tag);
        }
        for hash in hashes {
            self.run.push(*hash);
            if self.run.len() == ROW_HASHES {
                self.store()?;
            }
        }
        Ok(())
    }

    fn store(&mut self) -> Result<(), StoreError> {
        if !self.run.is_empty() {
            put(self.writing, self.first, self.tag, &self.run)?;
        }
        self.first += self.run.len() as u64;
        self.run.clear();
        Ok(())
    }

    /// Stores the remaining hashes.
    pub(crate) fn finish(mut self) -> Result<(), StoreError> {
        self.store()
    }
}

fn put(writing: &Writing<'_>, first: u64, tag: [u8; 4], hashes: &[Hash]) -> Result<(), StoreError> {
    let key = index_key(first);
    let value = [&tag, hashes.as_flattened()].concat();
    let row = seal_row(writing.seed(), NAME, &key, &value);
    let mut table = writing.table(HASHES)?;
    table.insert(key.as_slice(), row.as_slice()).map_err(Redb)?;
    Ok(())
}

/// Returns the index of a row's first message, the row's tag and its hashes, at least one.
///
/// Errors: [`StoreError::Row`].
fn open<'a>(
    seed: u32,
    key: &[u8],
    row: &'a [u8],
) -> Result<(u64, [u8; 4], &'a [Hash]), StoreError> {
    let value = open_row(seed, NAME, key, row)?;
    let first = index_of(NAME, key)?;
    let split = value
        .split_first_chunk::<4>()
        .map(|(tag, hashes)| (tag, hashes.as_chunks::<HASH_BYTES>()));
    match split {
        Some((tag, (hashes, []))) if !hashes.is_empty() => Ok((first, *tag, hashes)),
        _ => Err(bad_row(NAME, key, Evidence::Present, value.len())),
    }
}

/// Returns the stored hashes with a tag, one entry a message of `range`. Hashes in damaged rows are missing.
fn kept(
    view: &View,
    layout: &Layout,
    range: &Range<u64>,
    tag: [u8; 4],
) -> Result<Vec<Option<Hash>>, StoreError> {
    let mut out = vec![None; (range.end - range.start) as usize];
    if layout.clues == Clues::Plain {
        return Ok(out);
    }
    let start = index_key(range.start);
    let from = view
        .last_to(HASHES, &start)?
        .map_or(start.to_vec(), |(key, _)| key);
    view.each(HASHES, &from, |key, row| {
        if key >= &index_key(range.end)[..] {
            return Ok(ControlFlow::Break(()));
        }
        if let Ok((first, found, hashes)) = open(view.seed, key, row)
            && found == tag
        {
            for (index, hash) in (first..range.end).zip(hashes) {
                if let Some(at) = index.checked_sub(range.start) {
                    out[at as usize] = Some(*hash);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(out)
}

/// Returns the stored hashes with a tag, one entry a message of `range`.
///
/// Errors: those of [`Log::read_range`] except damage.
pub(crate) fn kept_of(
    log: &impl Log,
    range: &Range<u64>,
    tag: [u8; 4],
) -> Result<Vec<Option<Hash>>, StoreError> {
    log.check_range(range)?;
    let meta = log.meta();
    meta.view(|view| kept(view, &meta.layout, range, tag))
}

/// Returns the hashes of all messages of `range`; `take` computes those that are not stored. The hash of a lost message
/// is zeros, and hashes of a range with a lost message are not offered for storing.
///
/// Errors: those of [`Log::read_range`].
pub(crate) fn gather(
    log: &impl Log,
    range: Range<u64>,
    tag: [u8; 4],
    take: &mut Take<'_>,
) -> Result<Gathered, StoreError> {
    let mut found = kept_of(log, &range, tag)?;
    let first_missing = found.iter().position(Option::is_none);
    let last_missing = found.iter().rposition(Option::is_none);
    let mut missing = first_missing
        .zip(last_missing)
        .map(|(first, last)| first..last + 1);
    let mut lost = false;
    if let Some(places) = &missing {
        log.read_range(
            range.start + places.start as u64..range.start + places.end as u64,
            &mut |index, clue, payload| {
                let hash = &mut found[(index - range.start) as usize];
                if clue.is_empty() {
                    lost = true;
                    hash.get_or_insert([0; HASH_BYTES]);
                } else {
                    hash.get_or_insert_with(|| take(clue, payload));
                }
                ControlFlow::Continue(())
            },
        )?;
    }
    if lost {
        // A lost message may be brought back, and then needs its own hash.
        missing = None;
    }
    Ok(Gathered {
        hashes: found.into_iter().flatten().collect(),
        tag,
        first: range.start,
        missing,
    })
}

/// Stores hashes of messages from `first` on that were appended without hashes, or lost them. Leaves out those of
/// messages that have expired meanwhile.
///
/// Errors: those of the database.
pub(crate) fn keep_again(
    meta: &Meta,
    first: u64,
    hashes: &MessageHashes,
) -> Result<(), StoreError> {
    let layout = &meta.layout;
    meta.transact(|writing, state| {
        let start = first.max(state.first);
        let end = first
            .saturating_add(hashes.hashes.len() as u64)
            .min(state.len);
        if start >= end || layout.clues == Clues::Plain {
            return Ok(Outcome::Nothing(()));
        }
        {
            let mut table = writing.table(HASHES)?;
            let (mut from, to) = (index_key(start), index_key(end));
            // A damaged row before the range may have contained the first of its hashes.
            if let Some(before) = table.range(..from.as_slice()).map_err(Redb)?.next_back() {
                let (key, row) = before.map_err(Redb)?;
                if let (Err(_), Ok(first)) = (
                    open(writing.seed(), key.value(), row.value()),
                    index_of(NAME, key.value()),
                ) {
                    from = index_key(first);
                }
            }
            table
                .retain_in(from.as_slice()..to.as_slice(), |_, _| false)
                .map_err(Redb)?;
        }
        let mut keeper = Keeper::new(writing, layout);
        let own = &hashes.hashes[(start - first) as usize..(end - first) as usize];
        keeper.push(start, hashes.tag, own)?;
        keeper.finish()?;
        Ok(Outcome::Commit(()))
    })
}

/// Removes the hashes of messages before `end`, and shortens the row that contains `end`.
pub(crate) fn drop_before(
    writing: &Writing<'_>,
    layout: &Layout,
    end: u64,
) -> Result<(), StoreError> {
    if layout.clues == Clues::Plain {
        return Ok(());
    }
    let (to, mut rest) = (index_key(end), None);
    {
        let mut table = writing.table(HASHES)?;
        {
            let mut before = table.range(..to.as_slice()).map_err(Redb)?;
            if let Some(last) = before.next_back() {
                let (key, row) = last.map_err(Redb)?;
                if let Ok((first, tag, hashes)) = open(writing.seed(), key.value(), row.value()) {
                    let left = hashes.get((end - first) as usize..).unwrap_or_default();
                    if !left.is_empty() {
                        rest = Some((tag, left.to_vec()));
                    }
                }
            }
        }
        table
            .retain_in(..to.as_slice(), |_, _| false)
            .map_err(Redb)?;
        // A row that begins at `end` has these hashes, too.
        if table.get(to.as_slice()).map_err(Redb)?.is_some() {
            rest = None;
        }
    }
    match rest {
        Some((tag, left)) => put(writing, end, tag, &left),
        None => Ok(()),
    }
}

/// Removes the hashes of messages from `len` on.
pub(crate) fn drop_from(
    writing: &Writing<'_>,
    layout: &Layout,
    len: u64,
) -> Result<(), StoreError> {
    if layout.clues == Clues::Plain {
        return Ok(());
    }
    let (before, from) = (
        index_key(len.saturating_sub(ROW_HASHES as u64)),
        index_key(len),
    );
    let mut rest = Vec::new();
    {
        let mut table = writing.table(HASHES)?;
        // Rows may overlap, so that several of them may contain `len`.
        for row in table
            .range(before.as_slice()..from.as_slice())
            .map_err(Redb)?
        {
            let (key, row) = row.map_err(Redb)?;
            if let Ok((first, tag, hashes)) = open(writing.seed(), key.value(), row.value())
                && let Some(kept) = hashes.get(..(len - first) as usize)
            {
                rest.push((first, tag, kept.to_vec()));
            }
        }
        table
            .retain_in(from.as_slice().., |_, _| false)
            .map_err(Redb)?;
    }
    for (first, tag, kept) in rest {
        put(writing, first, tag, &kept)?;
    }
    Ok(())
}

/// Returns the faults of the first damaged rows. A missing row is not a fault.
pub(crate) fn faults(view: &View, layout: &Layout) -> Result<Vec<StoreError>, StoreError> {
    let mut out = Vec::new();
    if layout.clues == Clues::Plain {
        return Ok(out);
    }
    view.each(HASHES, &[], |key, row| {
        out.extend(open(view.seed, key, row).err());
        Ok(if out.len() < MAX_LISTED {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        })
    })?;
    Ok(out)
}

/// Removes all damaged rows. The next reader of these messages stores their hashes again.
pub(crate) fn drop_damaged(meta: &Meta) -> Result<(), StoreError> {
    meta.transact(|writing, _| {
        let mut table = writing.table(HASHES)?;
        let seed = writing.seed();
        table
            .retain(|key, row| open(seed, key, row).is_ok())
            .map_err(Redb)?;
        Ok(Outcome::Commit(()))
    })
}
