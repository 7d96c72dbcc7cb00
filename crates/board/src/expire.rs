//! Expiry: the oldest messages go, in whole chunks. Indices of what stays do not change, and one-time keys stay used.

use std::ops::Range;

use redb::Database;

use crate::error::{BoardError, Redb};
use crate::format::{EXPIRED_VERSION, KEY_FIRST, KEY_VERSION, Layout, MESSAGES, META};
use crate::store::{Guarded, guarded};

/// Removes the messages of a range of whole chunks, the oldest of a board, in one durable transaction.
///
/// Errors: those of the database, after which the commit may nevertheless have reached the disk.
pub(crate) fn expire(
    database: &Database,
    layout: &Layout,
    going: &Range<u64>,
) -> Result<(), BoardError> {
    let transaction = Guarded::new(guarded(|| Ok(database.begin_write().map_err(Redb)?))?);
    let open = || Ok(transaction.get()?.open_table(MESSAGES).map_err(Redb)?);
    let mut table = Guarded::new(guarded(open)?);
    let chunks = going.start / layout.chunk_messages..going.end / layout.chunk_messages;
    guarded(|| {
        for chunk in chunks {
            // One that is missing already is as gone as the others.
            table.get_mut()?.remove(chunk).map_err(Redb)?;
        }
        drop(table);
        Ok(())
    })?;
    guarded(|| {
        let mut transaction = transaction.into_inner()?;
        let mut meta = transaction.open_table(META).map_err(Redb)?;
        let version = EXPIRED_VERSION.to_le_bytes();
        let first = layout.encode_first(going.end);
        meta.insert(KEY_VERSION, version.as_slice()).map_err(Redb)?;
        meta.insert(KEY_FIRST, first.as_slice()).map_err(Redb)?;
        drop(meta);
        // As appends are.
        transaction.set_quick_repair(true);
        Ok(transaction.commit().map_err(Redb)?)
    })
}

/// Gives the room of what is gone back to the system.
///
/// Errors: those of the database; nothing is lost by them.
pub(crate) fn compact(database: &mut Database) -> Result<(), BoardError> {
    guarded(|| Ok(database.compact().map(drop).map_err(Redb)?))
}
