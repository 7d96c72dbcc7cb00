//! Fuzz target: tables from CSV, and values as text.

use crate::Target;
use crate::input::choose;
use crate::memory::bounded;
use omr_table::{ColumnType, Declared, ImportOptions, RowCodec, Table, Value, import_csv};
use std::io::Cursor;

/// The fuzz target.
pub const TARGET: Target = Target::new("csv", run, seeds);

/// The first choice for values and declarations.
const TEXT: usize = 192;
const KINDS: [ColumnType; 8] = [
    ColumnType::Boolean,
    ColumnType::Integer,
    ColumnType::Date,
    ColumnType::Timestamp,
    ColumnType::Decimal { scale: 0 },
    ColumnType::Decimal { scale: 18 },
    ColumnType::Decimal { scale: 2 },
    ColumnType::Text { max_bytes: 20 },
];

fn run(choice: usize, rest: &[u8]) {
    // A row of one byte becomes a row of all columns.
    bounded(rest.len(), 1024, || match choice {
        TEXT.. => value(KINDS[choice % KINDS.len()], &String::from_utf8_lossy(rest)),
        _ => file(choice, rest),
    });
}

fn value(kind: ColumnType, text: &str) {
    if let Ok(declared) = text.parse::<Declared>() {
        let _ = declared.wanted;
    }
    if let Ok(value) = Value::parse(text, kind) {
        value.check(kind).expect("a value of its type");
        let shown = value.show(kind).to_string();
        assert_eq!(
            Value::parse(&shown, kind).expect("what is shown reads"),
            value
        );
    }
}

fn file(choice: usize, csv: &[u8]) {
    let mut options = ImportOptions::new("test", [5; 16]);
    options.truncate = choice & 1 != 0;
    options.max_row_bytes = 1 << 12;
    if choice & 2 != 0 {
        options.delimiter = Some(b';');
    }
    if choice & 4 != 0 {
        let declared = ["a:decimal(2)", "b:text(8)", "c:date", "d:text", "e:decimal"];
        options.declared = declared
            .map(|text| text.parse().expect("a declaration"))
            .into();
    }
    if let Ok(table) = import_csv(Cursor::new(csv), &options, &mut |_| {}) {
        check(&table);
    }
}

/// Checks that a table's values have their types, and that rows survive their encoding in fixed bytes.
pub(crate) fn check(table: &Table) {
    let schema = table.schema();
    schema.check().expect("a table has a right schema");
    let columns: Vec<usize> = (0..schema.columns.len()).collect();
    let codec = RowCodec::new(schema, &columns).ok();
    for row in 0..table.rows().min(50) {
        let values: Vec<Value> = columns.iter().map(|&c| table.value(row, c)).collect();
        for (value, column) in values.iter().zip(&schema.columns) {
            value.check(column.kind).expect("a value of its type");
        }
        if let Some(codec) = &codec {
            let mut bytes = vec![0; codec.bytes()];
            codec.encode(table, row, &mut bytes).expect("a row");
            assert_eq!(codec.decode(&bytes).expect("a row"), values);
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let csv = "a,b,c,d,e\n1,x,2001-01-10,\"q\"\"uo,te\",1.50\n-2.25,,1999-12-31,true,.5\n";
    let times = "t;n\n2001-01-10 18:20:00;1e3\n2001-01-10T18:20:00Z;+7\n";
    let mut seeds: Vec<Vec<u8>> = (0..8)
        .map(|choice| choose(choice, csv.as_bytes()))
        .collect();
    seeds.extend((0..4).map(|choice| choose(choice, times.as_bytes())));
    let texts = [
        "true",
        "-12",
        "2001-01-10",
        "2001-01-10 18:20:00+02:00",
        "7",
        "0.5e-3",
        "-1.5e2",
        "text",
    ];
    seeds.extend(
        texts
            .iter()
            .enumerate()
            .map(|(i, text)| choose(TEXT + i, text.as_bytes())),
    );
    seeds.push(choose(TEXT, b"fare:decimal(2)"));
    seeds
}
