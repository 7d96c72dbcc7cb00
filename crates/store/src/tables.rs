//! The tables of the meta file: views of one moment, and transactions under way.

use std::ops::ControlFlow;

use crate::config::{BoardConfig, Clues};
use omr_errors::Mismatch;
use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, Table,
    TableError, TableHandle, WriteTransaction,
};

use crate::error::{Evidence, Redb, StoreError};
use crate::format::{
    BLOCKS, HASHES, History, KEYS_CONFIG, KEYS_HISTORY, KEYS_STATE, KEYS_VERSION, Layout, META,
    META_VERSION, ONCE, Rows, State, TABLES, bad_row, encode_config, open_row, seal_row,
};

/// Writes the rows of an empty board.
pub(crate) fn initialise(database: &Database, config: &BoardConfig) -> Result<(), StoreError> {
    let histories = [History::first(config)];
    initialise_at(database, config, &State::new(config), &histories)
}

/// Writes the rows of a board. The caller adds its messages.
pub(crate) fn initialise_at(
    database: &Database,
    config: &BoardConfig,
    state: &State,
    histories: &[History],
) -> Result<(), StoreError> {
    let mut transaction = database.begin_write().map_err(Redb)?;
    transaction.set_quick_repair(true);
    for (table, _) in TABLES {
        transaction.open_table(table).map_err(Redb)?;
    }
    if config.clues == Clues::Bound {
        transaction.open_table(ONCE).map_err(Redb)?;
        transaction.open_table(HASHES).map_err(Redb)?;
    }
    {
        let mut meta = transaction.open_table(META).map_err(Redb)?;
        let bytes = encode_config(config);
        for key in KEYS_CONFIG {
            meta.insert(key, bytes.as_slice()).map_err(Redb)?;
        }
    }
    let writing = Writing::new(&transaction, Layout::new(config).seed);
    writing.put_version()?;
    writing.put_state(state)?;
    writing.put_histories(histories)?;
    Ok(transaction.commit().map_err(Redb)?)
}

/// Reads the state from one of its two rows.
///
/// Errors: [`StoreError::Row`] where both are damaged, and those of `get`.
fn state_by(
    get: impl Fn(&[u8]) -> Result<Option<Vec<u8>>, StoreError>,
) -> Result<State, StoreError> {
    let [first, again] = KEYS_STATE.map(|key| match get(key)? {
        Some(value) => State::decode(&value),
        None => Err(bad_row("meta", key, Evidence::Present, 0)),
    });
    match (first, again) {
        (Err(StoreError::Row { .. }), Ok(state)) => Ok(state),
        (first, _) => first,
    }
}

/// A key and its row as stored.
pub(crate) type StoredRow = (Vec<u8>, Vec<u8>);

/// The decoded rows of a table.
pub(crate) struct List<T> {
    pub(crate) intact: Vec<T>,
    /// The faults of the damaged rows.
    pub(crate) faults: Vec<StoreError>,
}

impl<T> List<T> {
    /// Returns all rows.
    ///
    /// Errors: [`StoreError::Row`] where a row is damaged.
    pub(crate) fn whole(self) -> Result<Vec<T>, StoreError> {
        match self.faults.into_iter().next() {
            None => Ok(self.intact),
            Some(fault) => Err(fault),
        }
    }
}

/// A table of a view.
type ReadOnly = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The tables at one moment.
pub(crate) struct View {
    pub(crate) transaction: ReadTransaction,
    pub(crate) seed: u32,
    /// The number of times that the meta file had been opened again.
    pub(crate) epoch: u64,
}

impl View {
    pub(crate) fn state(&self) -> Result<State, StoreError> {
        state_by(|key| self.get(META, key))
    }

    /// Returns the histories of the board, oldest first.
    pub(crate) fn histories(&self) -> Result<Vec<History>, StoreError> {
        let [first, again] = KEYS_HISTORY.map(|key| match self.get(META, key)? {
            Some(value) => History::decode_all(&value),
            None => Err(bad_row("meta", key, Evidence::Present, 0)),
        });
        match (first, again) {
            (Err(StoreError::Row { .. }), Ok(histories)) => Ok(histories),
            (first, _) => first,
        }
    }

    /// Opens a table. Returns `None` for that of blocks if no block was ever appended.
    fn table(&self, rows: Rows) -> Result<Option<ReadOnly>, StoreError> {
        match self.transaction.open_table(rows) {
            Err(TableError::TableDoesNotExist(_)) if rows.name() == BLOCKS.name() => Ok(None),
            table => Ok(Some(table.map_err(Redb)?)),
        }
    }

    /// Returns a row as it is stored.
    pub(crate) fn raw(&self, rows: Rows, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(table) = self.table(rows)? else {
            return Ok(None);
        };
        let found = table.get(key).map_err(Redb)?;
        Ok(found.map(|guard| guard.value().to_vec()))
    }

    /// Returns the value of a row after a test of its checksum.
    pub(crate) fn get(&self, rows: Rows, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(row) = self.raw(rows, key)? else {
            return Ok(None);
        };
        Ok(Some(open_row(self.seed, short(&rows), key, &row)?.to_vec()))
    }

    /// Opens the value in a stored row.
    pub(crate) fn open<'a>(
        &self,
        rows: Rows,
        key: &[u8],
        row: &'a [u8],
    ) -> Result<&'a [u8], StoreError> {
        open_row(self.seed, short(&rows), key, row)
    }

    /// Returns whether a table exists.
    #[cfg(test)]
    pub(crate) fn has(&self, rows: Rows) -> Result<bool, StoreError> {
        match self.transaction.open_table(rows) {
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(false),
            other => Ok(other.map(|_| true).map_err(Redb)?),
        }
    }

    /// Calls `each` with the stored rows from key `from` on, in the order of their keys, until it breaks.
    pub(crate) fn each(
        &self,
        rows: Rows,
        from: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let Some(table) = self.table(rows)? else {
            return Ok(());
        };
        for row in table.range(from..).map_err(Redb)? {
            let (key, value) = row.map_err(Redb)?;
            if each(key.value(), value.value())?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the rows of a table, decoded from key and value by `decode`, and the faults of damaged rows.
    pub(crate) fn list<T>(
        &self,
        rows: Rows,
        mut decode: impl FnMut(&[u8], &[u8]) -> Result<T, StoreError>,
    ) -> Result<List<T>, StoreError> {
        let (mut intact, mut faults) = (Vec::new(), Vec::new());
        self.each(rows, &[], |key, row| {
            match self
                .open(rows, key, row)
                .and_then(|value| decode(key, value))
            {
                Ok(row) => intact.push(row),
                Err(fault) => faults.push(fault),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(List { intact, faults })
    }

    /// Returns the last row whose key is at most `key`, as it is stored.
    pub(crate) fn last_to(&self, rows: Rows, key: &[u8]) -> Result<Option<StoredRow>, StoreError> {
        let Some(table) = self.table(rows)? else {
            return Ok(None);
        };
        match table.range(..=key).map_err(Redb)?.next_back() {
            Some(found) => {
                let (last, value) = found.map_err(Redb)?;
                Ok(Some((last.value().to_vec(), value.value().to_vec())))
            }
            None => Ok(None),
        }
    }

    /// Returns the number of rows as the database counts it.
    pub(crate) fn count(&self, rows: Rows) -> Result<u64, StoreError> {
        let Some(table) = self.table(rows)? else {
            return Ok(0);
        };
        Ok(table.len().map_err(Redb)?)
    }
}

/// Returns the short name of a table, which is part of its checksums.
pub(crate) fn short(rows: &Rows) -> &'static str {
    let name = rows.name();
    TABLES
        .iter()
        .find(|(table, _)| table.name() == name)
        .map_or("", |(_, short)| short)
}

/// Returns the error of a table with an unexpected number of rows.
pub(crate) fn miscounted(table: &str, expected: u64, found: u64) -> StoreError {
    let evidence = Mismatch::new(Evidence::Number(expected), Evidence::Number(found));
    StoreError::row(table, &[], evidence)
}

/// A transaction under way.
pub(crate) struct Writing<'t> {
    transaction: &'t WriteTransaction,
    seed: u32,
}

/// A table in a transaction under way.
pub(crate) type Open<'t> = Table<'t, &'static [u8], &'static [u8]>;

impl<'t> Writing<'t> {
    pub(crate) fn new(transaction: &'t WriteTransaction, seed: u32) -> Self {
        Self { transaction, seed }
    }

    pub(crate) fn table(&self, rows: Rows) -> Result<Open<'t>, StoreError> {
        Ok(self.transaction.open_table(rows).map_err(Redb)?)
    }

    /// The seed of checksums.
    pub(crate) fn seed(&self) -> u32 {
        self.seed
    }

    pub(crate) fn state(&self) -> Result<State, StoreError> {
        state_by(|key| self.get(META, key))
    }

    /// Returns the value of a row after a test of its checksum.
    pub(crate) fn get(&self, rows: Rows, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let table = self.table(rows)?;
        let found = table.get(key).map_err(Redb)?;
        let Some(guard) = found else {
            return Ok(None);
        };
        let value = open_row(self.seed, short(&rows), key, guard.value())?;
        Ok(Some(value.to_vec()))
    }

    /// Stores the version of the format.
    pub(crate) fn put_version(&self) -> Result<(), StoreError> {
        let mut table = self.table(META)?;
        for key in KEYS_VERSION {
            let version = META_VERSION.to_le_bytes();
            table.insert(key, version.as_slice()).map_err(Redb)?;
        }
        Ok(())
    }

    /// Stores the state.
    pub(crate) fn put_state(&self, state: &State) -> Result<(), StoreError> {
        KEYS_STATE
            .iter()
            .try_for_each(|key| self.put(META, key, &state.encode()))
    }

    pub(crate) fn put_histories(&self, histories: &[History]) -> Result<(), StoreError> {
        KEYS_HISTORY
            .iter()
            .try_for_each(|key| self.put(META, key, &History::encode_all(histories)))
    }

    /// Stores a value with its checksum.
    pub(crate) fn put(&self, rows: Rows, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let row = seal_row(self.seed, short(&rows), key, value);
        let mut table = self.table(rows)?;
        table.insert(key, row.as_slice()).map_err(Redb)?;
        Ok(())
    }

    /// Removes all rows of a table.
    pub(crate) fn clear(&self, rows: Rows) -> Result<(), StoreError> {
        self.transaction.delete_table(rows).map_err(Redb)?;
        self.table(rows).map(drop)
    }

    /// Removes the rows with wrong checksums.
    pub(crate) fn drop_damaged(&self, rows: Rows) -> Result<(), StoreError> {
        let (seed, name) = (self.seed, short(&rows));
        let mut table = self.table(rows)?;
        let intact = |key: &[u8], row: &[u8]| open_row(seed, name, key, row).is_ok();
        table.retain(intact).map_err(Redb)?;
        Ok(())
    }

    /// Returns the last key of a table.
    pub(crate) fn last(&self, rows: Rows) -> Result<Option<Vec<u8>>, StoreError> {
        let table = self.table(rows)?;
        let last = table.last().map_err(Redb)?;
        Ok(last.map(|(key, _)| key.value().to_vec()))
    }

    /// Removes a row and returns whether it existed.
    pub(crate) fn remove(&self, rows: Rows, key: &[u8]) -> Result<bool, StoreError> {
        let mut table = self.table(rows)?;
        Ok(table.remove(key).map_err(Redb)?.is_some())
    }
}
