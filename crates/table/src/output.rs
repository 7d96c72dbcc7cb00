//! Rows for the world: CSV, JSON and Arrow's file.

#[cfg(feature = "arrow")]
mod arrow;
#[cfg_attr(not(feature = "parquet"), path = "output/no_arrow_file.rs")]
mod arrow_file;

use std::collections::HashSet;
use std::io::{self, Write};

use crate::{Column, ColumnType, Table, Value, ValueError};
use omr_errors::Mismatch;

/// Why rows could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// A row has too few or too many values.
    #[error("row {row} of the result, counted from 0: expected {expected} values, found {found}")]
    Width {
        /// The row.
        row: usize,
        /// Columns.
        expected: usize,
        /// Values.
        found: usize,
    },
    /// There are more or fewer row numbers than rows.
    #[error("row numbers: {0}")]
    Numbers(Mismatch<usize>),
    /// A value does not fit its column.
    #[error("row {row} of the result, counted from 0, column {column:?}: {error}")]
    Value {
        /// The row.
        row: usize,
        /// The column.
        column: String,
        /// The reason why the value is refused.
        error: ValueError,
    },
    /// The file refused.
    #[error("writing rows: {0}")]
    Io(#[from] io::Error),
    /// The file refused, or a row has no place in CSV.
    #[error("writing rows: {0}")]
    Csv(#[from] csv::Error),
    /// A value has no place in JSON.
    #[error("writing rows: {0}")]
    Json(#[from] serde_json::Error),
    /// The writer of Arrow refused.
    #[cfg(feature = "arrow")]
    #[error("writing rows: {0}")]
    Arrow(#[from] ::arrow::error::ArrowError),
    /// Arrow's file, which this build does not write.
    #[error(
        "this build of omr does not write Arrow: build it with the feature `parquet`, or take csv or json"
    )]
    LeftOut,
}

/// The result of a query: columns, rows of their values, and optionally the position of each row in the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The columns selected, in that order.
    pub columns: Vec<Column>,
    /// One value a column.
    pub rows: Vec<Vec<Value>>,
    /// The number of each row in the table, counted from 0, to be written as a first column `row`.
    pub numbers: Option<Vec<u64>>,
}

impl Table {
    /// Some columns of some rows. Panics: no such row or column.
    pub fn pick(&self, select: &[usize], rows: impl IntoIterator<Item = usize>) -> Rows {
        let columns = select
            .iter()
            .map(|&column| self.schema().columns[column].clone());
        let (mut values, mut numbers) = (Vec::new(), Vec::new());
        for row in rows {
            values.push(
                select
                    .iter()
                    .map(|&column| self.value(row, column))
                    .collect(),
            );
            numbers.push(row as u64);
        }
        Rows {
            columns: columns.collect(),
            rows: values,
            numbers: Some(numbers),
        }
    }
}

impl Rows {
    fn check(&self) -> Result<(), OutputError> {
        if let Some(numbers) = &self.numbers
            && numbers.len() != self.rows.len()
        {
            return Err(OutputError::Numbers(Mismatch::new(
                self.rows.len(),
                numbers.len(),
            )));
        }
        for (row, values) in self.rows.iter().enumerate() {
            if values.len() != self.columns.len() {
                return Err(OutputError::Width {
                    row,
                    expected: self.columns.len(),
                    found: values.len(),
                });
            }
            for (value, column) in values.iter().zip(&self.columns) {
                value
                    .check(column.kind)
                    .map_err(|error| OutputError::Value {
                        row,
                        column: column.name.clone(),
                        error,
                    })?;
            }
        }
        Ok(())
    }

    /// Names of the columns as files have them, that of the row numbers first; a name that is there already gets a
    /// number.
    fn names(&self) -> Vec<String> {
        let mut names = Names::default();
        let first = self.numbers.iter().map(|_| "row");
        let rest = self.columns.iter().map(|column| column.name.as_str());
        first.chain(rest).map(|name| names.new_one(name)).collect()
    }

    /// Writes CSV with a header; absent values are empty, as empty text is.
    ///
    /// Errors: as [`Rows::write_json`].
    pub fn write_csv(&self, out: impl Write) -> Result<(), OutputError> {
        self.write_csv_with(out, str::to_owned)
    }

    /// Writes CSV for spreadsheets: as [`Rows::write_csv`], but an apostrophe precedes names and texts that a
    /// spreadsheet would take for formulas, which begin with `=`, `+`, `-`, `@`, a tab or a carriage return.
    ///
    /// Errors: as [`Rows::write_json`].
    pub fn write_spreadsheet_csv(&self, out: impl Write) -> Result<(), OutputError> {
        self.write_csv_with(out, |text| {
            if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
                format!("'{text}")
            } else {
                text.to_owned()
            }
        })
    }

    /// Writes CSV; `text` changes names and texts, not values of other types.
    fn write_csv_with(
        &self,
        out: impl Write,
        text: impl Fn(&str) -> String,
    ) -> Result<(), OutputError> {
        self.check()?;
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(self.names().iter().map(|name| text(name)))?;
        for (place, row) in self.rows.iter().enumerate() {
            let number = self
                .numbers
                .iter()
                .map(|numbers| numbers[place].to_string());
            let values = self
                .columns
                .iter()
                .zip(row)
                .map(|(column, value)| match value {
                    Value::Null => String::new(),
                    Value::Text(value) => text(value),
                    value => value.show(column.kind).to_string(),
                });
            writer.write_record(number.chain(values))?;
        }
        Ok(writer.flush()?)
    }

    /// Writes a JSON array of objects, with `null` for absent values and numbers for decimals.
    ///
    /// Errors: rows of another width, values of another type, not as many numbers as rows, and those of the file.
    pub fn write_json(&self, mut out: impl Write) -> Result<(), OutputError> {
        self.check()?;
        let mut names = Vec::new();
        for name in self.names() {
            names.push(serde_json::to_string(&name)?);
        }
        let (number_name, value_names) = names.split_at(names.len() - self.columns.len());
        out.write_all(b"[")?;
        for (place, row) in self.rows.iter().enumerate() {
            let mut fields = Vec::with_capacity(names.len());
            if let (Some(name), Some(numbers)) = (number_name.first(), &self.numbers) {
                fields.push(format!("{name}:{}", numbers[place]));
            }
            for ((name, column), value) in value_names.iter().zip(&self.columns).zip(row) {
                fields.push(format!("{name}:{}", json(value, column.kind)?));
            }
            let between = if place == 0 { "" } else { "," };
            write!(out, "{between}{{{}}}", fields.join(","))?;
        }
        Ok(out.write_all(b"]")?)
    }
}

/// A value as JSON has it; moments with a `T`, as ISO 8601 has them.
fn json(value: &Value, kind: ColumnType) -> Result<String, serde_json::Error> {
    let shown = value.show(kind).to_string();
    match value {
        Value::Null => Ok("null".into()),
        Value::Boolean(_) | Value::Integer(_) | Value::Decimal(_) => Ok(shown),
        Value::Timestamp(_) => serde_json::to_string(&shown.replacen(' ', "T", 1)),
        Value::Date(_) | Value::Text(_) => serde_json::to_string(&shown),
    }
}

/// Names given out.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    /// The name, or it with the first number that makes it new: `fare`, `fare_2`.
    fn new_one(&mut self, name: &str) -> String {
        let mut new = name.to_owned();
        let mut number = 2;
        while !self.0.insert(new.to_lowercase()) {
            new = format!("{name}_{number}");
            number += 1;
        }
        new
    }
}
