//! Arrow's arrays as cells.

use arrow::array::{Array, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};

use super::cell::Cell;
use crate::ColumnType;
use crate::calendar::Moment;
use crate::decimal::Written;

/// The type that a column gets if none is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Natural {
    Exactly(ColumnType),
    /// A decimal of as many places as the numbers have.
    Measured,
    Text,
}

/// Returns the type of a table's column for an Arrow type; `None` where there is none.
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

/// The cells of an array. `None`: nothing of a table's.
pub(super) fn cells(array: &dyn Array) -> Option<Box<dyn Iterator<Item = Cell<'_>> + '_>> {
    use DataType::*;
    Some(match array.data_type() {
        Boolean => each(array.as_boolean().iter(), Cell::Boolean),
        Int8 => integers::<Int8Type>(array),
        Int16 => integers::<Int16Type>(array),
        Int32 => integers::<Int32Type>(array),
        Int64 => integers::<Int64Type>(array),
        UInt8 => integers::<UInt8Type>(array),
        UInt16 => integers::<UInt16Type>(array),
        UInt32 => integers::<UInt32Type>(array),
        UInt64 => integers::<UInt64Type>(array),
        Float16 => each(array.as_primitive::<Float16Type>().iter(), |number| {
            float(format!("{:e}", f32::from(number)))
        }),
        Float32 => each(array.as_primitive::<Float32Type>().iter(), |number| {
            float(format!("{number:e}"))
        }),
        Float64 => each(array.as_primitive::<Float64Type>().iter(), |number| {
            float(format!("{number:e}"))
        }),
        Decimal32(_, scale) => decimals::<Decimal32Type>(array, *scale),
        Decimal64(_, scale) => decimals::<Decimal64Type>(array, *scale),
        Decimal128(_, scale) => decimals::<Decimal128Type>(array, *scale),
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
            // A day has whole days of milliseconds. Others are moments, which no column of days takes.
            match milliseconds.rem_euclid(86_400_000) {
                0 => Cell::Date(milliseconds / 86_400_000),
                _ => Cell::Moment(Moment {
                    seconds: milliseconds.div_euclid(1000),
                    fraction: milliseconds.rem_euclid(1000) != 0,
                }),
            }
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
        Utf8 => each(array.as_string::<i32>().iter(), Cell::Text),
        LargeUtf8 => each(array.as_string::<i64>().iter(), Cell::Text),
        Utf8View => each(array.as_string_view().iter(), Cell::Text),
        Dictionary(..) => entries(array)?,
        _ => return None,
    })
}

fn integers<T: ArrowPrimitiveType>(array: &dyn Array) -> Box<dyn Iterator<Item = Cell<'_>> + '_>
where
    i128: From<T::Native>,
{
    each(array.as_primitive::<T>().iter(), |number| {
        Cell::Integer(number.into())
    })
}

fn decimals<T: ArrowPrimitiveType>(
    array: &dyn Array,
    scale: i8,
) -> Box<dyn Iterator<Item = Cell<'_>> + '_>
where
    i128: From<T::Native>,
{
    each(array.as_primitive::<T>().iter(), move |number| {
        Cell::Number(Written::new(number.into(), scale.into()))
    })
}

/// The cells of a dictionary's keys.
fn entries(array: &dyn Array) -> Option<Box<dyn Iterator<Item = Cell<'_>> + '_>> {
    let dictionary = array.as_any_dictionary();
    let values: Vec<Cell> = cells(dictionary.values())?.collect();
    if values.is_empty() {
        // All keys are absent, whatever stands in their place.
        return Some(Box::new((0..array.len()).map(|_| Cell::Null)));
    }
    let nulls = dictionary.keys().nulls();
    let keys = dictionary.normalized_keys().into_iter().enumerate();
    Some(Box::new(keys.map(move |(row, key)| {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            Cell::Null
        } else {
            values[key].clone()
        }
    })))
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
fn timestamps(array: &dyn Array, unit: TimeUnit) -> Box<dyn Iterator<Item = Option<i64>> + '_> {
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
