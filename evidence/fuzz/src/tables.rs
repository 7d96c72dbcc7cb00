//! Fuzz target: files of tables, schemas and rows.

use crate::Target;
use crate::csv::check;
use crate::input::choose;
use crate::memory::bounded;
use omr_table::{ColumnType, RowCodec, Schema, Table, TableBuilder, Value};
use std::cell::RefCell;
use std::fs;
use std::sync::LazyLock;
use tempfile::TempDir;

/// The fuzz target.
pub const TARGET: Target = Target::new("tables", run, seeds);

const SCHEMA: usize = 128;
const ROW: usize = 192;

thread_local! {
    static FOLDER: RefCell<TempDir> = RefCell::new(tempfile::tempdir().expect("a folder"));
}

/// A small table with a column of every type.
pub(crate) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let columns = [
        ("id", ColumnType::Integer),
        ("open", ColumnType::Boolean),
        ("day", ColumnType::Date),
        ("at", ColumnType::Timestamp),
        ("fare", ColumnType::Decimal { scale: 2 }),
        ("name", ColumnType::Text { max_bytes: 12 }),
    ];
    let columns = columns.map(|(name, kind)| (name.to_owned(), kind));
    let mut builder = TableBuilder::new("people", columns.into()).expect("columns");
    for row in 0..5 {
        let name = match row {
            2 => Value::Null,
            _ => Value::Text(format!("nämë {row}")),
        };
        let values = vec![
            Value::Integer(row * 1000 - 7),
            Value::Boolean(row % 2 == 0),
            Value::Date(row * 300),
            Value::Timestamp(row * 86_000),
            Value::Decimal(row * 199),
            name,
        ];
        builder.push_row(values).expect("a row");
    }
    builder.finish([5; 16])
});

fn run(choice: usize, rest: &[u8]) {
    let table = &*TABLE;
    bounded(rest.len(), 256, || match choice {
        ROW.. => row(table, rest),
        SCHEMA.. => schema(rest),
        // Every other file is given the length and the checksum that it needs.
        _ if choice.is_multiple_of(2) => file(rest),
        _ => file(&repaired(rest)),
    });
}

fn file(bytes: &[u8]) {
    let path = FOLDER.with_borrow(|folder| folder.path().join("table"));
    fs::write(&path, bytes).expect("a file to write to");
    if let Ok(table) = Table::open(&path) {
        check(&table);
        assert!(written(&table) == bytes || !is_compact(bytes, &table));
    }
}

/// Returns whether the schema's JSON is compact. A schema can be written in many ways, the rest of a file in one.
fn is_compact(bytes: &[u8], table: &Table) -> bool {
    let json = table.schema().to_json();
    bytes
        .windows(json.len())
        .any(|part| part == json.as_bytes())
}

fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if out.len() < 24 + 32 {
        return out;
    }
    let length = (out.len() as u64).to_le_bytes();
    out[16..24].copy_from_slice(&length);
    let end = out.len() - 32;
    let sum = blake3::hash(&out[..end]);
    out[end..].copy_from_slice(sum.as_bytes());
    out
}

fn schema(json: &[u8]) {
    if let Ok(schema) = Schema::from_json(json) {
        let again = Schema::from_json(schema.to_json().as_bytes());
        assert_eq!(again.expect("what was written reads"), schema);
        let _ = schema.fingerprint();
        let columns: Vec<usize> = (0..schema.columns.len()).collect();
        let _ = RowCodec::new(&schema, &columns);
    }
}

fn row(table: &Table, bytes: &[u8]) {
    let columns: Vec<usize> = (0..table.schema().columns.len()).collect();
    let codec = RowCodec::new(table.schema(), &columns).expect("a codec");
    if let Ok(values) = codec.decode(bytes) {
        for (value, column) in values.iter().zip(&table.schema().columns) {
            value.check(column.kind).expect("a value of its type");
        }
    }
}

fn written(table: &Table) -> Vec<u8> {
    let mut bytes = Vec::new();
    table.write(&mut bytes).expect("memory");
    bytes
}

fn seeds() -> Vec<Vec<u8>> {
    let saved = written(&TABLE);
    let json = TABLE.schema().to_json();
    let columns: Vec<usize> = (0..TABLE.schema().columns.len()).collect();
    let codec = RowCodec::new(TABLE.schema(), &columns).expect("a codec");
    let mut row = vec![0; codec.bytes()];
    codec.encode(&TABLE, 1, &mut row).expect("a row");
    vec![
        choose(0, &saved),
        choose(1, &saved),
        choose(SCHEMA, json.as_bytes()),
        choose(ROW, &row),
    ]
}
