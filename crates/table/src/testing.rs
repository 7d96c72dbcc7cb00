//! Random questions over a table, for tests and benchmarks.
//!
//! Each is made in two dialects: this crate's, and SQLite's over a table that stores ordinals as INTEGER and texts as TEXT
//! under the same names, with `PRAGMA case_sensitive_like = ON`. There a constant with more places than the column
//! has is compared with the multiplied column, exactly as long as ordinals stay below 2^45.

mod constant;
mod draw;
mod leaf;
mod tables;
mod text;
mod tree;

pub use tables::random_table;

use std::ops::RangeInclusive;

use rand_core::Rng;

use self::draw::Draw;
use crate::{Filter, Row, Schema, Value};

/// A table to draw constants from.
pub trait Rows {
    /// The number of rows.
    fn rows(&self) -> usize;

    /// The value of a row in a column.
    fn value(&self, row: usize, column: usize) -> Value;
}

impl Rows for crate::Table {
    fn rows(&self) -> usize {
        self.rows()
    }

    fn value(&self, row: usize, column: usize) -> Value {
        self.value(row, column)
    }
}

/// A text in two dialects of SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twin {
    /// The text for this crate.
    pub sql: String,
    /// The text for SQLite.
    pub sqlite: String,
}

impl Twin {
    fn same(text: impl Into<String>) -> Self {
        let sql = text.into();
        Self {
            sqlite: sql.clone(),
            sql,
        }
    }
}

/// The values of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells(pub Vec<Value>);

impl Cells {
    /// Reads a row.
    pub fn of(rows: &impl Rows, row: usize, columns: usize) -> Self {
        Self((0..columns).map(|column| rows.value(row, column)).collect())
    }
}

impl Row for Cells {
    fn ordinal(&self, column: usize) -> Option<i64> {
        match *self.0.get(column)? {
            Value::Null | Value::Text(_) => None,
            Value::Boolean(value) => Some(value.into()),
            Value::Integer(value)
            | Value::Date(value)
            | Value::Timestamp(value)
            | Value::Decimal(value) => Some(value),
        }
    }

    fn text(&self, column: usize) -> Option<&str> {
        match self.0.get(column)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A condition with constants from the table or near them: all operators, nested, NULLs among the constants.
pub fn random_condition(rng: &mut impl Rng, schema: &Schema, rows: &impl Rows) -> Twin {
    tree::condition(&mut Draw { rng, schema, rows })
}

/// `SELECT columns FROM table WHERE` and a random condition.
pub fn random_query(rng: &mut impl Rng, schema: &Schema, rows: &impl Rows) -> String {
    let condition = random_condition(rng, schema, rows);
    let mut draw = Draw { rng, schema, rows };
    let mut select = Vec::new();
    for column in 0..schema.columns.len() {
        if draw.chance(50) {
            select.push(draw.name(column));
        }
    }
    if select.is_empty() {
        select.push("*".to_owned());
    }
    let table = draw::quoted(&schema.name);
    format!(
        "SELECT {} FROM {table} WHERE {}",
        select.join(", "),
        condition.sql
    )
}

/// Draws a random condition that a number of rows in `passing` pass; `None` if a thousand draws found none.
pub fn selective_condition(
    rng: &mut impl Rng,
    schema: &Schema,
    rows: &impl Rows,
    passing: RangeInclusive<usize>,
) -> Option<Twin> {
    const DRAWS: usize = 1000;
    let columns = schema.columns.len();
    let cells: Vec<Cells> = (0..rows.rows())
        .map(|row| Cells::of(rows, row, columns))
        .collect();
    for _ in 0..DRAWS {
        let twin = random_condition(rng, schema, rows);
        let Ok(filter) = Filter::parse(&twin.sql, schema) else {
            continue;
        };
        let count = cells.iter().filter(|row| filter.matches(*row)).count();
        if passing.contains(&count) {
            return Some(twin);
        }
    }
    None
}
