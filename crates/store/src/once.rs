//! One-time keys of bound clues: each key is valid for one message of the board.
//!
//! The table of keys follows from the messages that have not expired. It is written in the transaction that appends
//! them, left out of backups, and made again if it does not have one row a message. Keys of expired messages are in a
//! second table, which cannot be made again.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use crate::config::{Clues, Message, POST_KEY_BYTES};
use omr_errors::Mismatch;
use redb::{ReadableTable, ReadableTableMetadata};

use crate::error::{Evidence, Redb, StoreError, UsedKey};
use crate::format::{Layout, ONCE, SPENT, State, numbers, open_row, pack, seal_row};
use crate::log::Log;
use crate::meta::Outcome;
use crate::tables::{Open, View, Writing, miscounted, short};

/// The number of messages whose keys are listed in one transaction, when all are listed again.
pub(crate) const TOGETHER: u64 = 16_384;

/// The index of a message, and its key.
pub(crate) type Listed = (u64, [u8; POST_KEY_BYTES]);

/// The tables of keys in a transaction.
pub(crate) struct Once<'t> {
    /// The keys of messages that have not expired, and of those that have; `None` on a board of plain clues.
    tables: Option<[Open<'t>; 2]>,
    seed: u32,
}

impl<'t> Once<'t> {
    /// Opens the tables of keys.
    ///
    /// Errors: [`StoreError::KeyCount`] and [`StoreError::Row`] where keys are missing: without them a used key would
    /// be accepted.
    pub(crate) fn open(
        writing: &Writing<'t>,
        layout: &Layout,
        state: &State,
    ) -> Result<Self, StoreError> {
        let seed = writing.seed();
        if layout.clues == Clues::Plain {
            return Ok(Self { tables: None, seed });
        }
        let table = writing.table(ONCE)?;
        let found = table.len().map_err(Redb)?;
        let expected = state.len - state.first;
        if found != expected {
            return Err(StoreError::KeyCount(Mismatch::new(expected, found)));
        }
        let spent = writing.table(SPENT)?;
        let found = spent.len().map_err(Redb)?;
        if found != state.first {
            return Err(miscounted(short(&SPENT), state.first, found));
        }
        let tables = Some([table, spent]);
        Ok(Self { tables, seed })
    }

    /// Marks the keys of a post's messages as used; the first message has the index `first`. Marks none if some of them
    /// were used before, and returns those.
    pub(crate) fn take(
        &mut self,
        messages: &[Message],
        first: u64,
    ) -> Result<Vec<UsedKey>, StoreError> {
        let Some([table, spent]) = &mut self.tables else {
            return Ok(Vec::new());
        };
        let (mut taken, mut used) = (Vec::with_capacity(messages.len()), Vec::new());
        for (position, message) in messages.iter().enumerate() {
            // Every clue has a key, as the caller has checked the sizes.
            let Some(key) = Clues::Bound.post_key(&message.clue) else {
                continue;
            };
            let own = first + position as u64;
            let known = match spent.get(key.as_slice()).map_err(Redb)? {
                Some(row) => Some(spent_by(self.seed, key, row.value())),
                None => list(table, self.seed, key, own)?,
            };
            match known {
                None => taken.push(key),
                Some(holder) => used.push(UsedKey {
                    position,
                    // A damaged row still shows that its key was used, but not by which message.
                    index: holder.unwrap_or(own),
                }),
            }
        }
        if !used.is_empty() {
            for key in taken {
                table.remove(key.as_slice()).map_err(Redb)?;
            }
        }
        Ok(used)
    }

    /// Takes the keys of messages that are withdrawn off the list, so that the messages may come again.
    pub(crate) fn free(&mut self, keys: &[Listed]) -> Result<(), StoreError> {
        let Some([table, _]) = &mut self.tables else {
            return Ok(());
        };
        for (_, key) in keys {
            table.remove(key.as_slice()).map_err(Redb)?;
        }
        Ok(())
    }

    /// Moves the keys of expiring messages to the table of keys that are used for good. If damage has changed a key,
    /// the changed key stays in the list, and the next append finds the list too long and makes it again.
    pub(crate) fn spend(&mut self, keys: &[Listed]) -> Result<(), StoreError> {
        let Some([table, spent]) = &mut self.tables else {
            return Ok(());
        };
        for (index, key) in keys {
            table.remove(key.as_slice()).map_err(Redb)?;
            let row = seal_row(self.seed, "spent", key, &pack([*index]));
            spent.insert(key.as_slice(), row.as_slice()).map_err(Redb)?;
        }
        Ok(())
    }
}

/// Returns the expired message that a row names.
fn spent_by(seed: u32, key: &[u8], row: &[u8]) -> Result<u64, StoreError> {
    let [index] = numbers("spent", key, open_row(seed, "spent", key, row)?)?;
    Ok(index)
}

/// Lists the key of message `index`. If the key is listed already, returns its message, or the damage that hides it.
fn list(
    table: &mut Open<'_>,
    seed: u32,
    key: &[u8; POST_KEY_BYTES],
    index: u64,
) -> Result<Option<Result<u64, StoreError>>, StoreError> {
    if let Some(row) = table.get(key.as_slice()).map_err(Redb)? {
        return Ok(Some(holder(seed, key, row.value())));
    }
    let row = seal_row(seed, "once", key, &pack([index]));
    table.insert(key.as_slice(), row.as_slice()).map_err(Redb)?;
    Ok(None)
}

/// Returns the message that a row names.
fn holder(seed: u32, key: &[u8], row: &[u8]) -> Result<u64, StoreError> {
    let [index] = numbers("once", key, open_row(seed, "once", key, row)?)?;
    Ok(index)
}

/// Tests that the key of message `index` is listed with this index.
///
/// Errors: [`StoreError::Row`].
pub(crate) fn check_listed(
    view: &View,
    layout: &Layout,
    index: u64,
    clue: &[u8],
) -> Result<(), StoreError> {
    let Some(key) = layout.clues.post_key(clue) else {
        return Ok(());
    };
    let found = match view.raw(ONCE, key)? {
        Some(row) => Evidence::Number(holder(layout.seed, key, &row)?),
        None => Evidence::Missing,
    };
    let expected = Evidence::Number(index);
    if found == expected {
        Ok(())
    } else {
        Err(StoreError::row("once", key, Mismatch::new(expected, found)))
    }
}

/// Returns the keys of lost messages, found by a search of the whole list. A message whose row is damaged gets a key
/// that nobody can have, so that there is one for each message.
pub(crate) fn keys_of(view: &View, lost: &[u64]) -> Result<Vec<Listed>, StoreError> {
    let mut keys: BTreeMap<u64, [u8; POST_KEY_BYTES]> =
        lost.iter().map(|index| (*index, nobodys(*index))).collect();
    view.each(ONCE, &[], |key, row| {
        if let (Ok(index), Ok(found)) = (holder(view.seed, key, row), key.try_into())
            && let Some(listed) = keys.get_mut(&index)
        {
            *listed = found;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(keys.into_iter().collect())
}

/// Returns a key that stands for the key of a lost message that is in no list. Nobody knows a secret for it.
pub(crate) fn nobodys(index: u64) -> [u8; POST_KEY_BYTES] {
    let mut key = *b"one-time key lost by damage.....";
    key[POST_KEY_BYTES - 8..].copy_from_slice(&index.to_be_bytes());
    key
}

/// Tests that the number of keys is that of the messages that have not expired.
///
/// Errors: [`StoreError::KeyCount`].
pub(crate) fn check_count(view: &View, layout: &Layout) -> Result<(), StoreError> {
    if layout.clues == Clues::Plain {
        return Ok(());
    }
    let state = view.state()?;
    let (expected, found) = (state.len - state.first, view.count(ONCE)?);
    if expected == found {
        Ok(())
    } else {
        Err(StoreError::KeyCount(Mismatch::new(expected, found)))
    }
}

/// Lists the keys of all messages of a log again. No message may be sealed or expire meanwhile.
pub(crate) fn list_all(
    log: &impl Log,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    let meta = log.meta();
    meta.transact(|writing, _| {
        writing.clear(ONCE)?;
        Ok(Outcome::Commit(()))
    })?;
    // No append can happen in between, as the list is too short for it.
    let len = meta.len();
    let mut start = meta.first();
    while start < len {
        let end = len.min(start + TOGETHER);
        list_range(log, start..end)?;
        progress(end, len);
        start = end;
    }
    Ok(())
}

fn list_range(log: &impl Log, range: Range<u64>) -> Result<(), StoreError> {
    let keys = keys_read(log, range)?;
    log.meta().transact(|writing, _| {
        let mut table = writing.table(ONCE)?;
        for (index, key) in &keys {
            if let Some(other) = list(&mut table, writing.seed(), key, *index)? {
                let (expected, found) = (Evidence::Number(*index), Evidence::Number(other?));
                return Err(StoreError::row("once", key, Mismatch::new(expected, found)));
            }
        }
        Ok(Outcome::Commit(()))
    })
}

/// Returns the keys of messages: from the messages themselves, and from the list for messages that are lost. Returns no
/// keys for a board of plain clues.
pub(crate) fn keys_read(log: &impl Log, range: Range<u64>) -> Result<Vec<Listed>, StoreError> {
    let meta = log.meta();
    let (mut keys, mut lost) = (Vec::new(), Vec::new());
    if meta.layout.clues == Clues::Plain {
        return Ok(keys);
    }
    log.read_range(range, &mut |index, clue, _| {
        match meta.layout.clues.post_key(clue) {
            Some(key) => keys.push((index, *key)),
            None => lost.push(index),
        }
        ControlFlow::Continue(())
    })?;
    if !lost.is_empty() {
        keys.extend(meta.view(|view| keys_of(view, &lost))?);
    }
    Ok(keys)
}
