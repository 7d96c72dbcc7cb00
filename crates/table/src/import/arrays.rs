//! Arrow's arrays as cells.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int64Type, TimeUnit, UInt64Type,
};
use arrow::error::ArrowError;

use super::cell::Cell;
use crate::ColumnType;
use crate::calendar::Moment;
use crate::decimal::Written;

/// What a column of Parquet becomes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Natural {
    Exactly(ColumnType),
    /// A decimal of as many places as the numbers have.
    Measured,
    Text,
}

/// `None`: nothing of a table's.
pub(super) fn natural(kind: &DataType) -> Option<Natural> {
    use DataType::*;
    Some(match kind {
        Boolean => Natural::Exactly(ColumnType::Boolean),
        kind if kind.is_integer() => Natural::Exactly(ColumnType::Integer),
        Float16 | Float32 | Float64 => Natural::Measured,
        Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) | Decimal256(_, scale) => {
            match u8::try_from(*scale) {
                Ok(scale @ 0..=18) => Natural::Exactly(ColumnType::Decimal { scale }),
                _ => Natural::Measured,
            }
        }
        Date32 | Date64 => Natural::Exactly(ColumnType::Date),
        Timestamp(..) => Natural::Exactly(ColumnType::Timestamp),
        kind if is_text(kind) => Natural::Text,
        Dictionary(_, values) => natural(values)?,
        _ => return None,
    })
}

/// Whether values are text, in whatever layout.
pub(super) fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// The array in one of the few layouts that [`cells`] knows.
pub(super) fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    use DataType::*;
    let kind = match array.data_type() {
        Dictionary(_, values) => values,
        kind => kind,
    };
    let target = match kind {
        kind if is_text(kind) => Utf8View,
        Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32 => Int64,
        Float16 => Float32,
        Decimal32(precision, scale) | Decimal64(precision, scale) => Decimal128(*precision, *scale),
        kind => kind.clone(),
    };
    match target == *array.data_type() {
        true => Ok(array.clone()),
        false => cast(array, &target),
    }
}

/// The cells of an array that [`plain`] returned. `None`: nothing of a table's.
pub(super) fn cells(array: &ArrayRef) -> Option<Box<dyn Iterator<Item = Cell<'_>> + '_>> {
    use DataType::*;
    Some(match array.data_type() {
        Boolean => each(array.as_boolean().iter(), Cell::Boolean),
        Int64 => each(array.as_primitive::<Int64Type>().iter(), |number| {
            Cell::Integer(number.into())
        }),
        UInt64 => each(array.as_primitive::<UInt64Type>().iter(), |number| {
            Cell::Integer(number.into())
        }),
        Float32 => each(array.as_primitive::<Float32Type>().iter(), |number| {
            float(format!("{number:e}"))
        }),
        Float64 => each(array.as_primitive::<Float64Type>().iter(), |number| {
            float(format!("{number:e}"))
        }),
        Decimal128(_, scale) => {
            let places = i32::from(*scale);
            let numbers = array.as_primitive::<Decimal128Type>().iter();
            each(numbers, move |number| {
                Cell::Number(Written::new(number, places))
            })
        }
        Decimal256(_, scale) => {
            let places = i32::from(*scale);
            let numbers = array.as_primitive::<Decimal256Type>().iter();
            each(numbers, move |number| match number.to_i128() {
                Some(number) => Cell::Number(Written::new(number, places)),
                None => Cell::Odd(format!("{number}e{}", -places)),
            })
        }
        Date32 => each(array.as_primitive::<Date32Type>().iter(), |days| {
            Cell::Date(days.into())
        }),
        Date64 => each(array.as_primitive::<Date64Type>().iter(), |milliseconds| {
            Cell::Date(milliseconds.div_euclid(86_400_000))
        }),
        Timestamp(unit, _) => {
            let ticks = ticks(*unit);
            each(timestamps(array, *unit), move |number| {
                Cell::Moment(Moment {
                    seconds: number.div_euclid(ticks),
                    fraction: number.rem_euclid(ticks) != 0,
                })
            })
        }
        Utf8View => each(array.as_string_view().iter(), Cell::Text),
        _ => return None,
    })
}

/// Cells of the values that are there.
fn each<'a, T: 'a>(
    values: impl Iterator<Item = Option<T>> + 'a,
    cell: impl Fn(T) -> Cell<'a> + 'a,
) -> Box<dyn Iterator<Item = Cell<'a>> + 'a> {
    Box::new(values.map(move |value| value.map_or(Cell::Null, &cell)))
}

/// The shortest number that stands for a float. `text`: it, with an exponent.
fn float(text: String) -> Cell<'static> {
    match Written::parse(&text) {
        Some(number) => Cell::Number(number),
        None => Cell::Odd(text),
    }
}

/// Ticks of a second.
fn ticks(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The ticks of timestamps of any unit.
fn timestamps(array: &ArrayRef, unit: TimeUnit) -> Box<dyn Iterator<Item = Option<i64>> + '_> {
    use arrow::datatypes::{
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType,
    };
    match unit {
        TimeUnit::Second => Box::new(array.as_primitive::<TimestampSecondType>().iter()),
        TimeUnit::Millisecond => Box::new(array.as_primitive::<TimestampMillisecondType>().iter()),
        TimeUnit::Microsecond => Box::new(array.as_primitive::<TimestampMicrosecondType>().iter()),
        TimeUnit::Nanosecond => Box::new(array.as_primitive::<TimestampNanosecondType>().iter()),
    }
}
