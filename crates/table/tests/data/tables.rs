//! Tables for tests.

use omr_table::{ColumnType, ImportOptions, Table, TableBuilder, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;

pub(crate) const SALT: [u8; 16] = *b"sixteen bytes, x";

/// How a table `test` is imported.
pub(crate) fn options() -> ImportOptions {
    ImportOptions::new("test", SALT)
}

/// Returns the options with these columns declared.
pub(crate) fn declared(columns: &[&str]) -> ImportOptions {
    let mut options = options();
    options.declared = columns
        .iter()
        .map(|text| text.parse().expect("a declaration"))
        .collect();
    options
}

/// Any type.
pub(crate) fn kinds() -> impl Strategy<Value = ColumnType> {
    prop_oneof![
        Just(ColumnType::Boolean),
        Just(ColumnType::Integer),
        Just(ColumnType::Date),
        Just(ColumnType::Timestamp),
        (0..=18u8).prop_map(|scale| ColumnType::Decimal { scale }),
        (1..=64u8).prop_map(|max_bytes| ColumnType::Text { max_bytes }),
    ]
}

/// Any value of a type; texts are at least `least` bytes.
pub(crate) fn values(kind: ColumnType, least: usize) -> BoxedStrategy<Value> {
    let Some(limits) = kind.limits() else {
        return texts(kind, least);
    };
    let near = (limits.min.max(-3))..=limits.max.min(300);
    let ordinals = prop_oneof![near, limits.min..=limits.max];
    ordinals
        .prop_map(move |ordinal| Value::from_ordinal(kind, ordinal).expect("within limits"))
        .boxed()
}

fn texts(kind: ColumnType, least: usize) -> BoxedStrategy<Value> {
    let ColumnType::Text { max_bytes } = kind else {
        panic!("{kind} is no text")
    };
    let characters = prop_oneof![
        proptest::char::range('a', 'z'),
        proptest::char::any(),
        Just('"'),
        Just(','),
        Just('\n'),
        Just('\0'),
    ];
    let cut = move |text: String| {
        let text = &text[..text.floor_char_boundary(max_bytes.into())];
        if text.len() < least {
            Value::Text("x".into())
        } else {
            Value::Text(text.into())
        }
    };
    vec(characters, 0..=64)
        .prop_map(|characters| characters.into_iter().collect())
        .prop_map(cut)
        .boxed()
}

/// Tables of 1 to 5 columns and 0 to 30 rows; texts of at least `least` bytes.
pub(crate) fn tables(least: usize) -> impl Strategy<Value = Table> {
    vec((kinds(), any::<bool>()), 1..=5).prop_flat_map(move |columns| {
        let row: Vec<_> = columns
            .iter()
            .map(|&(kind, nullable)| {
                if nullable {
                    prop_oneof![1 => Just(Value::Null), 2 => values(kind, least)].boxed()
                } else {
                    values(kind, least)
                }
            })
            .collect();
        vec(row, 0..=30).prop_map(move |rows| {
            let kinds: Vec<_> = columns.iter().map(|(kind, _)| *kind).collect();
            table(&kinds, rows)
        })
    })
}

/// A table of columns `c0`, `c1`, ...
pub(crate) fn table(kinds: &[ColumnType], rows: Vec<Vec<Value>>) -> Table {
    let columns = kinds
        .iter()
        .enumerate()
        .map(|(place, kind)| (format!("c{place}"), *kind));
    let mut builder = TableBuilder::new("test", columns.collect()).expect("columns");
    for row in rows {
        builder.push_row(row).expect("a row");
    }
    builder.finish(SALT)
}
