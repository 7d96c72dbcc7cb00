//! One value of a row.

use crate::ColumnType;

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing is known.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Days since 1970-01-01.
    Date(i64),
    /// Seconds since 1970-01-01T00:00:00, without a time zone.
    Timestamp(i64),
    /// A whole number of the column's last decimal place: 12.50 with two places is 1250.
    Decimal(i64),
    /// At most 64 bytes.
    Text(String),
}

impl Value {
    /// The whole number that stands for the value, in its order: false 0, true 1. Of text and of absent values, none.
    pub fn ordinal(&self) -> Option<i64> {
        match *self {
            Value::Null | Value::Text(_) => None,
            Value::Boolean(truth) => Some(i64::from(truth)),
            Value::Integer(number)
            | Value::Date(number)
            | Value::Timestamp(number)
            | Value::Decimal(number) => Some(number),
        }
    }

    /// The value of type `kind` that `ordinal` stands for. `None`: of text, and outside [`ColumnType::limits`].
    pub fn from_ordinal(kind: ColumnType, ordinal: i64) -> Option<Value> {
        let limits = kind.limits()?;
        if !(limits.min..=limits.max).contains(&ordinal) {
            return None;
        }
        match kind {
            ColumnType::Boolean => Some(Value::Boolean(ordinal == 1)),
            ColumnType::Integer => Some(Value::Integer(ordinal)),
            ColumnType::Date => Some(Value::Date(ordinal)),
            ColumnType::Timestamp => Some(Value::Timestamp(ordinal)),
            ColumnType::Decimal { .. } => Some(Value::Decimal(ordinal)),
            ColumnType::Text { .. } => None,
        }
    }

    /// Whether the value is absent.
    pub fn is_null(&self) -> bool {
        *self == Value::Null
    }

    /// The kind of the value in a word, for errors.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "boolean",
            Value::Integer(_) => "integer",
            Value::Date(_) => "date",
            Value::Timestamp(_) => "timestamp",
            Value::Decimal(_) => "decimal",
            Value::Text(_) => "text",
        }
    }
}
