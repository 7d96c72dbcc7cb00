//! Table files: round trips, damage and limits.

use std::fs;
use std::sync::LazyLock;
use std::time::Instant;

use omr_errors::{Mismatch, OtherVersion};
use omr_table::{
    BuildError, ColumnType, Domain, FileError, MAX_ROWS, Schema, Table, TableBuilder, Value,
    ValueError,
};
use proptest::prelude::*;

use crate::tables::{SALT, table, tables};

pub(crate) fn saved(table: &Table) -> Vec<u8> {
    let mut bytes = Vec::new();
    table.write(&mut bytes).expect("memory");
    bytes
}

pub(crate) fn opened(bytes: &[u8]) -> Result<Table, FileError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.table");
    fs::write(&path, bytes).expect("written");
    Table::open(&path)
}

/// Replaces the checksum by the one that belongs to the bytes.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 32;
    let checksum = *blake3::hash(&bytes[..body]).as_bytes();
    bytes[body..].copy_from_slice(&checksum);
    bytes
}

fn small() -> Table {
    let kinds = [
        ColumnType::Integer,
        ColumnType::Text { max_bytes: 8 },
        ColumnType::Boolean,
    ];
    let row = |number: i64, text: &str| {
        vec![
            Value::Integer(number),
            Value::Text(text.into()),
            Value::Null,
        ]
    };
    table(&kinds, vec![row(-300, "é"), row(5, ""), row(7, "abc")])
}

/// Saved once: a save waits for the disk.
static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| saved(&small()));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn files_give_tables_back(table in tables(0)) {
        prop_assert_eq!(opened(&saved(&table)).expect("opened"), table);
    }
}

proptest! {
    #[test]
    fn changed_bytes_are_found(place in any::<prop::sample::Index>(), change in 1..=255u8) {
        let mut bytes = SMALL.clone();
        let place = place.index(bytes.len());
        bytes[place] ^= change;
        prop_assert!(opened(&bytes).is_err());
    }

    #[test]
    fn hostile_files_under_a_right_checksum_do_not_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = SMALL.clone();
        let body = bytes.len() - 32;
        for (place, change) in changes {
            bytes[place.index(body)] = change;
        }
        if let Ok(table) = opened(&resealed(bytes)) {
            table.schema().check().expect("a schema");
            for row in 0..table.rows() {
                for (place, column) in table.schema().columns.iter().enumerate() {
                    table.value(row, place).check(column.kind).expect("a value of the column");
                }
            }
        }
    }
}

#[test]
fn errors_say_what_was_expected_and_found() {
    let bytes = saved(&small());
    let length = bytes.len() as u64;
    let cut = opened(&bytes[..bytes.len() - 1]);
    assert!(
        matches!(cut, Err(FileError::Truncated(Mismatch { expected, found })) if expected == length && found == length - 1)
    );
    let long = opened(&[&bytes[..], &[0]].concat());
    assert!(
        matches!(long, Err(FileError::Oversized(Mismatch { expected, found })) if expected == length && found == length + 1)
    );
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert!(matches!(
        opened(&newer),
        Err(FileError::Version(OtherVersion {
            expected: 1,
            found: 2
        }))
    ));
    let mut changed = bytes.clone();
    *changed.last_mut().expect("a byte") ^= 1;
    assert!(matches!(opened(&changed), Err(FileError::Corrupted(_))));
    assert!(matches!(opened(b"PAR1"), Err(FileError::NotATable(found)) if found == b"PAR1"));
    assert!(matches!(opened(b""), Err(FileError::NotATable(_))));
    assert!(matches!(
        opened(b"OMRTABLE"),
        Err(FileError::Truncated(Mismatch { found: 8, .. }))
    ));
    let missing = Table::open(std::path::Path::new("/nowhere/a.table"));
    assert!(
        missing
            .expect_err("no file")
            .to_string()
            .contains("/nowhere/a.table")
    );
}

/// The file with another schema in it.
fn with_schema(bytes: &[u8], schema: &Schema) -> Vec<u8> {
    let old = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    let json = schema.to_json();
    let mut new = bytes[..12].to_vec();
    new.extend((json.len() as u32).to_le_bytes());
    new.extend(((bytes.len() + json.len() - old) as u64).to_le_bytes());
    new.extend(json.as_bytes());
    new.extend(&bytes[24 + old..]);
    resealed(new)
}

#[test]
fn rows_that_the_file_cannot_hold_are_not_made_room_for() {
    let (table, bytes) = (small(), saved(&small()));
    let schema = table.schema().clone();
    assert_eq!(
        opened(&with_schema(&bytes, &schema)).expect("opened"),
        table
    );
    for rows in [33, MAX_ROWS] {
        let hostile = Schema {
            rows,
            ..schema.clone()
        };
        let error = opened(&with_schema(&bytes, &hostile)).expect_err("too many rows");
        assert!(matches!(error, FileError::Truncated(_)), "{error}");
    }
    let fewer = Schema { rows: 2, ..schema };
    let error = opened(&with_schema(&bytes, &fewer)).expect_err("too few rows");
    assert!(
        matches!(error, FileError::Column { .. } | FileError::Oversized(_)),
        "{error}"
    );
}

#[test]
fn the_builder_measures_domains_and_refuses_whole_rows() {
    let kinds = vec![
        ("n".to_owned(), ColumnType::Integer),
        ("t".to_owned(), ColumnType::Text { max_bytes: 2 }),
    ];
    let mut builder = TableBuilder::new("test", kinds).expect("columns");
    let text = |text: &str| Value::Text(text.into());
    builder
        .push_row(vec![Value::Integer(5), text("ab")])
        .expect("a row");
    let long = builder.push_row(vec![Value::Integer(9), text("abc")]);
    assert!(matches!(
        long,
        Err(BuildError::Value { row: 1, ref column, error: ValueError::TooLong(Mismatch { expected: 2, found: 3 }) }) if column == "t"
    ));
    assert!(builder.push_row(vec![Value::Integer(9)]).is_err());
    assert!(builder.push_row(vec![text("a"), text("a")]).is_err());
    builder
        .push_row(vec![Value::Integer(-5), Value::Null])
        .expect("a row");
    let table = builder.finish(SALT);
    let columns = &table.schema().columns;
    assert_eq!(table.rows(), 2);
    assert_eq!(columns[0].domain, Some(Domain::new(-5, 5)));
    assert!(!columns[0].nullable);
    assert!(columns[1].nullable && columns[1].domain.is_none());
    assert_eq!(table.ordinal(1, 0), Some(-5));
    assert_eq!(table.text(0, 1), Some("ab"));
    assert!(table.is_null(1, 1));
    assert_eq!(table.ordinals(0).expect("numbers").values(), [5, -5]);
    assert_eq!(table.ordinals(0).expect("numbers").present(), [3]);
    assert!(table.ordinals(1).is_none());
}

#[test]
fn a_million_rows_come_back() {
    let kinds = [
        ColumnType::Integer,
        ColumnType::Text { max_bytes: 16 },
        ColumnType::Date,
    ];
    let columns = kinds
        .iter()
        .enumerate()
        .map(|(place, kind)| (format!("c{place}"), *kind));
    let begin = Instant::now();
    let mut builder = TableBuilder::new("test", columns.collect()).expect("columns");
    for row in 0..1_000_000i64 {
        let text = (row % 3 != 0).then(|| Value::Text(format!("name {}", row % 1000)));
        let row = vec![
            Value::Integer(row * 77),
            text.unwrap_or(Value::Null),
            Value::Date(row % 20_000),
        ];
        builder.push_row(row).expect("a row");
    }
    let table = builder.finish(SALT);
    println!("built in {:?}", begin.elapsed());
    let bytes = saved(&table);
    println!("{} bytes, at {:?}", bytes.len(), begin.elapsed());
    let opened = opened(&bytes).expect("opened");
    println!("opened at {:?}", begin.elapsed());
    assert_eq!(opened.rows(), 1_000_000);
    assert!(opened == table);
    assert_eq!(opened.text(999_998, 1), Some("name 998"));
    assert_eq!(opened.value(999_999, 0), Value::Integer(76_999_923));
}
