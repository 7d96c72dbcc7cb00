//! Values from text, and their limits.

use crate::calendar::{far_date_text, far_timestamp_text, parse_date, parse_timestamp};
use crate::decimal::{Misfit, Written};
use crate::{ColumnType, Value};
use omr_errors::Mismatch;

/// Why a value has no place in a column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The text is no value of the type.
    #[error("expected {}, found {:?}", .0.expected.wanted(), .0.found)]
    Syntax(Mismatch<ColumnType, String>),
    /// The value is of another type.
    #[error("expected a value of type {}, found {}", .0.expected, .0.found)]
    Kind(Mismatch<ColumnType, &'static str>),
    /// The number has more decimal places than the column.
    #[error("expected at most {} decimal places, found {:?}", .0.expected, .0.found)]
    Places(Mismatch<u8, String>),
    /// The number, day or moment lies outside what the type holds ([`ColumnType::limits`]).
    #[error("expected {}, found {}, which is out of range", .0.expected.wanted(), .0.found)]
    Range(Mismatch<ColumnType, String>),
    /// The moment has a fraction of a second.
    #[error("expected whole seconds, found {0:?}")]
    Fraction(String),
    /// The text is longer than the column's.
    #[error("expected text of at most {} bytes, found {}", .0.expected, .0.found)]
    TooLong(Mismatch<u8, usize>),
}

impl Value {
    /// Reads a value of type `kind` exactly as written; never [`Value::Null`].
    ///
    /// `true`/`false` in any case; whole numbers; `YYYY-MM-DD`; that with a space or `T` and `HH:MM[:SS[.0]]`, and `Z`
    /// or an offset, which is taken off, or alone as midnight; numbers such as `-12.50`, `.5`, `1.5e3` of at most as many places as the scale (further zeros
    /// pass); any text of at most `max_bytes`.
    ///
    /// Errors: what is none of these, or out of range, or has more places, seconds' fractions or bytes than the type.
    pub fn parse(text: &str, kind: ColumnType) -> Result<Value, ValueError> {
        let syntax = || ValueError::Syntax(Mismatch::new(kind, excerpt(text)));
        match kind {
            ColumnType::Boolean => parse_boolean(text).map(Value::Boolean).ok_or_else(syntax),
            ColumnType::Integer => parse_integer(text, kind).map(Value::Integer),
            ColumnType::Date => parse_date(text).map(Value::Date).ok_or_else(syntax),
            ColumnType::Timestamp => match parse_timestamp(text).ok_or_else(syntax)? {
                moment if moment.fraction => Err(ValueError::Fraction(excerpt(text))),
                moment => Ok(Value::Timestamp(moment.seconds)),
            },
            ColumnType::Decimal { scale } => {
                let number = Written::parse(text).ok_or_else(syntax)?.exactly(scale);
                number
                    .map(Value::Decimal)
                    .map_err(|misfit| misfit_error(misfit, scale, text))
            }
            ColumnType::Text { max_bytes } => {
                check_text(text, max_bytes)?;
                Ok(Value::Text(text.to_owned()))
            }
        }
    }

    /// Whether a column of type `kind` may hold the value; absent values pass.
    ///
    /// Errors: another type, out of range, or too long a text.
    pub fn check(&self, kind: ColumnType) -> Result<(), ValueError> {
        match (self, kind) {
            (Value::Null, _) => Ok(()),
            (Value::Text(text), ColumnType::Text { max_bytes }) => check_text(text, max_bytes),
            (Value::Boolean(_), ColumnType::Boolean) | (Value::Integer(_), ColumnType::Integer) => {
                Ok(())
            }
            (Value::Date(number), ColumnType::Date)
            | (Value::Timestamp(number), ColumnType::Timestamp)
            | (Value::Decimal(number), ColumnType::Decimal { .. }) => check_ordinal(*number, kind),
            _ => Err(ValueError::Kind(Mismatch::new(kind, self.noun()))),
        }
    }
}

pub(crate) fn parse_boolean(text: &str) -> Option<bool> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn parse_integer(text: &str, kind: ColumnType) -> Result<i64, ValueError> {
    text.parse().map_err(|error: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let (expected, found) = (kind, excerpt(text));
        match error.kind() {
            PosOverflow | NegOverflow => ValueError::Range(Mismatch::new(expected, found)),
            _ => ValueError::Syntax(Mismatch::new(expected, found)),
        }
    })
}

pub(crate) fn misfit_error(misfit: Misfit, scale: u8, text: &str) -> ValueError {
    let found = excerpt(text);
    match misfit {
        Misfit::Places => ValueError::Places(Mismatch::new(scale, found)),
        Misfit::Digits => ValueError::Range(Mismatch::new(ColumnType::Decimal { scale }, found)),
    }
}

pub(crate) fn check_ordinal(ordinal: i64, kind: ColumnType) -> Result<(), ValueError> {
    match kind.limits() {
        Some(limits) if (limits.min..=limits.max).contains(&ordinal) => Ok(()),
        Some(_) => {
            let found = match kind {
                ColumnType::Date => far_date_text(ordinal),
                ColumnType::Timestamp => far_timestamp_text(ordinal),
                _ => ordinal.to_string(),
            };
            Err(ValueError::Range(Mismatch::new(kind, found)))
        }
        None => Err(ValueError::Kind(Mismatch::new(kind, "a number"))),
    }
}

pub(crate) fn check_text(text: &str, max_bytes: u8) -> Result<(), ValueError> {
    if text.len() > usize::from(max_bytes) {
        return Err(ValueError::TooLong(Mismatch::new(max_bytes, text.len())));
    }
    Ok(())
}

/// At most 60 characters of a text, for an error.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((place, _)) => format!("{}…", &text[..place]),
        None => text.to_owned(),
    }
}
