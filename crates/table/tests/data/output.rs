//! Rows written as Arrow, CSV and JSON.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, TimeUnit};
use arrow::ipc::reader::FileReader;
use omr_errors::Mismatch;
use omr_table::{ColumnType, OutputError, Rows, Table, TableBuilder, Value};

use crate::tables::table;

fn mixed() -> Table {
    let kinds = [
        ColumnType::Boolean,
        ColumnType::Integer,
        ColumnType::Date,
        ColumnType::Timestamp,
        ColumnType::Decimal { scale: 2 },
        ColumnType::Text { max_bytes: 10 },
    ];
    let row = vec![
        Value::Boolean(true),
        Value::Integer(-5),
        Value::Date(11_332),
        Value::Timestamp(979_150_800),
        Value::Decimal(-5),
        Value::Text("a \"b\", c".into()),
    ];
    table(&kinds, vec![row, vec![Value::Null; 6]])
}

fn rows() -> Rows {
    mixed().pick(&[0, 1, 2, 3, 4, 5], [0, 1])
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> Result<(), OutputError>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("written");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn spreadsheets_get_no_formulas() {
    let texts = ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a=1", ""];
    let mut table = TableBuilder::new(
        "t",
        vec![
            ("=name".into(), ColumnType::Text { max_bytes: 10 }),
            ("number".into(), ColumnType::Integer),
        ],
    )
    .expect("a table");
    for text in texts {
        let row = vec![Value::Text(text.into()), Value::Integer(-5)];
        table.push_row(row).expect("a row");
    }
    let table = table.finish([0; 16]);
    let mut rows = table.pick(&[0, 1], 0..texts.len());
    rows.numbers = None;
    assert_eq!(
        text(|out| rows.write_spreadsheet_csv(out)),
        "'=name,number\n'=1+2,-5\n'+1,-5\n'-1,-5\n'@SUM(A1),-5\n'\t=1,-5\n\"'\r=1\",-5\na=1,-5\n,-5\n"
    );
    // For programs all is written as it is.
    let csv = text(|out| rows.write_csv(out));
    assert!(csv.starts_with("=name,number\n=1+2,-5\n+1,-5\n"), "{csv}");
}

#[test]
fn batches_have_the_columns_types() {
    let batch = rows().record_batch().expect("a batch");
    let kinds: Vec<DataType> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| field.data_type().clone())
        .collect();
    let expected = [
        DataType::Int64,
        DataType::Boolean,
        DataType::Int64,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Second, None),
        DataType::Decimal128(18, 2),
        DataType::Utf8,
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        batch.column(5).as_primitive::<Decimal128Type>().value(0),
        -5
    );
    assert!(batch.columns()[1..].iter().all(|column| column.is_null(1)));
}

#[test]
fn csv_reads_as_sql_writes() {
    let csv = text(|out| rows().write_csv(out));
    let expected = "row,c0,c1,c2,c3,c4,c5\n\
        0,true,-5,2001-01-10,2001-01-10 18:20:00,-0.05,\"a \"\"b\"\", c\"\n\
        1,,,,,,\n";
    assert_eq!(csv, expected);
}

#[test]
fn json_is_an_array_of_objects() {
    let json = text(|out| rows().write_json(out));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let expected = serde_json::json!([
        {"row": 0, "c0": true, "c1": -5, "c2": "2001-01-10", "c3": "2001-01-10T18:20:00", "c4": -0.05,
         "c5": "a \"b\", c"},
        {"row": 1, "c0": null, "c1": null, "c2": null, "c3": null, "c4": null, "c5": null},
    ]);
    assert_eq!(json, expected);
    let none = text(|out| mixed().pick(&[0], []).write_json(out));
    assert_eq!(none, "[]");
}

/// Values at the ends of their ranges, and texts that files have to quote.
fn awkward() -> Rows {
    let kinds = [
        ColumnType::Text { max_bytes: 64 },
        ColumnType::Integer,
        ColumnType::Date,
        ColumnType::Timestamp,
        ColumnType::Decimal { scale: 0 },
        ColumnType::Decimal { scale: 18 },
    ];
    let texts = [
        "",
        " ",
        "\"",
        ",",
        "a\nb",
        "\r",
        "\t\u{1}\u{7f}",
        "\\/",
        "ä\u{2028}😀",
        "NULL",
        "a;b",
    ];
    let ends = [
        [
            i64::MIN,
            -719_162,
            -62_135_596_800,
            -999_999_999_999_999_999,
        ],
        [
            i64::MAX,
            2_932_896,
            253_402_300_799,
            999_999_999_999_999_999,
        ],
        [0, 0, 0, 0],
        [-1, -1, -1, -1],
    ];
    let row = |(text, [integer, days, seconds, number]): (&str, [i64; 4])| {
        vec![
            Value::Text(text.into()),
            Value::Integer(integer),
            Value::Date(days),
            Value::Timestamp(seconds),
            Value::Decimal(number),
            Value::Decimal(number),
        ]
    };
    let values = texts.into_iter().zip(ends.into_iter().cycle());
    let mut values: Vec<_> = values.map(row).collect();
    values.push(vec![Value::Null; 6]);
    let count = values.len();
    table(&kinds, values).pick(&[0, 1, 2, 3, 4, 5, 0], 0..count)
}

#[test]
fn csv_and_json_have_the_bytes_of_arrows_writers() {
    let mut named = awkward();
    named.columns[0].name = "a \"b\", c\\".into();
    let mut unnumbered = awkward();
    unnumbered.numbers = None;
    let mut single = unnumbered.clone();
    single.columns.truncate(1);
    for row in &mut single.rows {
        row.truncate(1);
    }
    let mut empty = awkward();
    (empty.rows, empty.numbers) = (Vec::new(), Some(Vec::new()));
    for rows in [rows(), named, unnumbered, single, empty] {
        let batch = rows.record_batch().expect("a batch");
        let mut csv = Vec::new();
        let writer = arrow::csv::WriterBuilder::new();
        let writer = writer.with_timestamp_format("%Y-%m-%d %H:%M:%S".into());
        writer.build(&mut csv).write(&batch).expect("written");
        assert_eq!(text(|out| rows.write_csv(out)).as_bytes(), csv);
        let mut json = Vec::new();
        let writer = arrow::json::WriterBuilder::new().with_explicit_nulls(true);
        let mut writer = writer.build::<_, arrow::json::writer::JsonArray>(&mut json);
        writer.write(&batch).expect("written");
        writer.finish().expect("written");
        assert_eq!(text(|out| rows.write_json(out)).as_bytes(), json);
    }
}

#[test]
fn arrow_files_give_batches_back() {
    let mut out = Vec::new();
    rows().write_arrow(&mut out).expect("written");
    let mut reader = FileReader::try_new(std::io::Cursor::new(out), None).expect("a file");
    let batch = reader.next().expect("a batch").expect("read");
    assert_eq!(batch, rows().record_batch().expect("a batch"));
}

#[test]
fn columns_asked_for_twice_get_names_of_their_own() {
    let mut rows = mixed().pick(&[1, 1, 0], [0]);
    rows.columns[2].name = "ROW".into();
    let batch = rows.record_batch().expect("a batch");
    let schema = batch.schema();
    let names: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    assert_eq!(names, ["row", "c1", "c1_2", "ROW_2"]);
}

#[test]
fn rows_made_by_hand_are_checked() {
    let mut narrow = rows();
    narrow.rows[1].pop();
    assert!(matches!(
        narrow.record_batch(),
        Err(OutputError::Width {
            row: 1,
            expected: 6,
            found: 5
        })
    ));
    let mut wrong = rows();
    wrong.rows[0][2] = Value::Integer(1);
    assert!(matches!(
        wrong.record_batch(),
        Err(OutputError::Value { row: 0, .. })
    ));
    let mut numbers = rows();
    numbers.numbers = Some(vec![1]);
    assert!(matches!(
        numbers.record_batch(),
        Err(OutputError::Numbers(Mismatch {
            expected: 2,
            found: 1
        }))
    ));
}
