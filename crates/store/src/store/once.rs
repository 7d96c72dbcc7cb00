//! The one-time keys of a server's messages, which are in segments and in the tail.

use super::Store;
use crate::error::StoreError;
use crate::format::Layout;
use crate::meta::lock;
use crate::once::{check_count, check_listed, list_all};
use crate::tables::View;

impl Store {
    /// Lists the keys of all messages again if the list lacks some, as after a restore. Returns whether it did. Until
    /// then nothing can be appended. `progress(done, total)` counts messages.
    ///
    /// Errors: [`StoreError::Damaged`] where messages cannot be read, [`StoreError::Row`] where two messages have the
    /// same key, and those of the database.
    pub fn index_keys(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<bool, StoreError> {
        let meta = &self.inner().meta;
        match meta.view(|view| check_count(view, &meta.layout)) {
            Ok(()) => return Ok(false),
            Err(StoreError::KeyCount(_)) => {}
            Err(other) => return Err(other),
        }
        self.list_all(progress)?;
        Ok(true)
    }

    pub(crate) fn list_all(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError> {
        let _one_at_a_time = lock(&self.inner().sealing);
        list_all(self, progress)
    }
}

/// Tests that the one-time keys of whole records are listed. The first record has the index `first`.
pub(crate) fn check_records(
    view: &View,
    layout: &Layout,
    first: u64,
    records: &[u8],
) -> Result<(), StoreError> {
    for (record, index) in records.chunks_exact(layout.record_bytes()).zip(first..) {
        if let Ok((clue, _)) = layout.open_record(index, record) {
            check_listed(view, layout, index, clue)?;
        }
    }
    Ok(())
}
