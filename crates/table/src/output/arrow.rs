//! Rows as Arrow's record batches and files.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int64Array, RecordBatch, StringArray,
    TimestampSecondArray,
};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, TimeUnit};

use super::{OutputError, Rows};
use crate::{ColumnType, Value};

/// Digits of Arrow's decimals that stand for ours.
const PRECISION: u8 = 18;

impl Rows {
    /// Returns the rows as an Arrow batch, of types Boolean, Int64, Date32, Timestamp in seconds,
    /// Decimal128 of 18 digits and Utf8; a name that is there already gets a number.
    ///
    /// Errors: rows of another width, values of another type, not as many numbers as rows.
    pub fn record_batch(&self) -> Result<RecordBatch, OutputError> {
        self.check()?;
        let mut names = self.names().into_iter();
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        if let Some(numbers) = &self.numbers {
            fields.push(Field::new(
                names.next().unwrap_or_default(),
                DataType::Int64,
                false,
            ));
            arrays.push(Arc::new(Int64Array::from_iter_values(
                numbers.iter().map(|&number| number as i64),
            )));
        }
        for (place, column) in self.columns.iter().enumerate() {
            let name = names.next().unwrap_or_default();
            fields.push(Field::new(name, data_type(column.kind), true));
            arrays.push(self.array(place, column.kind)?);
        }
        let schema = Arc::new(ArrowSchema::new(fields));
        Ok(RecordBatch::try_new(schema, arrays)?)
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
