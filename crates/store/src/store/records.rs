//! Small durable records in named tables.

use std::ops::ControlFlow;

use super::Store;
use crate::error::StoreError;
use crate::format::RECORDS;
use crate::meta::Outcome;

/// A key and its value.
pub type KeyValue = (Vec<u8>, Vec<u8>);

/// A change of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A record is stored, and replaces another one with the same key.
    Put {
        /// The name of the table, 1 to 255 bytes.
        table: String,
        /// The key of the record.
        key: Vec<u8>,
        /// The value of the record.
        value: Vec<u8>,
    },
    /// A record is removed if it exists.
    Delete {
        /// The name of the table, 1 to 255 bytes.
        table: String,
        /// The key of the record.
        key: Vec<u8>,
    },
}

/// Returns the key of a record in the meta file: the length of the table's name, the name, the key.
///
/// Errors: [`StoreError::TableName`].
pub(crate) fn full_key(table: &str, key: &[u8]) -> Result<Vec<u8>, StoreError> {
    let found = table.len();
    let len = match u8::try_from(found) {
        Ok(len) if len > 0 => len,
        _ => return Err(StoreError::TableName(found)),
    };
    let mut out = Vec::with_capacity(1 + found + key.len());
    out.push(len);
    out.extend_from_slice(table.as_bytes());
    out.extend_from_slice(key);
    Ok(out)
}

impl Store {
    /// Returns the value of a record, or `None` if there is no such record.
    ///
    /// Errors: [`StoreError::TableName`], [`StoreError::Row`] where the record is damaged, and those of the database.
    pub fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let full = full_key(table, key)?;
        self.inner().meta.view(|view| view.get(RECORDS, &full))
    }

    /// Returns the records of a table in the order of their keys. Damaged records are logged and left out.
    ///
    /// Errors: [`StoreError::TableName`], and those of the database.
    pub fn scan(&self, table: &str) -> Result<Vec<KeyValue>, StoreError> {
        let mut out = Vec::new();
        self.each_record(table, |key, value| out.push((key.to_vec(), value.to_vec())))?;
        Ok(out)
    }

    /// Calls `each` with key and value of every record of a table, in the order of their keys, without collecting them.
    /// Damaged records are logged and left out.
    ///
    /// Errors: [`StoreError::TableName`], and those of the database.
    pub fn each_record(
        &self,
        table: &str,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), StoreError> {
        let prefix = full_key(table, &[])?;
        self.inner().meta.view(|view| {
            view.each(RECORDS, &prefix, |key, row| {
                let Some(short) = key.strip_prefix(prefix.as_slice()) else {
                    return Ok(ControlFlow::Break(()));
                };
                match view.open(RECORDS, key, row) {
                    Ok(value) => each(short, value),
                    Err(fault) => tracing::error!(%fault, "a record is set aside"),
                }
                Ok(ControlFlow::Continue(()))
            })
        })
    }

    /// Makes changes in one durable transaction, in their order, all or none.
    ///
    /// Errors: [`StoreError::TableName`], [`StoreError::DiskFull`] and those of the database.
    pub fn write(&self, changes: &[Change]) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.inner().meta.transact(|writing, _| {
            for change in changes {
                match change {
                    Change::Put { table, key, value } => {
                        writing.put(RECORDS, &full_key(table, key)?, value)?;
                    }
                    Change::Delete { table, key } => {
                        writing.remove(RECORDS, &full_key(table, key)?)?;
                    }
                }
            }
            Ok(Outcome::Commit(()))
        })
    }
}
