//! Against `reference/table.py`.

use omr_table::{ColumnType, RowCodec, Table, Value};

use crate::table_file::{opened, saved};
use crate::tables::table;

const FILE: &[u8] = include_bytes!("../../../../testdata/table/v1/small.table");
const ANSWERS: &str = include_str!("../../../../testdata/table/v1/small.json");

fn small() -> Table {
    let text = ColumnType::Text { max_bytes: 8 };
    let kinds = [
        ColumnType::Integer,
        text,
        ColumnType::Boolean,
        ColumnType::Decimal { scale: 2 },
        text,
    ];
    let text = |text: &str| Value::Text(text.into());
    let row = |number, first, decimal, second| {
        vec![Value::Integer(number), first, Value::Null, decimal, second]
    };
    let rows = vec![
        row(-300, text("é"), Value::Decimal(1250), Value::Null),
        row(5, text(""), Value::Null, text("x")),
        row(7, text("abc"), Value::Decimal(-5), text("eight by")),
    ];
    table(&kinds, rows)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The columns and nothing else: JSON may be laid out otherwise.
fn columns(file: &[u8]) -> &[u8] {
    let schema = u32::from_le_bytes(file[12..16].try_into().expect("four bytes"));
    &file[24 + schema as usize..file.len() - 32]
}

#[test]
fn files_of_version_1_are_read_and_written() {
    assert_eq!(opened(FILE).expect("opened"), small());
    assert_eq!(columns(&saved(&small())), columns(FILE));
}

#[test]
fn fingerprints_and_rows_are_the_references() {
    let answers: serde_json::Value = serde_json::from_str(ANSWERS).expect("JSON");
    let table = small();
    assert_eq!(hex(&table.schema().fingerprint()), answers["fingerprint"]);
    let codec = RowCodec::new(table.schema(), &[0, 1, 2, 3, 4]).expect("a codec");
    for row in 0..table.rows() {
        let mut bytes = vec![0; codec.bytes()];
        codec.encode(&table, row, &mut bytes).expect("encoded");
        assert_eq!(hex(&bytes), answers["rows"][row]);
    }
}
