//! The running hash of a log: one value that depends on every message ever appended and on their order.
//!
//! The hash at length 0 is the hash of the configuration; the hash at length `n + 1` is computed from the hash at
//! length `n` and message `n`. Two logs with equal hashes at a length therefore have equal messages below it, expired
//! ones included. A reader who keeps a pair of length and hash recognises a log that was set back or that shows another
//! history (`docs/storage.md`, "Running hash and histories").
//!
//! The table `log` contains the hashes at all lengths from the first message that has not expired. They follow from the
//! messages: a damaged row is computed again from the last intact hash before it.

use std::ops::{ControlFlow, Range};

use redb::ReadableTable;

use crate::config::BoardConfig;
use crate::error::{Evidence, Redb, StoreError};
use crate::format::{LOG, State, bad_row, config_body, index_key, index_of, open_row, seal_row};
use crate::log::Log;
use crate::meta::Outcome;
use crate::tables::{View, Writing};

/// A running hash.
pub(crate) type Hash = [u8; HASH_BYTES];

pub(crate) const HASH_BYTES: usize = 32;
/// The greatest number of hashes in one row. With key and checksum they just fit a page of redb, whose size is a power
/// of two.
const ROW_HASHES: u64 = 4000;
/// The name of the table in checksums and errors.
const NAME: &str = "log";
const ROOT_CONTEXT: &str = "omr v1 log root";
const MESSAGE_CONTEXT: &str = "omr v1 log message";

/// Returns the running hash of a log without messages.
pub(crate) fn root(config: &BoardConfig) -> Hash {
    blake3::derive_key(ROOT_CONTEXT, &config_body(config))
}

/// Returns the running hash after one more message.
fn after(head: &Hash, clue: &[u8], payload: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new_derive_key(MESSAGE_CONTEXT);
    hasher.update(head).update(clue).update(payload);
    *hasher.finalize().as_bytes()
}

/// The running hashes of the messages that a transaction appends.
pub(crate) struct Chain {
    /// The index of the first message whose running hash is not stored yet.
    first: u64,
    run: Vec<Hash>,
    head: Hash,
}

impl Chain {
    /// Returns a chain that continues at the end of the log.
    pub(crate) fn new(state: &State) -> Self {
        Self {
            first: state.len,
            run: Vec::new(),
            head: state.head,
        }
    }

    pub(crate) fn push(&mut self, clue: &[u8], payload: &[u8]) {
        self.head = after(&self.head, clue, payload);
        self.run.push(self.head);
    }

    /// Stores the hashes and returns the last one.
    pub(crate) fn finish(self, writing: &Writing<'_>) -> Result<Hash, StoreError> {
        put(writing, self.first, &self.run)?;
        Ok(self.head)
    }
}

fn put(writing: &Writing<'_>, first: u64, hashes: &[Hash]) -> Result<(), StoreError> {
    let mut table = writing.table(LOG)?;
    for (at, run) in (first..)
        .step_by(ROW_HASHES as usize)
        .zip(hashes.chunks(ROW_HASHES as usize))
    {
        let key = index_key(at);
        let row = seal_row(writing.seed(), NAME, &key, run.as_flattened());
        table.insert(key.as_slice(), row.as_slice()).map_err(Redb)?;
    }
    Ok(())
}

/// Returns the index of a row's first message and the row's running hashes, at least one. The first hash is the one
/// after that message.
///
/// Errors: [`StoreError::Row`].
fn open<'a>(seed: u32, key: &[u8], row: &'a [u8]) -> Result<(u64, &'a [Hash]), StoreError> {
    let value = open_row(seed, NAME, key, row)?;
    let first = index_of(NAME, key)?;
    match value.as_chunks::<HASH_BYTES>() {
        (hashes, []) if !hashes.is_empty() => Ok((first, hashes)),
        _ => Err(bad_row(NAME, key, Evidence::Present, value.len())),
    }
}

/// Stands for a hash that was lost together with the messages from which it follows. The log never compares with it.
const UNKNOWN: Hash = [0; HASH_BYTES];

/// Returns the greatest length of at most `length` whose hash is stored intact, and the hash.
fn known(view: &View, state: &State, length: u64) -> Result<Option<(u64, Hash)>, StoreError> {
    let mut at = length;
    while at > state.first {
        let Some((key, row)) = view.last_to(LOG, &index_key(at - 1))? else {
            break;
        };
        let first = index_of(NAME, &key)?;
        if let Ok((_, hashes)) = open(view.seed, &key, &row) {
            let place = (at - 1 - first).min(hashes.len() as u64 - 1);
            return Ok(Some((first + place + 1, hashes[place as usize])));
        }
        at = first;
    }
    Ok((state.base != UNKNOWN).then_some((state.first, state.base)))
}

/// Returns the running hash of a log after its first `length` messages. Returns `None` if the log is shorter, if
/// message `length` has expired, or if both the hash and a message before it were lost.
///
/// Errors: [`StoreError::Damaged`] for a segment that cannot be read; those of the database.
pub(crate) fn hash_at(log: &impl Log, length: u64) -> Result<Option<Hash>, StoreError> {
    let found = log.meta().view(|view| {
        let state = view.state()?;
        if length == state.len {
            return Ok(Some((length, state.head)));
        }
        if !(state.first..state.len).contains(&length) {
            return Ok(None);
        }
        known(view, &state, length)
    })?;
    let Some((from, mut head)) = found else {
        return Ok(None);
    };
    let whole = follow(log, from..length, &mut head, &mut |_| {})?;
    Ok(whole.then_some(head))
}

/// Returns whether a message is the one that was appended at `index`. Returns `None` if one of the two running hashes
/// around it was lost to damage.
///
/// Errors: those of the database.
pub(crate) fn is_own(
    view: &View,
    index: u64,
    clue: &[u8],
    payload: &[u8],
) -> Result<Option<bool>, StoreError> {
    let state = view.state()?;
    let exactly = |length| -> Result<Option<Hash>, StoreError> {
        if length == state.len {
            return Ok(Some(state.head));
        }
        let known = known(view, &state, length)?;
        Ok(known.filter(|(at, _)| *at == length).map(|(_, hash)| hash))
    };
    let hashes = exactly(index)?.zip(exactly(index + 1)?);
    Ok(hashes.map(|(before, own)| after(&before, clue, payload) == own))
}

/// Continues the running hash `head` over the messages of `range`, and calls `each` with it after every message.
/// Returns whether it reached the end: after a lost message no hash can be computed.
fn follow(
    log: &impl Log,
    range: Range<u64>,
    head: &mut Hash,
    each: &mut dyn FnMut(&Hash),
) -> Result<bool, StoreError> {
    let mut whole = true;
    log.read_range(range, &mut |_, clue, payload| {
        whole = !(clue.is_empty() && payload.is_empty());
        if !whole {
            return ControlFlow::Break(());
        }
        *head = after(head, clue, payload);
        each(head);
        ControlFlow::Continue(())
    })?;
    Ok(whole)
}

/// Returns the running hash at a length up to which messages are about to expire, or [`UNKNOWN`] where it was lost to
/// damage. The loss must not keep messages from expiring.
///
/// Errors: those of the database.
pub(crate) fn hash_before_expiry(log: &impl Log, length: u64) -> Result<Hash, StoreError> {
    match hash_at(log, length) {
        Ok(hash) => Ok(hash.unwrap_or(UNKNOWN)),
        Err(StoreError::Damaged { .. }) => Ok(UNKNOWN),
        Err(other) => Err(other),
    }
}

/// Moves the hashes of the messages of `range` into as few rows as possible. Leaves everything as it is if a row is
/// damaged.
pub(crate) fn join(writing: &Writing<'_>, range: Range<u64>) -> Result<(), StoreError> {
    let mut hashes: Vec<Hash> = Vec::new();
    {
        let table = writing.table(LOG)?;
        let (from, to) = (index_key(range.start), index_key(range.end));
        for row in table.range(from.as_slice()..to.as_slice()).map_err(Redb)? {
            let (key, row) = row.map_err(Redb)?;
            let Ok((first, found)) = open(writing.seed(), key.value(), row.value()) else {
                return Ok(());
            };
            if first != range.start + hashes.len() as u64 {
                return Ok(());
            }
            hashes.extend_from_slice(found);
        }
    }
    // The last row may also contain hashes of messages after the range.
    let end = range.start + hashes.len() as u64;
    if end < range.end {
        return Ok(());
    }
    {
        let mut table = writing.table(LOG)?;
        let (from, to) = (index_key(range.start), index_key(range.end));
        table
            .retain_in(from.as_slice()..to.as_slice(), |_, _| false)
            .map_err(Redb)?;
    }
    let (own, behind) = hashes.split_at((range.end - range.start) as usize);
    put(writing, range.start, own)?;
    put(writing, range.end, behind)
}

/// Removes the hashes at lengths below `end`, the index of the first message that stays. `base` is the hash at length
/// `end`.
pub(crate) fn drop_before(
    writing: &Writing<'_>,
    state: &mut State,
    end: u64,
    base: Hash,
) -> Result<(), StoreError> {
    let (to, mut rest) = (index_key(end), Vec::new());
    {
        let mut table = writing.table(LOG)?;
        if let Some(last) = table.range(..to.as_slice()).map_err(Redb)?.next_back() {
            let (key, row) = last.map_err(Redb)?;
            if let Ok((first, hashes)) = open(writing.seed(), key.value(), row.value()) {
                let left = hashes.get((end - first) as usize..);
                rest = left.unwrap_or_default().to_vec();
            }
        }
        table
            .retain_in(..to.as_slice(), |_, _| false)
            .map_err(Redb)?;
    }
    if !rest.is_empty() {
        put(writing, end, &rest)?;
    }
    state.base = base;
    Ok(())
}

/// Removes the hashes at lengths above `len`.
pub(crate) fn drop_from(writing: &Writing<'_>, len: u64) -> Result<(), StoreError> {
    let from = index_key(len);
    let mut rest = None;
    let mut table = writing.table(LOG)?;
    if let Some(last) = table.range(..from.as_slice()).map_err(Redb)?.next_back() {
        let (key, row) = last.map_err(Redb)?;
        if let Ok((first, hashes)) = open(writing.seed(), key.value(), row.value()) {
            let kept = hashes.get(..(len - first) as usize);
            rest = kept.map(|kept| (first, kept.to_vec()));
        }
    }
    table
        .retain_in(from.as_slice().., |_, _| false)
        .map_err(Redb)?;
    drop(table);
    match rest {
        Some((first, kept)) => put(writing, first, &kept),
        None => Ok(()),
    }
}

/// Removes damaged rows and computes missing hashes from the messages. Hashes after a lost message stay missing up to
/// the next hash that is stored.
///
/// Errors: those of the database and of segments.
pub(crate) fn mend(log: &impl Log) -> Result<(), StoreError> {
    let meta = log.meta();
    let mut gaps = Vec::new();
    meta.transact(|writing, state| {
        let mut table = writing.table(LOG)?;
        table
            .retain(|key, row| open(writing.seed(), key, row).is_ok())
            .map_err(Redb)?;
        let mut next = state.first;
        for row in table.iter().map_err(Redb)? {
            let (key, row) = row.map_err(Redb)?;
            let (first, hashes) = open(writing.seed(), key.value(), row.value())?;
            gaps.push(next..first);
            next = first + hashes.len() as u64;
        }
        gaps.push(next..state.len);
        Ok(Outcome::Commit(()))
    })?;
    for gap in gaps.into_iter().filter(|gap| !gap.is_empty()) {
        let Some(mut head) = hash_at(log, gap.start)? else {
            continue;
        };
        let mut hashes = Vec::new();
        follow(log, gap.clone(), &mut head, &mut |hash| hashes.push(*hash))?;
        meta.transact(|writing, state| {
            if gap.start >= state.first {
                put(writing, gap.start, &hashes)?;
            }
            Ok(Outcome::Commit(()))
        })?;
    }
    Ok(())
}

/// Returns the errors of damaged rows. No message is lost by them, since all hashes follow from the messages.
pub(crate) fn faults(view: &View) -> Result<Vec<StoreError>, StoreError> {
    let mut out = Vec::new();
    view.each(LOG, &[], |key, row| {
        out.extend(open(view.seed, key, row).err());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(out)
}
