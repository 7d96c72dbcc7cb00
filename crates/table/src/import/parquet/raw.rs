//! Columns of Parquet as they are stored.
//!
//! The reader of arrays wraps what exceeds their types: INT96 beyond nanoseconds of 64 bits (the years 1677 to 2262),
//! and numbers of 32 bits in columns annotated with fewer.

use ::parquet::basic::Type as Physical;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{DataType as ParquetType, Int96};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::SchemaDescriptor;
use arrow::datatypes::DataType;

use super::super::cell::Cell;
use super::super::{ImportError, select::Chosen};
use super::BATCH;
use super::ending::Ending;
use crate::calendar::Moment;

/// The day 1970-01-01, as INT96 counts days.
const EPOCH: i64 = 2_440_588;
const DAY: i64 = 86_400;
const NANOSECONDS: i64 = 1_000_000_000;

/// Returns the leaf of a column whose arrays could wrap, by the column's place. `None`: they are exact.
pub(super) fn leaf(schema: &SchemaDescriptor, place: usize, kind: &DataType) -> Option<usize> {
    if !schema.root_schema().get_fields()[place].is_primitive() {
        return None;
    }
    let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == place)?;
    match (schema.column(leaf).physical_type(), kind) {
        (Physical::INT96, DataType::Timestamp(..)) => Some(leaf),
        (Physical::INT32, kind) if range(kind).is_some() => Some(leaf),
        _ => None,
    }
}

/// The numbers of a type of fewer than 32 bits.
fn range(kind: &DataType) -> Option<(i32, i32)> {
    match kind {
        DataType::Int8 => Some((i8::MIN.into(), i8::MAX.into())),
        DataType::Int16 => Some((i16::MIN.into(), i16::MAX.into())),
        DataType::UInt8 => Some((0, u8::MAX.into())),
        DataType::UInt16 => Some((0, u16::MAX.into())),
        _ => None,
    }
}

/// Hands every cell of a leaf on.
pub(super) fn cells(
    file: Ending,
    leaf: usize,
    column: &Chosen,
    kind: &DataType,
    take: &mut dyn FnMut(&Cell) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let file = SerializedFileReader::new(file)?;
    let mut row = 0;
    for group in 0..file.num_row_groups() {
        match file.get_row_group(group)?.get_column_reader(leaf)? {
            ColumnReader::Int96ColumnReader(reader) => each(reader, &mut |value| {
                take(&value.map_or(Cell::Null, |value| Cell::Moment(moment(&value))))
            })?,
            ColumnReader::Int32ColumnReader(reader) => {
                let (min, max) = range(kind).unwrap_or((i32::MIN, i32::MAX));
                each(reader, &mut |value| {
                    let cell = match value {
                        None => Cell::Null,
                        Some(number) if (min..=max).contains(&number) => {
                            Cell::Integer(number.into())
                        }
                        Some(found) => {
                            return Err(ImportError::Annotation {
                                row,
                                column: column.name.clone(),
                                expected: kind.to_string(),
                                found,
                            });
                        }
                    };
                    row += 1;
                    take(&cell)
                })?;
            }
            _ => {
                return Err(ImportError::Type {
                    column: column.name.clone(),
                    found: kind.to_string(),
                });
            }
        }
    }
    Ok(())
}

/// Hands the values of a chunk on, `None` where one is absent.
fn each<T: ParquetType>(
    mut reader: ColumnReaderImpl<T>,
    take: &mut dyn FnMut(Option<T::T>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    loop {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let (rows, present, _) =
            reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        if rows == 0 {
            return Ok(());
        }
        let mut values = values.into_iter();
        for row in 0..rows {
            // A column without absent values has no levels.
            let is_present = present == rows || levels.get(row).is_some_and(|&level| level > 0);
            take(is_present.then(|| values.next()).flatten())?;
        }
    }
}

/// The moment of INT96: nanoseconds of a day, then the day.
fn moment(value: &Int96) -> Moment {
    let [low, high, day] = value.data() else {
        unreachable!("three words")
    };
    let nanoseconds = (u64::from(*high) << 32 | u64::from(*low)).cast_signed();
    let days = i64::from(day.cast_signed()) - EPOCH;
    Moment {
        seconds: days * DAY + nanoseconds.div_euclid(NANOSECONDS),
        fraction: nanoseconds.rem_euclid(NANOSECONDS) != 0,
    }
}
