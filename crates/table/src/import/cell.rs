//! The values that imported files contain, before they have a column's type.

use crate::calendar::Moment;
use crate::decimal::Written;

/// A value as a file has it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    not(feature = "arrow"),
    expect(dead_code, reason = "CSV has texts alone")
)]
pub(super) enum Cell<'a> {
    Null,
    Boolean(bool),
    /// Any number of 64 bits, signed or not.
    Integer(i128),
    /// Days.
    Date(i64),
    Moment(Moment),
    Number(Written),
    Text(&'a str),
    /// A value that fits no type, such as infinity or a number of more than 38 digits.
    Odd(String),
}

impl Cell<'_> {
    /// Returns a noun for the kind of the cell, for errors.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Cell::Null => "null",
            Cell::Boolean(_) => "boolean",
            Cell::Integer(_) => "integer",
            Cell::Date(_) => "date",
            Cell::Moment(_) => "timestamp",
            Cell::Number(_) => "decimal",
            Cell::Text(_) => "text",
            Cell::Odd(_) => "a number out of range",
        }
    }
}
