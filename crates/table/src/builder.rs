//! Builds a table row by row.

use crate::column::ColumnData;
use crate::schema_check::{check_columns, check_name};
use crate::{ColumnType, MAX_ROWS, SchemaError, Table, Value, ValueError};

/// Why a table could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Names, types or numbers of columns or rows.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A row has too few or too many values.
    #[error("row {row}, counted from 0: expected {expected} values, found {found}")]
    Width {
        /// The row.
        row: u64,
        /// Columns of the table.
        expected: usize,
        /// Values of the row.
        found: usize,
    },
    /// A value has no place in its column.
    #[error("row {row}, counted from 0, column {column:?}: {error}")]
    Value {
        /// The row.
        row: u64,
        /// The column.
        column: String,
        /// The reason why the value is refused.
        error: ValueError,
    },
}

/// Takes rows one by one and checks them all.
#[derive(Clone, Debug)]
pub struct TableBuilder {
    name: String,
    columns: Vec<(String, ColumnType, ColumnData)>,
    rows: u64,
}

impl TableBuilder {
    /// An empty table.
    ///
    /// Errors: names that are empty, too long or alike, types out of range, no column or more than
    /// [`crate::MAX_COLUMNS`].
    pub fn new(
        name: impl Into<String>,
        columns: Vec<(String, ColumnType)>,
    ) -> Result<Self, SchemaError> {
        let name = name.into();
        check_name(&name)?;
        check_columns(columns.iter().map(|(name, kind)| (name.as_str(), *kind)))?;
        let columns = columns
            .into_iter()
            .map(|(name, kind)| (name, kind, ColumnData::new(kind)));
        Ok(TableBuilder {
            name,
            columns: columns.collect(),
            rows: 0,
        })
    }

    /// Adds a row; one that is refused changes nothing.
    ///
    /// Errors: another number of values than of columns, a value that its column cannot hold ([`Value::check`]), a row
    /// too many.
    pub fn push_row(&mut self, values: Vec<Value>) -> Result<(), BuildError> {
        if self.rows == MAX_ROWS {
            return Err(SchemaError::Rows(self.rows + 1).into());
        }
        if values.len() != self.columns.len() {
            return Err(BuildError::Width {
                row: self.rows,
                expected: self.columns.len(),
                found: values.len(),
            });
        }
        for ((name, kind, _), value) in self.columns.iter().zip(&values) {
            value.check(*kind).map_err(|error| BuildError::Value {
                row: self.rows,
                column: name.clone(),
                error,
            })?;
        }
        for ((_, _, data), value) in self.columns.iter_mut().zip(&values) {
            data.push(value);
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns the table, with the domains of its values. `salt` keys the fingerprints of text and must be drawn at random
    /// for each table.
    pub fn finish(self, salt: [u8; 16]) -> Table {
        Table::new(self.name, salt, self.columns)
    }
}
