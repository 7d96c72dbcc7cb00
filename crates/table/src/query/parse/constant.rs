//! Constants in the units of a column.

use super::super::QueryError;
use super::super::error::cut;
use super::literal::{self, DAY, Literal};
use super::number::Exact;
use crate::{Column, ColumnType};

/// The constant on the scale of the column's ordinals, `None` for NULL.
///
/// Errors: a constant of another type.
pub(super) fn ordinal(literal: &Literal, column: &Column) -> Result<Option<Exact>, QueryError> {
    let number = |scale| match literal {
        Literal::Number { text, negative } => literal::number(text, *negative, scale).map(Some),
        _ => Err(mismatch(literal, column)),
    };
    match (column.kind, literal) {
        (_, Literal::Null) => Ok(None),
        (ColumnType::Boolean, Literal::Boolean(value)) => Ok(Some(Exact::of(i64::from(*value)))),
        (ColumnType::Integer, _) => number(0),
        (ColumnType::Decimal { scale }, _) => number(scale),
        (ColumnType::Timestamp, _) => seconds(literal, column).map(Some),
        (ColumnType::Date, _) => Ok(Some(seconds(literal, column)?.coarser(DAY))),
        (ColumnType::Boolean | ColumnType::Text { .. }, _) => Err(mismatch(literal, column)),
    }
}

fn seconds(literal: &Literal, column: &Column) -> Result<Exact, QueryError> {
    match literal {
        Literal::Moment(moment) => Ok(*moment),
        Literal::Text(text) => literal::moment(text),
        _ => Err(mismatch(literal, column)),
    }
}

/// The constant as text, `None` for NULL.
///
/// Errors: a constant of another type.
pub(super) fn text(literal: &Literal, column: &Column) -> Result<Option<String>, QueryError> {
    match literal {
        Literal::Null => Ok(None),
        Literal::Text(text) => Ok(Some(text.clone())),
        _ => Err(mismatch(literal, column)),
    }
}

fn mismatch(literal: &Literal, column: &Column) -> QueryError {
    let expected = match column.kind {
        ColumnType::Boolean => "TRUE or FALSE",
        ColumnType::Integer | ColumnType::Decimal { .. } => "a number",
        ColumnType::Date => "DATE '2001-01-10', or TIMESTAMP,",
        ColumnType::Timestamp => "TIMESTAMP '2001-01-10 12:00:00', or DATE,",
        ColumnType::Text { .. } => "a 'string'",
    };
    let piece = match literal {
        Literal::Null => "NULL".to_owned(),
        Literal::Boolean(value) => value.to_string().to_uppercase(),
        Literal::Number {
            text,
            negative: true,
        } => format!("-{text}"),
        Literal::Number { text, .. } => text.clone(),
        Literal::Text(text) => format!("'{text}'"),
        Literal::Moment(_) => "DATE or TIMESTAMP".to_owned(),
    };
    QueryError::Constant {
        piece: cut(&piece),
        column: column.name.clone(),
        expected,
    }
}
