//! Appending: one transaction, a chunk at a time in memory.

use std::borrow::Borrow;

use redb::{Database, ReadableTable, ReadableTableMetadata, Table, WriteTransaction};

use crate::config::{Clues, Message, POST_KEY_BYTES};
use crate::error::{BoardError, Part, Redb};
use crate::format::{KEY_STATE, Layout, MESSAGES, META, ONCE};
use crate::store::{Guarded, guarded};

/// Appends `messages` behind `len` others and returns the new length, once durable.
///
/// Errors: [`BoardError::Size`], [`BoardError::UsedKey`], [`BoardError::KeyCount`]; those of the database, after which the commit may nevertheless
/// have reached the disk.
pub(crate) fn append<I>(
    database: &Database,
    layout: &Layout,
    len: u64,
    messages: I,
) -> Result<u64, BoardError>
where
    I: IntoIterator,
    I::Item: Borrow<Message>,
{
    let transaction = Guarded::new(guarded(|| Ok(database.begin_write().map_err(Redb)?))?);
    let open = || Ok(transaction.get()?.open_table(MESSAGES).map_err(Redb)?);
    let table = Guarded::new(guarded(open)?);
    let mut keys = Keys::open(transaction.get()?, layout, len)?;
    let mut tail = Tail::load(table, layout, len)?;
    for message in messages {
        let (index, message) = (tail.end, message.borrow());
        tail.push(message)?;
        keys.push(index, &message.clue)?;
    }
    keys.close()?;
    let end = tail.finish()?;
    guarded(|| {
        let mut transaction = transaction.into_inner()?;
        if end == len {
            return Ok(transaction.abort().map_err(Redb)?);
        }
        let state = layout.encode_state(end);
        let mut meta = transaction.open_table(META).map_err(Redb)?;
        meta.insert(KEY_STATE, state.as_slice()).map_err(Redb)?;
        drop(meta);
        // Two syncs, and a fast recovery: the checksums of redb alone are no match for content
        // chosen by strangers.
        transaction.set_quick_repair(true);
        Ok(transaction.commit().map_err(Redb)?)
    })?;
    Ok(end)
}

/// The keys of bound clues, growing.
struct Keys<'txn> {
    /// Absent on boards of plain clues.
    table: Option<Guarded<Table<'txn, &'static [u8; POST_KEY_BYTES], u64>>>,
    /// Messages before the append.
    len: u64,
}

impl<'txn> Keys<'txn> {
    fn open(
        transaction: &'txn WriteTransaction,
        layout: &Layout,
        len: u64,
    ) -> Result<Self, BoardError> {
        let open = || {
            let table = transaction.open_table(ONCE).map_err(Redb)?;
            let found = table.len().map_err(Redb)?;
            // With keys missing, a used one would pass.
            match found == len {
                true => Ok(table),
                false => Err(BoardError::KeyCount {
                    expected: len,
                    found,
                }),
            }
        };
        let table = (layout.clues == Clues::Bound).then(|| guarded(open));
        Ok(Self {
            table: table.transpose()?.map(Guarded::new),
            len,
        })
    }

    /// Takes the key of message `index`, whose size is checked.
    fn push(&mut self, index: u64, clue: &[u8]) -> Result<(), BoardError> {
        let key = Clues::Bound.post_key(clue);
        let Some((table, key)) = self.table.as_mut().zip(key) else {
            return Ok(());
        };
        let taken = || {
            let before = table.get_mut()?.insert(key, index).map_err(Redb)?;
            Ok(before.map(|guard| guard.value()))
        };
        match guarded(taken)? {
            None => Ok(()),
            Some(found) => Err(BoardError::UsedKey {
                position: index - self.len,
                index: found,
            }),
        }
    }

    fn close(self) -> Result<(), BoardError> {
        guarded(|| {
            drop(self);
            Ok(())
        })
    }
}

/// The last chunk, growing.
struct Tail<'txn, 'a> {
    table: Guarded<Table<'txn, u64, &'static [u8]>>,
    layout: &'a Layout,
    bytes: Vec<u8>,
    /// Messages before the append, and with it so far.
    len: u64,
    end: u64,
}

impl<'txn, 'a> Tail<'txn, 'a> {
    /// Takes up the last chunk where it is not full.
    fn load(
        table: Guarded<Table<'txn, u64, &'static [u8]>>,
        layout: &'a Layout,
        len: u64,
    ) -> Result<Self, BoardError> {
        let mut bytes = Vec::with_capacity(layout.chunk_messages as usize * layout.record_bytes());
        let full = len / layout.chunk_messages;
        let messages = layout.chunk_range(full, len);
        if !messages.is_empty() {
            let expected = (messages.end - messages.start) as usize * layout.record_bytes();
            guarded(|| {
                let found = table.get()?.get(full).map_err(Redb)?;
                // Copied with its checksums, so that damage stays visible.
                if let Some(guard) = &found {
                    bytes.extend_from_slice(guard.value());
                }
                if bytes.len() == expected {
                    return Ok(());
                }
                let found = found.is_some().then_some(bytes.len());
                Err(BoardError::Chunk {
                    messages,
                    expected,
                    found,
                })
            })?;
        }
        Ok(Self {
            table,
            layout,
            bytes,
            len,
            end: len,
        })
    }

    fn push(&mut self, message: &Message) -> Result<(), BoardError> {
        let parts = [
            (Part::Clue, self.layout.clue_bytes, message.clue.len()),
            (
                Part::Payload,
                self.layout.payload_bytes,
                message.payload.len(),
            ),
        ];
        for (part, expected, found) in parts {
            if expected != found {
                let position = self.end - self.len;
                return Err(BoardError::Size {
                    position,
                    part,
                    expected,
                    found,
                });
            }
        }
        self.layout
            .push_record(self.end, &message.clue, &message.payload, &mut self.bytes);
        self.end += 1;
        if self.end.is_multiple_of(self.layout.chunk_messages) {
            self.store()?;
        }
        Ok(())
    }

    /// Stores what is left and returns the new length.
    fn finish(mut self) -> Result<u64, BoardError> {
        if self.end > self.len && !self.bytes.is_empty() {
            self.store()?;
        }
        guarded(|| {
            let end = self.end;
            drop(self);
            Ok(end)
        })
    }

    fn store(&mut self) -> Result<(), BoardError> {
        let chunk = (self.end - 1) / self.layout.chunk_messages;
        guarded(|| {
            self.table
                .get_mut()?
                .insert(chunk, self.bytes.as_slice())
                .map_err(Redb)?;
            Ok(())
        })?;
        self.bytes.clear();
        Ok(())
    }
}
