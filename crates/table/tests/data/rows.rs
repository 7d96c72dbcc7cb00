//! Rows encoded to bytes of fixed length and decoded again.

use omr_errors::Mismatch;
use omr_table::{ColumnType, MAX_ROW_BYTES, RowCodec, RowError, Value};
use proptest::prelude::*;

use crate::tables::{table, tables};

proptest! {
    #[test]
    fn rows_come_back(table in tables(0), places in prop::collection::vec(any::<prop::sample::Index>(), 1..8)) {
        let columns: Vec<usize> = places.iter().map(|place| place.index(table.schema().columns.len())).collect();
        let codec = RowCodec::new(table.schema(), &columns).expect("a codec");
        for row in 0..table.rows() {
            let mut bytes = vec![0xA5; codec.bytes()];
            codec.encode(&table, row, &mut bytes).expect("encoded");
            let values: Vec<Value> = columns.iter().map(|&column| table.value(row, column)).collect();
            prop_assert_eq!(codec.decode(&bytes).expect("decoded"), values);
        }
    }

    #[test]
    fn what_decodes_is_a_row_and_its_only_encoding(
        table in tables(0),
        bytes in prop::collection::vec(prop_oneof![Just(0xFF), Just(0xFE), Just(0), any::<u8>()], 0..400),
    ) {
        let columns: Vec<usize> = (0..table.schema().columns.len()).collect();
        let codec = RowCodec::new(table.schema(), &columns).expect("a codec");
        let mut bytes = bytes;
        bytes.resize(codec.bytes(), 0xFF);
        let Ok(values) = codec.decode(&bytes) else { return Ok(()) };
        let kinds: Vec<ColumnType> = table.schema().columns.iter().map(|column| column.kind).collect();
        let mut rows: Vec<Vec<Value>> = (0..table.rows())
            .map(|row| columns.iter().map(|&column| table.value(row, column)).collect())
            .collect();
        rows.push(values);
        let longer = crate::tables::table(&kinds, rows);
        // A value outside the domain, or an absent one where none may be, would have changed the schema.
        if table.rows() > 0 {
            prop_assert_eq!(&longer.schema().columns, &table.schema().columns);
        }
        let mut again = vec![0; codec.bytes()];
        if table.rows() > 0 {
            codec.encode(&longer, table.rows(), &mut again).expect("encoded");
            prop_assert_eq!(again, bytes);
        }
    }
}

#[test]
fn numbers_take_the_bits_of_their_domains() {
    let kinds = [
        ColumnType::Integer,
        ColumnType::Boolean,
        ColumnType::Text { max_bytes: 5 },
        ColumnType::Integer,
        ColumnType::Integer,
    ];
    let row = |number, truth, text: Option<&str>, widest| {
        vec![
            Value::Integer(number),
            Value::Boolean(truth),
            text.map_or(Value::Null, |text| Value::Text(text.into())),
            Value::Integer(7),
            widest,
        ]
    };
    let table = table(
        &kinds,
        vec![
            row(100, true, Some("né"), Value::Integer(i64::MIN)),
            row(103, false, None, Value::Integer(i64::MAX)),
            row(102, false, Some(""), Value::Null),
        ],
    );
    let codec = |columns: &[usize]| RowCodec::new(table.schema(), columns).expect("a codec");
    // Two bits, one, five bytes, none, 65.
    assert_eq!(codec(&[0, 1]).bytes(), 1);
    assert_eq!(codec(&[3]).bytes(), 1);
    assert_eq!(codec(&[4]).bytes(), 9);
    let codec = codec(&[2, 0, 1]);
    assert_eq!(codec.bytes(), 6);
    let mut bytes = [0; 6];
    codec.encode(&table, 0, &mut bytes).expect("encoded");
    assert_eq!(bytes, [0b100, b'n', 0xC3, 0xA9, 0xFF, 0xFF]);
    codec.encode(&table, 1, &mut bytes).expect("encoded");
    assert_eq!(bytes, [0b011, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF]);
}

#[test]
fn what_no_row_has_is_refused() {
    let kinds = [ColumnType::Integer, ColumnType::Text { max_bytes: 3 }];
    let row = |number, text: &str| vec![Value::Integer(number), Value::Text(text.into())];
    let table = table(&kinds, vec![row(0, "a"), row(2, "b")]);
    let codec = RowCodec::new(table.schema(), &[0, 1]).expect("a codec");
    assert_eq!(codec.decode(&[2, b'x', 0xFF, 0xFF]), Ok(row(2, "x")));
    assert!(matches!(
        codec.decode(&[3, b'x', 0xFF, 0xFF]),
        Err(RowError::Outside {
            states: 3,
            found: 3,
            ..
        })
    ));
    assert_eq!(
        codec.decode(&[6, b'x', 0xFF, 0xFF]),
        Err(RowError::Padding(4))
    );
    for text in [
        [0xC3, 0xFF, 0xFF],
        [b'x', 0xFF, b'x'],
        [0xFE, 0xFF, 0xFF],
        [0xFF, 0xFF, 0xFE],
    ] {
        let bytes = [&[0], &text[..]].concat();
        assert!(
            matches!(codec.decode(&bytes), Err(RowError::Text(_))),
            "{text:?}"
        );
    }
    assert_eq!(
        codec.decode(&[0; 3]),
        Err(RowError::Length(Mismatch {
            expected: 4,
            found: 3
        }))
    );
    assert!(matches!(
        codec.encode(&table, 2, &mut [0; 4]),
        Err(RowError::NoRow(Mismatch {
            expected: 2,
            found: 2
        }))
    ));
    assert_eq!(RowCodec::new(table.schema(), &[]), Err(RowError::NoColumns));
    assert!(matches!(
        RowCodec::new(table.schema(), &[2]),
        Err(RowError::NoColumn(Mismatch {
            expected: 2,
            found: 2
        }))
    ));
    let many = vec![1; MAX_ROW_BYTES / 3 + 1];
    assert!(matches!(
        RowCodec::new(table.schema(), &many),
        Err(RowError::TooWide(_))
    ));
}

#[test]
fn a_table_of_another_schema_is_refused() {
    let one = |value| table(&[ColumnType::Integer], vec![vec![Value::Integer(value)]]);
    let codec = RowCodec::new(one(5).schema(), &[0]).expect("a codec");
    assert!(matches!(
        codec.encode(&one(6), 0, &mut [0]),
        Err(RowError::OtherTable(_))
    ));
    let texts = table(
        &[ColumnType::Text { max_bytes: 1 }],
        vec![vec![Value::Text("x".into())]],
    );
    assert!(codec.encode(&texts, 0, &mut [0]).is_err());
}

/// Run alone for its figures: `cargo test --profile tested -p omr-table a_million -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn a_million_rows_in_bytes() {
    let kinds = [
        ColumnType::Integer,
        ColumnType::Text { max_bytes: 16 },
        ColumnType::Date,
    ];
    let row = |row: i64| {
        vec![
            Value::Integer(row),
            Value::Text(format!("name {}", row % 1000)),
            Value::Date(row % 20_000),
        ]
    };
    let table = table(&kinds, (0..1_000_000).map(row).collect());
    let codec = RowCodec::new(table.schema(), &[0, 1, 2]).expect("a codec");
    let mut bytes = vec![0; codec.bytes() * table.rows()];
    let begin = std::time::Instant::now();
    for (row, out) in bytes.chunks_exact_mut(codec.bytes()).enumerate() {
        codec.encode(&table, row, out).expect("encoded");
    }
    println!(
        "{} bytes a row, encoded in {:?}",
        codec.bytes(),
        begin.elapsed()
    );
    let last = codec.decode(&bytes[bytes.len() - codec.bytes()..]);
    assert_eq!(last.expect("decoded")[0], Value::Integer(999_999));
}
