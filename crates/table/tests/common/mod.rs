//! Random tables of all types.

use omr_table::testing::Rows;
use omr_table::{Column, ColumnType, Domain, Schema, Value};
use rand_core::Rng;

/// A table in memory.
pub(crate) struct Memory(pub(crate) Vec<Vec<Value>>);

impl Rows for Memory {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn value(&self, row: usize, column: usize) -> Value {
        self.0[row][column].clone()
    }
}

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

/// A table of ten columns, absent values in most of them.
pub(crate) fn random_table(rng: &mut impl Rng, rows: usize) -> (Schema, Memory) {
    let table: Vec<Vec<Value>> = (0..rows)
        .map(|row| {
            COLUMNS
                .iter()
                .map(|column| cell(rng, row, column))
                .collect()
        })
        .collect();
    let columns = COLUMNS
        .iter()
        .enumerate()
        .map(|(place, column)| describe(place, column, &table));
    let schema = Schema {
        name: "people".into(),
        rows: rows as u64,
        salt: [7; 16],
        columns: columns.collect(),
    };
    (schema, Memory(table))
}

fn describe(place: usize, column: &(&str, ColumnType, bool), table: &[Vec<Value>]) -> Column {
    let ordinals = table.iter().filter_map(|row| match row[place] {
        Value::Boolean(value) => Some(i64::from(value)),
        Value::Integer(value)
        | Value::Date(value)
        | Value::Timestamp(value)
        | Value::Decimal(value) => Some(value),
        _ => None,
    });
    let (min, max) = ordinals.fold((i64::MAX, i64::MIN), |(min, max), value| {
        (min.min(value), max.max(value))
    });
    let domain = if min > max {
        Domain { min: 0, max: 0 }
    } else {
        Domain { min, max }
    };
    let text = matches!(column.1, ColumnType::Text { .. });
    Column {
        name: column.0.into(),
        kind: column.1,
        nullable: column.2,
        domain: (!text).then_some(domain),
    }
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
