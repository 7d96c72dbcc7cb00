//! Random tables of all types.

use crate::{ColumnType, Table, TableBuilder, Value};
use rand_core::Rng;

const SYLLABLES: [&str; 12] = [
    "an", "Ber", "ta", "%", "_", "é", "日", "O'", "A", "b", "\\", "li",
];

const COLUMNS: [(&str, ColumnType, bool); 10] = [
    ("id", ColumnType::Integer, false),
    ("small", ColumnType::Integer, true),
    ("flag", ColumnType::Boolean, true),
    ("sure", ColumnType::Boolean, false),
    ("born", ColumnType::Date, true),
    ("seen", ColumnType::Timestamp, true),
    ("price", ColumnType::Decimal { scale: 2 }, true),
    ("whole", ColumnType::Decimal { scale: 0 }, false),
    ("State", ColumnType::Text { max_bytes: 8 }, false),
    ("name", ColumnType::Text { max_bytes: 64 }, true),
];

/// A table of ten columns of all types, absent values in most of them.
pub fn random_table(rng: &mut impl Rng, rows: usize) -> Table {
    let columns = COLUMNS.map(|(name, kind, _)| (name.to_owned(), kind));
    let mut builder =
        TableBuilder::new("people", columns.to_vec()).expect("names and types that fit");
    for row in 0..rows {
        let values = COLUMNS.iter().map(|column| cell(rng, row, column));
        builder
            .push_row(values.collect())
            .expect("values of their columns");
    }
    builder.finish([7; 16])
}

fn cell(rng: &mut impl Rng, row: usize, column: &(&str, ColumnType, bool)) -> Value {
    let mut below = |end: u32| i64::from(rng.next_u32() % end);
    if column.2 && below(8) == 0 {
        return Value::Null;
    }
    match (column.0, column.1) {
        ("id", _) => Value::Integer(row as i64 * 7 - 1000),
        (_, ColumnType::Boolean) => Value::Boolean(below(4) == 0),
        (_, ColumnType::Integer) => Value::Integer(below(40) - 20),
        (_, ColumnType::Date) => Value::Date(below(20_000) - 5000),
        (_, ColumnType::Timestamp) => Value::Timestamp((below(4_000_000) - 500_000) * 300),
        (_, ColumnType::Decimal { scale: 0 }) => Value::Decimal(below(3) * 1_000_000_000_000),
        (_, ColumnType::Decimal { .. }) => Value::Decimal(below(200_000) - 50_000),
        ("State", _) => Value::Text(SYLLABLES[below(12) as usize].into()),
        _ => {
            let syllables = below(6);
            Value::Text(
                (0..syllables)
                    .map(|_| SYLLABLES[below(12) as usize])
                    .collect(),
            )
        }
    }
}
