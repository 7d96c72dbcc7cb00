//! The schema of a table: its name, columns, types and domains.

use serde::{Deserialize, Serialize};

/// Most bytes of a text value.
pub const MAX_TEXT_BYTES: u8 = 64;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ColumnType {
    /// True or false.
    Boolean,
    /// 64-bit signed whole numbers.
    Integer,
    /// Days.
    Date,
    /// Seconds.
    Timestamp,
    /// Numbers of at most 18 digits, `scale` of them behind the point.
    Decimal {
        /// Decimal places, 0 to 18.
        scale: u8,
    },
    /// UTF-8 of at most `max_bytes`, 1 to 64.
    Text {
        /// Bytes of the longest value that the column may hold.
        max_bytes: u8,
    },
}

/// The range of a column's ordinals, both ends included. Public: it decides how many digits a comparison takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// Smallest.
    pub min: i64,
    /// Largest; at least `min`.
    pub max: i64,
}

impl Domain {
    /// From the smallest to the largest.
    pub const fn new(min: i64, max: i64) -> Self {
        Self { min, max }
    }
}

/// A column, without its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The column's name, unique in the table but for case.
    pub name: String,
    /// The type of its values.
    pub kind: ColumnType,
    /// Whether values may be absent.
    pub nullable: bool,
    /// The range of ordinals (`Value::ordinal`); of text, none.
    pub domain: Option<Domain>,
}

/// The public part of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// The table's name.
    pub name: String,
    /// The number of rows.
    pub rows: u64,
    /// The key of the fingerprints of text. It is drawn at import, after the values are fixed.
    pub salt: [u8; 16],
    /// The columns.
    pub columns: Vec<Column>,
}
