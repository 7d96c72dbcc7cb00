//! Rows for the world: record batches, CSV, JSON and Arrow's file.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int64Array, RecordBatch, StringArray,
    TimestampSecondArray,
};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, TimeUnit};
use arrow::error::ArrowError;

use crate::{Column, ColumnType, Table, Value, ValueError};

/// Digits of Arrow's decimals that stand for ours.
const PRECISION: u8 = 18;
/// Moments as CSV shows them, which import reads.
const MOMENT: &str = "%Y-%m-%d %H:%M:%S";

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
    #[error("row numbers: expected {expected}, found {found}")]
    Numbers {
        /// Rows.
        expected: usize,
        /// Numbers.
        found: usize,
    },
    /// A value has no place in its column.
    #[error("row {row} of the result, counted from 0, column {column:?}: {error}")]
    Value {
        /// The row.
        row: usize,
        /// The column.
        column: String,
        /// What is wrong with it.
        error: ValueError,
    },
    /// The writer refused.
    #[error("writing rows: {0}")]
    Arrow(#[from] ArrowError),
}

/// What a query returns: columns, rows of their values, and perhaps where in the table each row stood.
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
    /// Returns the rows as an Arrow batch, of types Boolean, Int64, Date32, Timestamp in seconds,
    /// Decimal128 of 18 digits and Utf8; a name that is there already gets a number.
    ///
    /// Errors: rows of another width, values of another type, not as many numbers as rows.
    pub fn record_batch(&self) -> Result<RecordBatch, OutputError> {
        self.check()?;
        let mut names = Names::default();
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        if let Some(numbers) = &self.numbers {
            fields.push(Field::new(names.new_one("row"), DataType::Int64, false));
            arrays.push(Arc::new(Int64Array::from_iter_values(
                numbers.iter().map(|&number| number as i64),
            )));
        }
        for (place, column) in self.columns.iter().enumerate() {
            let name = names.new_one(&column.name);
            fields.push(Field::new(name, data_type(column.kind), true));
            arrays.push(self.array(place, column.kind)?);
        }
        let schema = Arc::new(ArrowSchema::new(fields));
        Ok(RecordBatch::try_new(schema, arrays)?)
    }

    fn check(&self) -> Result<(), OutputError> {
        if let Some(numbers) = &self.numbers
            && numbers.len() != self.rows.len()
        {
            return Err(OutputError::Numbers {
                expected: self.rows.len(),
                found: numbers.len(),
            });
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

    /// The values of a column, which have been checked to be of its type.
    fn array(&self, place: usize, kind: ColumnType) -> Result<ArrayRef, OutputError> {
        let ordinals = self.rows.iter().map(|row| row[place].ordinal());
        Ok(match kind {
            ColumnType::Boolean => {
                let truths = ordinals.map(|ordinal| ordinal.map(|ordinal| ordinal == 1));
                Arc::new(truths.collect::<BooleanArray>())
            }
            ColumnType::Integer => Arc::new(ordinals.collect::<Int64Array>()),
            ColumnType::Date => {
                // Days of four-digit years fit 32 bits.
                let days = ordinals.map(|ordinal| ordinal.map(|days| days as i32));
                Arc::new(days.collect::<Date32Array>())
            }
            ColumnType::Timestamp => Arc::new(ordinals.collect::<TimestampSecondArray>()),
            ColumnType::Decimal { scale } => {
                let numbers = ordinals.map(|ordinal| ordinal.map(i128::from));
                let array = numbers.collect::<Decimal128Array>();
                Arc::new(array.with_precision_and_scale(PRECISION, scale as i8)?)
            }
            ColumnType::Text { .. } => {
                let text = |row: &'_ Vec<Value>| match &row[place] {
                    Value::Text(text) => Some(text.clone()),
                    _ => None,
                };
                Arc::new(self.rows.iter().map(text).collect::<StringArray>())
            }
        })
    }

    /// Writes CSV with a header; absent values are empty, as empty text is.
    ///
    /// Errors: as [`Rows::record_batch`], and the writer's.
    pub fn write_csv(&self, out: impl Write) -> Result<(), OutputError> {
        let batch = self.record_batch()?;
        let builder = arrow::csv::WriterBuilder::new().with_timestamp_format(MOMENT.into());
        Ok(builder.build(out).write(&batch)?)
    }

    /// Writes a JSON array of objects, with `null` for absent values and numbers for decimals.
    ///
    /// Errors: as [`Rows::record_batch`], and the writer's.
    pub fn write_json(&self, out: impl Write) -> Result<(), OutputError> {
        let batch = self.record_batch()?;
        let builder = arrow::json::WriterBuilder::new().with_explicit_nulls(true);
        let mut writer = builder.build::<_, arrow::json::writer::JsonArray>(out);
        writer.write(&batch)?;
        Ok(writer.finish()?)
    }

    /// Writes an Arrow IPC file.
    ///
    /// Errors: as [`Rows::record_batch`], and the writer's.
    pub fn write_arrow(&self, out: impl Write) -> Result<(), OutputError> {
        let batch = self.record_batch()?;
        let mut writer = arrow::ipc::writer::FileWriter::try_new(out, &batch.schema())?;
        writer.write(&batch)?;
        Ok(writer.finish()?)
    }
}

fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Integer => DataType::Int64,
        ColumnType::Date => DataType::Date32,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Second, None),
        ColumnType::Decimal { scale } => DataType::Decimal128(PRECISION, scale as i8),
        ColumnType::Text { .. } => DataType::Utf8,
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
