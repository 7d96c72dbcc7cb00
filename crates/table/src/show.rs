//! Types and values as text.

use std::fmt;
use std::str::FromStr;

use crate::calendar::{DAYS, SECONDS, date_text, timestamp_text};
use crate::decimal::{MAX_DECIMAL, MAX_SCALE, decimal_text};
use crate::{ColumnType, Domain, MAX_TEXT_BYTES, SchemaError, Value};

impl ColumnType {
    /// The ordinals that any column of the type may hold; of text, none. Days and seconds: years 0001 to 9999.
    pub fn limits(self) -> Option<Domain> {
        let (min, max) = match self {
            ColumnType::Boolean => (0, 1),
            ColumnType::Integer => (i64::MIN, i64::MAX),
            ColumnType::Date => (DAYS.min, DAYS.max),
            ColumnType::Timestamp => (SECONDS.min, SECONDS.max),
            ColumnType::Decimal { .. } => (-MAX_DECIMAL, MAX_DECIMAL),
            ColumnType::Text { .. } => return None,
        };
        Some(Domain::new(min, max))
    }

    /// Returns a description of the values of this type, for errors.
    pub(crate) fn wanted(self) -> String {
        match self {
            ColumnType::Boolean => "true or false".into(),
            ColumnType::Integer => "a whole number of 64 bits".into(),
            ColumnType::Date => "a date YYYY-MM-DD of the years 0001 to 9999".into(),
            ColumnType::Timestamp => {
                "a moment YYYY-MM-DD HH:MM:SS of the years 0001 to 9999".into()
            }
            ColumnType::Decimal { scale } => {
                format!("a number of at most 18 digits, {scale} of them decimal places")
            }
            ColumnType::Text { max_bytes } => format!("text of at most {max_bytes} bytes"),
        }
    }

    /// Whether its parameters are in range.
    pub(crate) fn is_valid(self) -> bool {
        match self {
            ColumnType::Decimal { scale } => scale <= MAX_SCALE,
            ColumnType::Text { max_bytes } => (1..=MAX_TEXT_BYTES).contains(&max_bytes),
            _ => true,
        }
    }
}

/// `boolean`, `integer`, `date`, `timestamp`, `decimal(2)`, `text(32)`.
impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnType::Boolean => f.write_str("boolean"),
            ColumnType::Integer => f.write_str("integer"),
            ColumnType::Date => f.write_str("date"),
            ColumnType::Timestamp => f.write_str("timestamp"),
            ColumnType::Decimal { scale } => write!(f, "decimal({scale})"),
            ColumnType::Text { max_bytes } => write!(f, "text({max_bytes})"),
        }
    }
}

/// Reads what `Display` writes, in any case of letters.
impl FromStr for ColumnType {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<Self, SchemaError> {
        let lower = text.trim().to_ascii_lowercase();
        let (word, argument) = match lower
            .strip_suffix(')')
            .and_then(|rest| rest.split_once('('))
        {
            Some((word, argument)) => (word.trim_end(), argument.trim().parse::<u8>().ok()),
            None => (lower.as_str(), None),
        };
        let kind = match (word, argument) {
            ("boolean", None) => ColumnType::Boolean,
            ("integer", None) => ColumnType::Integer,
            ("date", None) => ColumnType::Date,
            ("timestamp", None) => ColumnType::Timestamp,
            ("decimal", Some(scale)) => ColumnType::Decimal { scale },
            ("text", Some(max_bytes)) => ColumnType::Text { max_bytes },
            _ => return Err(SchemaError::Type(text.into())),
        };
        // Only the two with a number keep their brackets: `date(x)` is no type.
        let whole = argument.is_some() || !lower.contains('(');
        if kind.is_valid() && whole {
            Ok(kind)
        } else {
            Err(SchemaError::Type(text.into()))
        }
    }
}

/// A value as SQL writes it: `true`, `12.50`, `2001-01-10`, `2001-01-10 18:20:00`, text as it is, `NULL`.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    value: &'a Value,
    scale: u8,
}

impl Value {
    /// Returns the value as text; `kind` determines the number of places of a decimal.
    pub fn show(&self, kind: ColumnType) -> Shown<'_> {
        let scale = match kind {
            ColumnType::Decimal { scale } => scale,
            _ => 0,
        };
        Shown { value: self, scale }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.value {
            Value::Null => "NULL".into(),
            Value::Boolean(truth) => truth.to_string(),
            Value::Integer(number) => number.to_string(),
            // Outside the calendar no table holds a value; one made by hand shows its number.
            Value::Date(days) => date_text(*days).unwrap_or_else(|| days.to_string()),
            Value::Timestamp(seconds) => {
                timestamp_text(*seconds).unwrap_or_else(|| seconds.to_string())
            }
            Value::Decimal(number) => decimal_text(*number, self.scale),
            Value::Text(text) => return f.pad(text),
        };
        f.pad(&text)
    }
}
