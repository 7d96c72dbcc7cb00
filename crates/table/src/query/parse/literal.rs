//! Constants as they are written, before they meet a column.

use chrono::{NaiveDate, NaiveDateTime};
use sqlparser::ast::{DataType, Expr, TimezoneInfo, UnaryOperator, Value};

use super::super::QueryError;
use super::super::error::cut;
use super::number::{self, Exact};

/// Seconds of a day.
pub(super) const DAY: i128 = 86_400;

const FORM: &str =
    "compare a column with a number, a 'string', TRUE, FALSE, NULL, DATE or TIMESTAMP '…'";

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    /// Unknown.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// A number.
    Number {
        /// The digits of the number.
        text: String,
        /// Behind a minus.
        negative: bool,
    },
    /// A string.
    Text(String),
    /// Seconds since 1970, of `DATE '…'` or `TIMESTAMP '…'`.
    Moment(Exact),
}

/// Reads a constant.
///
/// Errors: anything else.
pub(super) fn read(expr: &Expr) -> Result<Literal, QueryError> {
    match expr {
        Expr::Nested(inner) => read(inner),
        Expr::Value(value) => plain(&value.value, expr),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: inner,
        } => signed(inner, true, expr),
        Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr: inner,
        } => signed(inner, false, expr),
        Expr::TypedString(typed) if !typed.uses_odbc_syntax => match &typed.value.value {
            Value::SingleQuotedString(text) => typed_text(&typed.data_type, text, expr),
            _ => Err(QueryError::unsupported(expr, FORM)),
        },
        _ => Err(QueryError::unsupported(expr, FORM)),
    }
}

fn plain(value: &Value, expr: &Expr) -> Result<Literal, QueryError> {
    match value {
        Value::Null => Ok(Literal::Null),
        Value::Boolean(value) => Ok(Literal::Boolean(*value)),
        Value::Number(text, false) => Ok(Literal::Number {
            text: text.clone(),
            negative: false,
        }),
        Value::SingleQuotedString(text) => Ok(Literal::Text(text.clone())),
        _ => Err(QueryError::unsupported(expr, FORM)),
    }
}

fn signed(inner: &Expr, minus: bool, expr: &Expr) -> Result<Literal, QueryError> {
    match read(inner)? {
        Literal::Number { text, negative } => Ok(Literal::Number {
            text,
            negative: negative != minus,
        }),
        Literal::Null => Ok(Literal::Null),
        _ => Err(QueryError::unsupported(expr, FORM)),
    }
}

fn typed_text(kind: &DataType, text: &str, expr: &Expr) -> Result<Literal, QueryError> {
    match kind {
        DataType::Date => date(text).map(|day| Literal::Moment(Exact::of(day * DAY))),
        DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            moment(text).map(Literal::Moment)
        }
        _ => Err(QueryError::unsupported(expr, FORM)),
    }
}

/// Days since 1970 of `2001-01-10`.
fn date(text: &str) -> Result<i128, QueryError> {
    day(text.trim()).ok_or_else(|| QueryError::Moment {
        piece: cut(text),
        expected: "date such as 2001-01-10",
    })
}

fn day(text: &str) -> Option<i128> {
    let date = well_formed(text, "0000-00-00").then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d"));
    Some(seconds(date?.ok()?.into()).div_euclid(DAY))
}

/// Seconds since 1970 of `2001-01-10`, `2001-01-10 12:00`, `2001-01-10T12:00:00` or `2001-01-10 12:00:00.25`.
pub(super) fn moment(text: &str) -> Result<Exact, QueryError> {
    let trimmed = text.trim();
    day(trimmed)
        .map(|day| Exact::of(day * DAY))
        .or_else(|| second(trimmed))
        .ok_or_else(|| {
            let expected = "date or moment without a time zone, such as 2001-01-10 12:00:00";
            QueryError::Moment {
                piece: cut(text),
                expected,
            }
        })
}

fn second(text: &str) -> Option<Exact> {
    let (clock, places) = text.split_once('.').unwrap_or((text, ""));
    let spaced = clock.replacen('T', " ", 1);
    let full = if well_formed(&spaced, "0000-00-00 00:00") {
        spaced + ":00"
    } else {
        spaced
    };
    let parsed = well_formed(&full, "0000-00-00 00:00:00")
        .then(|| NaiveDateTime::parse_from_str(&full, "%Y-%m-%d %H:%M:%S"));
    // A leap second is none of the 86,400 that a day's ordinals have.
    let leap = full.ends_with(":60");
    if leap || !places.bytes().all(|digit| digit.is_ascii_digit()) || text.ends_with('.') {
        return None;
    }
    let whole = places.bytes().all(|digit| digit == b'0');
    Some(Exact {
        floor: seconds(parsed?.ok()?),
        whole,
    })
}

fn seconds(moment: NaiveDateTime) -> i128 {
    moment.and_utc().timestamp().into()
}

/// Whether digits stand exactly where the form has a 0: the parser takes signs, spaces and single digits, too.
fn well_formed(text: &str, form: &str) -> bool {
    let fits = |(found, want): (u8, u8)| match want {
        b'0' => found.is_ascii_digit(),
        _ => found == want,
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

/// A number on a scale, see [`number::read`].
///
/// Errors: digits that are no decimal number.
pub(super) fn number(text: &str, negative: bool, scale: u8) -> Result<Exact, QueryError> {
    number::read(text, negative, scale)
        .ok_or_else(|| QueryError::unsupported(text, "decimal numbers are"))
}
