//! Parquet imports: types, encodings and damaged files.

use std::fs::File;
use std::io::{Seek, Write};
use std::sync::{Arc, LazyLock};

use arrow::array::*;
use arrow::datatypes::{
    DataType as ArrowKind, Field, Int32Type as ArrowInt32, Schema as ArrowSchema, TimeUnit,
};
use omr_errors::Mismatch;
use omr_table::{
    ColumnType, ImportError, ImportOptions, Table, Value, ValueError, import_batches, import_file,
    import_parquet,
};
use parquet::arrow::{ArrowWriter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{DataType, Int32Type, Int64Type, Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use crate::tables::{declared, options};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).expect("a batch")
}

/// Parquet of these columns, three rows a group.
fn written(columns: Vec<(&str, ArrayRef)>, compression: Compression) -> Vec<u8> {
    let batch = batch(columns);
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(3))
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("written");
    writer.into_inner().expect("closed")
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    file.rewind().expect("rewound");
    file
}

fn import(bytes: &[u8], options: &ImportOptions) -> Result<Table, ImportError> {
    import_parquet(file(bytes), options, &mut |_| {})
}

fn one(array: ArrayRef, options: &ImportOptions) -> Result<Table, ImportError> {
    import(&written(vec![("x", array)], Compression::SNAPPY), options)
}

fn kinds(table: &Table) -> Vec<String> {
    table
        .schema()
        .columns
        .iter()
        .map(|column| column.kind.to_string())
        .collect()
}

/// Eight rows of many types.
fn mixed() -> Vec<(&'static str, ArrayRef)> {
    let dictionary: DictionaryArray<ArrowInt32> = [
        Some("x"),
        None,
        Some("y"),
        Some("x"),
        None,
        Some("x"),
        Some("x"),
        Some("é"),
    ]
    .into_iter()
    .collect();
    let zoned = TimestampMicrosecondArray::from_iter((0..8).map(|row| Some(row * 1_000_000)))
        .with_timezone("+02:00");
    let decimals = Decimal128Array::from_iter((0..8).map(|row| (row != 3).then_some(row * 5)))
        .with_precision_and_scale(9, 2)
        .expect("a scale");
    vec![
        (
            "truth",
            Arc::new(BooleanArray::from_iter(
                (0..8).map(|row| Some(row % 2 == 0)),
            )),
        ),
        (
            "small",
            Arc::new(Int8Array::from_iter((0..8).map(|row| Some(row - 4)))),
        ),
        (
            "unsigned",
            Arc::new(UInt64Array::from_iter(
                (0..8).map(|row| (row > 0).then_some(row << 50)),
            )),
        ),
        (
            "float",
            Arc::new(Float64Array::from_iter(
                (0..8).map(|row| Some(f64::from(row) / 8.0)),
            )),
        ),
        (
            "single",
            Arc::new(Float32Array::from_iter(
                (0..8).map(|row| Some(row as f32 / 10.0)),
            )),
        ),
        ("decimal", Arc::new(decimals)),
        (
            "day",
            Arc::new(Date32Array::from_iter((0..8).map(|row| Some(row * 1000)))),
        ),
        (
            "nanosecond",
            Arc::new(TimestampNanosecondArray::from_iter(
                (0..8).map(|row| Some(-row * 1_000_000_000)),
            )),
        ),
        ("zoned", Arc::new(zoned)),
        (
            "second",
            Arc::new(TimestampSecondArray::from_iter((0..8).map(Some))),
        ),
        (
            "text",
            Arc::new(LargeStringArray::from_iter(
                (0..8).map(|row| Some("é".repeat(row))),
            )),
        ),
        ("dictionary", Arc::new(dictionary)),
    ]
}

#[test]
fn types_and_row_groups_are_read() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let table = import(&written(mixed(), compression), &options()).expect("imported");
        assert_eq!(
            kinds(&table),
            [
                "boolean",
                "integer",
                "integer",
                "decimal(3)",
                "decimal(1)",
                "decimal(2)",
                "date",
                "timestamp",
                "timestamp",
                "timestamp",
                "text(14)",
                "text(2)"
            ]
        );
        assert_eq!(table.rows(), 8);
        let row: Vec<Value> = (0..12).map(|column| table.value(3, column)).collect();
        let expected = [
            Value::Boolean(false),
            Value::Integer(-1),
            Value::Integer(3 << 50),
            Value::Decimal(375),
            Value::Decimal(3),
            Value::Null,
            Value::Date(3000),
            Value::Timestamp(-3),
            Value::Timestamp(3),
            Value::Timestamp(3),
            Value::Text("ééé".into()),
            Value::Text("x".into()),
        ];
        assert_eq!(row, expected);
        assert_eq!(table.text(7, 11), Some("é"));
        assert!(table.is_null(4, 11) && table.is_null(0, 2));
    }
}

#[test]
fn batches_make_the_table_of_a_file() {
    let whole = batch(mixed());
    let parts = [whole.slice(0, 5), whole.slice(5, 0), whole.slice(5, 3)];
    let mut last = None;
    let table = import_batches(&whole.schema(), &parts, &options(), &mut |now| {
        last = Some(now)
    });
    let file = import(&written(mixed(), Compression::SNAPPY), &options());
    assert_eq!(table.expect("imported"), file.expect("imported"));
    assert!(last.is_some_and(|last| last.done == last.total && last.total == 8 * 12));
    let others = ArrowSchema::new(vec![Field::new("x", ArrowKind::Int64, true); 2]);
    let import = import_batches(&others, &[], &options(), &mut |_| {});
    assert!(matches!(import, Err(ImportError::Schema(_))));
    let more = ArrowSchema::new(vec![
        Field::new("x", ArrowKind::Int64, true),
        Field::new("y", ArrowKind::Int64, true),
    ]);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let short = [batch(vec![("x", numbers)])];
    let import = import_batches(&more, &short, &options(), &mut |_| {});
    assert!(matches!(import, Err(ImportError::Type { .. })));
}

#[test]
fn integers_and_texts_of_all_widths_are_read() {
    let arrays: [(ArrayRef, &str); 10] = [
        (Arc::new(Int8Array::from(vec![Some(-5), None])), "-5"),
        (Arc::new(Int16Array::from(vec![Some(-5), None])), "-5"),
        (Arc::new(UInt8Array::from(vec![Some(5), None])), "5"),
        (Arc::new(UInt16Array::from(vec![Some(5), None])), "5"),
        (Arc::new(UInt32Array::from(vec![Some(5), None])), "5"),
        (Arc::new(StringArray::from(vec![Some("a"), None])), "a"),
        (Arc::new(LargeStringArray::from(vec![Some("a"), None])), "a"),
        (Arc::new(StringViewArray::from(vec![Some("a"), None])), "a"),
        (Arc::new(Decimal32Array::from(vec![Some(5), None])), "0.05"),
        (
            Arc::new(Decimal64Array::from(vec![Some(5), None])),
            "0.000005",
        ),
    ];
    for (array, expected) in arrays {
        let batch = batch(vec![("x", array)]);
        let table = import_batches(
            &batch.schema(),
            std::slice::from_ref(&batch),
            &options(),
            &mut |_| {},
        );
        let table = table.expect("imported");
        let kind = table.schema().columns[0].kind;
        let found = table.value(0, 0).show(kind).to_string();
        assert_eq!(found, expected, "{}", batch.column(0).data_type());
        assert!(table.is_null(1, 0));
    }
}

#[test]
fn gzip_must_be_allowed() {
    let bytes = written(mixed(), Compression::GZIP(GzipLevel::default()));
    assert!(matches!(
        import(&bytes, &options()),
        Err(ImportError::Gzip(_))
    ));
    let refused = import(&bytes, &options()).expect_err("refused").to_string();
    assert!(
        refused.contains("zstd") && refused.contains("--gzip"),
        "{refused}"
    );
    let mut trusting = options();
    trusting.gzip = true;
    assert_eq!(import(&bytes, &trusting).expect("imported").rows(), 8);
}

#[test]
fn files_are_known_by_their_beginning() {
    let import = |bytes: &[u8]| import_file(file(bytes), &options(), &mut |_| {});
    let parquet = written(mixed(), Compression::SNAPPY);
    assert_eq!(import(&parquet).expect("imported").rows(), 8);
    assert_eq!(import(b"a\n1\n").expect("imported").rows(), 1);
    let error = import(b"\x1F\x8B\x08\0").expect_err("compressed");
    assert_eq!(
        error.to_string(),
        "expected CSV or Parquet, found data compressed by gzip: decompress it first"
    );
}

#[test]
fn types_without_a_place_are_refused_or_left_out() {
    let lists =
        ListArray::from_iter_primitive::<ArrowInt32, _, _>([Some(vec![Some(1), None]), None]);
    let pair = StructArray::from(vec![(
        Arc::new(Field::new("inner", ArrowKind::Int32, true)),
        Arc::new(Int32Array::from(vec![5, 6])) as ArrayRef,
    )]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("list", Arc::new(lists)),
        ("pair", Arc::new(pair)),
        ("bytes", Arc::new(BinaryArray::from(vec![&b"x"[..], b"y"]))),
        ("number", Arc::new(Int32Array::from(vec![7, 8]))),
    ];
    let bytes = written(columns, Compression::SNAPPY);
    let of = |name: &str| {
        let mut options = options();
        options.select = Some(vec![name.into()]);
        options
    };
    for (name, found) in [("list", "List"), ("pair", "Struct"), ("bytes", "Binary")] {
        let error = import(&bytes, &of(name)).expect_err("no place");
        assert!(
            matches!(&error, ImportError::Type { column, found: kind } if column == name && kind.contains(found)),
            "{error}"
        );
    }
    let table = import(&bytes, &of("number")).expect("imported");
    assert_eq!(table.ordinals(0).expect("numbers").values(), [7, 8]);
}

#[test]
fn numbers_out_of_range_name_their_row() {
    let cases: Vec<(ArrayRef, u64)> = vec![
        (Arc::new(UInt64Array::from(vec![1, 2, 3, 1 << 63])), 3),
        (
            Arc::new(
                Decimal128Array::from(vec![1, 10i128.pow(18)])
                    .with_precision_and_scale(38, 0)
                    .unwrap(),
            ),
            1,
        ),
        (Arc::new(Date32Array::from(vec![0, i32::MAX])), 1),
        (
            Arc::new(TimestampSecondArray::from(vec![0, 0, i64::MIN])),
            2,
        ),
    ];
    for (array, expected) in cases {
        let error = one(array, &options()).expect_err("out of range");
        assert!(
            matches!(&error, ImportError::Value { row, column, error: ValueError::Range(_) }
                if *row == expected && column == "x"),
            "{error}"
        );
    }
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error =
            one(Arc::new(Float64Array::from(vec![1.5, odd])), &options()).expect_err("no number");
        assert!(
            matches!(
                &error,
                ImportError::Value {
                    row: 1,
                    error: ValueError::Range(_),
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn the_ends_of_unsigned_numbers_decimals_and_floats_are_read_or_refused() {
    let last = i64::MAX as u64;
    let table = one(Arc::new(UInt64Array::from(vec![0, last])), &options()).expect("imported");
    assert_eq!(table.value(1, 0), Value::Integer(i64::MAX));
    let table = one(
        Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX])),
        &options(),
    );
    let table = table.expect("imported");
    assert_eq!(table.value(0, 0), Value::Integer(i64::MIN));
    assert_eq!(table.value(1, 0), Value::Integer(i64::MAX));

    let decimals = |numbers: Vec<i128>, precision, scale| -> ArrayRef {
        let array = Decimal128Array::from(numbers);
        Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
    };
    let largest = 10i128.pow(18) - 1;
    for scale in [0, 18] {
        let array = decimals(vec![largest, -largest, 0], 38, scale);
        let table = one(array, &options()).expect("imported");
        assert_eq!(kinds(&table), [format!("decimal({scale})")]);
        assert_eq!(table.value(0, 0), Value::Decimal(largest as i64));
        assert_eq!(table.value(1, 0), Value::Decimal(-largest as i64));
        for odd in [largest + 1, -largest - 1, 10i128.pow(38) - 1] {
            let array = decimals(vec![0, odd], 38, scale);
            let error = one(array, &options()).expect_err("19 digits").to_string();
            assert!(error.contains("row 1") && error.contains("out of range"));
        }
    }
    // Hundreds, and more places than a column has, of which the last are zeros.
    let table = batches_of(decimals(vec![-12, 7], 4, -2)).expect("imported");
    assert_eq!(table.value(0, 0), Value::Decimal(-1200));
    let twenty = decimals(vec![1250 * 10i128.pow(17)], 38, 20);
    let table = one(twenty, &declared(&["x:decimal(2)"])).expect("imported");
    assert_eq!(table.value(0, 0), Value::Decimal(125));

    // Shortest forms: 0.1 of 32 bits is 0.1, not 0.10000000149.
    let floats = vec![0.1, -0.0, 16_777_216.0];
    let table = one(Arc::new(Float32Array::from(floats)), &options()).expect("imported");
    assert_eq!(kinds(&table), ["decimal(1)"]);
    assert_eq!(
        table.ordinals(0).expect("numbers").values(),
        [1, 0, 167_772_160]
    );
    let tiny = Float64Array::from(vec![-0.0, f64::MIN_POSITIVE, -f64::from_bits(1)]);
    let tiny: ArrayRef = Arc::new(tiny);
    assert!(matches!(
        one(tiny.clone(), &options()),
        Err(ImportError::Digits {
            whole: 0,
            places: 324,
            ..
        })
    ));
    let table = one(tiny.clone(), &declared(&["x:decimal(18)"])).expect("imported");
    assert_eq!(table.ordinals(0).expect("numbers").values(), [0, 0, 0]);
    let table = one(tiny, &declared(&["x:text"])).expect("imported");
    assert_eq!(table.text(2, 0), Some("-5e-324"));
    for odd in [f64::MAX, f64::MIN, f64::NAN, f64::INFINITY] {
        for kind in ["decimal(0)", "decimal(18)", "integer"] {
            let array: ArrayRef = Arc::new(Float64Array::from(vec![1.0, odd]));
            let kind = declared(&[&format!("x:{kind}")]);
            let error = one(array, &kind).expect_err("too large").to_string();
            assert!(
                error.contains("row 1") || error.contains("row 0"),
                "{odd}: {error}"
            );
        }
    }
}

#[test]
fn floats_of_many_digits_need_a_scale() {
    let array: ArrayRef = Arc::new(Float64Array::from(vec![0.1 + 0.2, 1e17, 2.5]));
    assert!(matches!(
        one(array.clone(), &options()),
        Err(ImportError::Digits {
            whole: 18,
            places: 17,
            ..
        })
    ));
    let array: ArrayRef = Arc::new(Float64Array::from(vec![0.1 + 0.2, 1e10, 2.5]));
    let table = one(array.clone(), &declared(&["x:decimal(2)"])).expect("imported");
    assert_eq!(
        table.ordinals(0).expect("numbers").values(),
        [30, 1_000_000_000_000, 250]
    );
    let table = one(array, &declared(&["x:text"])).expect("imported");
    assert_eq!(table.text(0, 0), Some("0.30000000000000004"));
    assert_eq!(table.text(1, 0), Some("1e10"));
}

#[test]
fn declared_types_convert_what_they_can() {
    let whole: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(3.0)]));
    let table = one(whole.clone(), &declared(&["x:integer"])).expect("imported");
    assert_eq!(table.value(2, 0), Value::Integer(3));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["2001-01-10", "1999-12-31"]));
    assert_eq!(
        kinds(&one(text, &declared(&["x:date"])).expect("imported")),
        ["date"]
    );
    let days: ArrayRef = Arc::new(Date32Array::from(vec![1, 2]));
    let table = one(days.clone(), &declared(&["x:timestamp"])).expect("imported");
    assert_eq!(table.ordinal(0, 0), Some(86_400));
    let midnights: ArrayRef = Arc::new(TimestampSecondArray::from(vec![-86_400, 86_400]));
    let table = one(midnights, &declared(&["x:date"])).expect("imported");
    assert_eq!(table.ordinals(0).expect("days").values(), [-1, 1]);
    let noon: ArrayRef = Arc::new(TimestampSecondArray::from(vec![43_200]));
    assert!(one(noon, &declared(&["x:date"])).is_err());
    assert!(matches!(
        one(days, &declared(&["x:boolean"])),
        Err(ImportError::Value {
            row: 0,
            error: ValueError::Kind(Mismatch { found: "date", .. }),
            ..
        })
    ));
}

#[test]
fn long_texts_and_parts_of_seconds_are_cut_only_if_asked_for() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a".to_owned(), "é".repeat(40)]));
    let mut cut = options();
    cut.truncate = true;
    assert!(matches!(
        one(text.clone(), &options()),
        Err(ImportError::Value {
            row: 1,
            error: ValueError::TooLong(Mismatch {
                expected: 64,
                found: 80
            }),
            ..
        })
    ));
    assert_eq!(
        one(text, &cut).expect("imported").text(1, 0).map(str::len),
        Some(64)
    );
    let parts: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![-1, 1500]));
    assert!(matches!(
        one(parts.clone(), &options()),
        Err(ImportError::Value {
            row: 0,
            error: ValueError::Fraction(_),
            ..
        })
    ));
    assert_eq!(
        one(parts, &cut)
            .expect("imported")
            .ordinals(0)
            .expect("moments")
            .values(),
        [-1, 1]
    );
}

#[test]
fn rows_too_many_are_refused() {
    let mut few = options();
    few.max_rows = 7;
    for name in ["small", "float"] {
        few.select = Some(vec![name.into()]);
        let error = import(&written(mixed(), Compression::SNAPPY), &few);
        assert!(matches!(error, Err(ImportError::TooManyRows(7))));
    }
}

#[test]
fn no_columns_are_no_table() {
    let schema = Arc::new(ArrowSchema::empty());
    let writer = ArrowWriter::try_new(Vec::new(), schema, None).expect("a writer");
    let bytes = writer.into_inner().expect("closed");
    assert!(import(&bytes, &options()).is_err());
}

#[test]
fn cut_files_are_refused() {
    let bytes = written(mixed(), Compression::SNAPPY);
    for length in 0..bytes.len() {
        assert!(
            import(&bytes[..length], &options()).is_err(),
            "{length} bytes of {}",
            bytes.len()
        );
    }
}

/// One table, written with every codec.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    codecs.map(|codec| written(mixed(), codec)).into()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn changed_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        file in 0..4usize,
    ) {
        let mut bytes = FILES[file].clone();
        for (place, change) in changes {
            let place = place.index(bytes.len());
            bytes[place] = change;
        }
        if let Ok(table) = import(&bytes, &options()) {
            table.schema().check().expect("a schema");
            prop_assert!(table.rows() <= 1 << 20);
        }
    }
}

#[test]
fn dates_in_milliseconds_are_days() {
    let table = one(
        Arc::new(Date64Array::from(vec![-86_400_000, 86_400_000])),
        &options(),
    )
    .expect("imported");
    assert_eq!(table.schema().columns[0].kind, ColumnType::Date);
    assert_eq!(table.ordinals(0).expect("days").values(), [-1, 1]);
    let odd: ArrayRef = Arc::new(Date64Array::from(vec![0, -1]));
    assert!(matches!(
        batches_of(odd),
        Err(ImportError::Value {
            row: 1,
            error: ValueError::Kind(Mismatch {
                found: "timestamp",
                ..
            }),
            ..
        })
    ));
}

fn batches_of(array: ArrayRef) -> Result<Table, ImportError> {
    let batch = batch(vec![("x", array)]);
    import_batches(
        &batch.schema(),
        std::slice::from_ref(&batch),
        &options(),
        &mut |_| {},
    )
}

/// Parquet of one optional column `x`, of the type that the schema's line says, by its stored values.
fn stored<T: DataType>(line: &str, rows: &[Option<T::T>]) -> Vec<u8> {
    let schema = parse_message_type(&format!("message table {{ optional {line}; }}"));
    let schema = Arc::new(schema.expect("a schema"));
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Default::default()).expect("a writer");
    // Groups of two rows.
    for rows in rows.chunks(2) {
        let mut group = writer.next_row_group().expect("a group");
        let mut column = group.next_column().expect("a column").expect("the column");
        let levels: Vec<i16> = rows.iter().map(|value| value.is_some().into()).collect();
        let values: Vec<T::T> = rows.iter().flatten().cloned().collect();
        let typed = column.typed::<T>();
        typed
            .write_batch(&values, Some(&levels), None)
            .expect("written");
        column.close().expect("closed");
        group.close().expect("closed");
    }
    writer.finish().expect("finished");
    writer.inner().clone()
}

/// Lists and maps in forms that the format does not have: the error names their column.
#[test]
fn a_type_that_is_none_is_named_by_its_column() {
    for (line, told) in [
        (
            "optional group tags (LIST) { optional binary x (UTF8); }",
            "must be repeated",
        ),
        (
            "optional group tags (MAP) { optional group x { required int64 key; } }",
            "must be repeated",
        ),
    ] {
        let schema = parse_message_type(&format!("message m {{ optional int64 id; {line} }}"));
        let schema = Arc::new(schema.expect("a schema"));
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default());
        let writer = writer.as_mut().expect("a writer");
        writer.finish().expect("finished");
        let error = import(writer.inner(), &options()).expect_err("no type");
        let text = error.to_string();
        assert!(
            text.starts_with("column \"tags\": expected a type"),
            "{text}"
        );
        assert!(text.contains(told), "{text}");
    }
}

/// INT96 of a day since 1970-01-01 and nanoseconds of it.
fn int96(day: i64, nanoseconds: i64) -> Int96 {
    let day = u32::try_from(day + 2_440_588).expect("a day");
    let [low, high] = [nanoseconds as u32, (nanoseconds >> 32) as u32];
    let mut value = Int96::new();
    value.set_data(low, high, day);
    value
}

#[test]
fn int96_is_read_beyond_nanoseconds_of_64_bits() {
    let bytes = include_bytes!("../../../../testdata/table/int96-far.parquet");
    let table = import(bytes, &options()).expect("imported");
    let shown = |row| {
        table
            .value(row, 1)
            .show(table.schema().columns[1].kind)
            .to_string()
    };
    let moments: Vec<String> = (0..5).map(shown).collect();
    assert_eq!(
        moments,
        [
            "2024-01-01 12:00:00",
            "9999-12-31 00:00:00",
            "1500-01-01 00:00:00",
            "2262-04-12 00:00:00",
            "NULL"
        ]
    );
    let day = 86_400_000_000_000;
    let read = |rows: &[Option<Int96>], options: &ImportOptions| {
        import(&stored::<Int96Type>("int96 x", rows), options)
    };
    let ends = [
        Some(int96(-719_162, 0)),
        None,
        Some(int96(2_932_896, day - 1_000_000_000)),
        Some(int96(0, -1_000_000_000)),
        Some(int96(0, day)),
    ];
    let table = read(&ends, &options()).expect("imported");
    let seconds: Vec<Option<i64>> = table.ordinals(0).expect("moments").iter().collect();
    assert_eq!(
        seconds,
        [
            Some(-62_135_596_800),
            None,
            Some(253_402_300_799),
            Some(-1),
            Some(86_400)
        ]
    );
    let error = read(&[None, None, None, Some(int96(2_932_897, 1))], &options());
    let error = error.expect_err("the year 10000").to_string();
    assert!(
        error.starts_with("row 3, counted from 0, column \"x\": "),
        "{error}"
    );
    assert!(
        error.contains("found +10000-01-01 00:00:00, which is out of range"),
        "{error}"
    );
    let error = read(&[Some(int96(-719_163, 0))], &options()).expect_err("the year 0");
    assert!(
        error.to_string().contains("found 0000-12-31 00:00:00"),
        "{error}"
    );
    let part = [Some(int96(2_932_896, 1)), Some(int96(-1, day - 1))];
    let error = read(&part, &options()).expect_err("a part of a second");
    assert!(
        error
            .to_string()
            .contains("9999-12-31 00:00:00 and a fraction"),
        "{error}"
    );
    let mut cut = options();
    cut.truncate = true;
    let table = read(&part, &cut).expect("imported");
    assert_eq!(
        table.ordinals(0).expect("moments").values(),
        [253_402_214_400, -1]
    );
}

#[test]
fn numbers_that_exceed_their_annotation_are_refused() {
    let ends = [
        ("int32 x (INTEGER(8,true))", -128, 127),
        ("int32 x (INTEGER(8,false))", 0, 255),
        ("int32 x (INTEGER(16,true))", -32_768, 32_767),
        ("int32 x (INTEGER(16,false))", 0, 65_535),
    ];
    for (line, min, max) in ends {
        let read = |rows: &[Option<i32>]| import(&stored::<Int32Type>(line, rows), &options());
        let table = read(&[Some(min), None, Some(max)]).expect("imported");
        let numbers: Vec<Option<i64>> = table.ordinals(0).expect("numbers").iter().collect();
        assert_eq!(numbers, [Some(min.into()), None, Some(max.into())]);
        for odd in [min - 1, max + 1, i32::MIN, i32::MAX] {
            let error = read(&[None, None, Some(min), Some(odd)]).expect_err("too large");
            assert!(
                matches!(&error, ImportError::Annotation { row: 3, found, .. } if *found == odd),
                "{line}: {error}"
            );
        }
    }
    // All of 32 and 64 bits are read.
    let unsigned = stored::<Int32Type>("int32 x (INTEGER(32,false))", &[Some(-1)]);
    let table = import(&unsigned, &options()).expect("imported");
    assert_eq!(table.ordinal(0, 0), Some(u32::MAX.into()));
    let unsigned = stored::<Int64Type>("int64 x (INTEGER(64,false))", &[Some(0), Some(-1)]);
    let error = import(&unsigned, &options())
        .expect_err("beyond 63 bits")
        .to_string();
    assert!(
        error.contains("row 1") && error.contains(&u64::MAX.to_string()),
        "{error}"
    );
}

#[test]
fn the_ends_of_all_units_of_time_are_read_or_refused() {
    let ticks = [
        ("MILLIS", 1_000),
        ("MICROS", 1_000_000),
        ("NANOS", 1_000_000_000),
    ];
    let (first, last) = (-62_135_596_800_i64, 253_402_300_799_i64);
    for (unit, ticks) in ticks {
        let line = format!("int64 x (TIMESTAMP({unit},true))");
        let read = |number: i64| {
            let table = import(&stored::<Int64Type>(&line, &[Some(number)]), &options());
            table.map(|table| table.ordinal(0, 0).expect("a moment"))
        };
        for second in [first, -1, 0, last] {
            if let Some(number) = second.checked_mul(ticks) {
                assert_eq!(read(number).expect("imported"), second, "{unit}");
            }
        }
        for odd in [first - 1, last + 1] {
            if let Some(number) = odd.checked_mul(ticks) {
                assert!(read(number).is_err(), "{unit} {odd}");
            }
        }
        for end in [i64::MIN, i64::MAX] {
            assert!(read(end).is_err(), "{unit} {end}");
        }
    }
    let days = |number: i32| {
        import(
            &stored::<Int32Type>("int32 x (DATE)", &[Some(number)]),
            &options(),
        )
    };
    assert_eq!(
        days(2_932_896).expect("imported").ordinal(0, 0),
        Some(2_932_896)
    );
    let error = days(2_932_897).expect_err("the year 10000").to_string();
    assert!(
        error.contains("found +10000-01-01, which is out of range"),
        "{error}"
    );
    assert!(days(i32::MIN).is_err() && days(i32::MAX).is_err());
}

/// A writer of Arrow notes its types beside Parquet's. One that names another unit is not followed.
#[test]
fn another_unit_beside_parquets_own_is_not_followed() {
    let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![5_000_000_000]));
    let bytes = written(vec![("x", array)], Compression::UNCOMPRESSED);
    let seconds = ArrowKind::Timestamp(TimeUnit::Second, None);
    let note = ArrowSchema::new(vec![Field::new("x", seconds, true)]);
    let schema = parse_message_type("message m { optional int64 x (TIMESTAMP(NANOS,false)); }");
    let mut properties = WriterProperties::builder().build();
    add_encoded_arrow_schema_to_metadata(&note, &mut properties);
    let schema = Arc::new(schema.expect("a schema"));
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("a column").expect("the column");
    let typed = column.typed::<Int64Type>();
    typed
        .write_batch(&[5_000_000_000], Some(&[1]), None)
        .expect("written");
    column.close().expect("closed");
    group.close().expect("closed");
    writer.finish().expect("finished");
    for bytes in [&bytes, writer.inner()] {
        assert_eq!(
            import(bytes, &options()).expect("imported").ordinal(0, 0),
            Some(5)
        );
    }
}

#[test]
fn a_header_that_announces_more_than_the_file_has_is_an_error() {
    let bytes = include_bytes!("../../../../testdata/hostile/endless-header.parquet");
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    let declared = declared(&["a:decimal(2)"]);
    // It took more than a minute where the end of a file was no error.
    let error = import_parquet(file, &declared, &mut |_| {}).expect_err("damaged");
    assert!(error.to_string().contains("end of file"), "{error}");
}
