//! CSV imports: types, quotes, limits and errors.

use std::io::Cursor;

use omr_mismatch::Mismatch;
use omr_table::{
    Domain, ImportError, ImportOptions, Progress, Table, Value, ValueError, import_csv,
};
use proptest::prelude::*;

use crate::tables::{declared, options, tables};

fn import(csv: impl AsRef<[u8]>, options: &ImportOptions) -> Result<Table, ImportError> {
    import_csv(Cursor::new(csv.as_ref()), options, &mut |_| {})
}

fn kinds(table: &Table) -> Vec<String> {
    let kind = |column: &omr_table::Column| column.kind.to_string();
    table.schema().columns.iter().map(kind).collect()
}

proptest! {
    #[test]
    fn tables_come_back_from_csv(table in tables(1)) {
        let columns: Vec<usize> = (0..table.schema().columns.len()).collect();
        let mut rows = table.pick(&columns, 0..table.rows());
        rows.numbers = None;
        let mut csv = Vec::new();
        rows.write_csv(&mut csv).expect("written");
        let types: Vec<String> =
            table.schema().columns.iter().map(|column| format!("{}:{}", column.name, column.kind)).collect();
        let types: Vec<&str> = types.iter().map(String::as_str).collect();
        prop_assert_eq!(import(csv, &declared(&types)).expect("imported"), table);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = import(bytes, &options());
    }

    #[test]
    fn changed_bytes_are_read_without_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut csv = TAXI.as_bytes().to_vec();
        for (place, change) in changes {
            let place = place.index(csv.len());
            csv[place] = change;
        }
        if let Ok(table) = import(csv, &options()) {
            table.schema().check().expect("a schema");
        }
    }
}

const TAXI: &str = "id,paid,fare,day,begin,zone,zip\n\
    1,true,12.5,2001-01-10,2001-01-10 18:20:00,Astoria,01234\n\
    2,FALSE,-7,2001-01-11,2001-01-11,\"Bay, Terrace\",99999\n\
    ,,,,,,\n\
    40,true,0.125,1999-12-31,1999-12-31T23:59:59Z,\"say \"\"é\"\"\",00001\n";

#[test]
fn types_are_found_out() {
    let table = import(TAXI, &options()).expect("imported");
    assert_eq!(
        kinds(&table),
        [
            "integer",
            "boolean",
            "decimal(3)",
            "date",
            "timestamp",
            "text(12)",
            "text(5)"
        ]
    );
    assert_eq!(table.rows(), 4);
    assert_eq!(table.schema().columns[0].domain, Some(Domain::new(1, 40)));
    assert!(table.schema().columns.iter().all(|column| column.nullable));
    assert_eq!(table.value(0, 2), Value::Decimal(12_500));
    assert_eq!(table.ordinal(1, 4), Some(979_171_200));
    assert_eq!(table.text(3, 5), Some("say \"é\""));
    assert!(table.is_null(2, 6));
}

#[test]
fn columns_are_selected_dropped_and_declared() {
    let mut chosen = declared(&["fare:decimal(2)", "ZIP:text(8)", "id:text"]);
    chosen.select = Some(vec!["zip".into(), "FARE".into(), "id".into()]);
    let table = import(TAXI, &chosen).expect("imported");
    assert_eq!(kinds(&table), ["text(8)", "decimal(2)", "text(2)"]);
    assert_eq!(table.schema().columns[1].name, "fare");
    // A declared scale rounds: 0.125.
    assert_eq!(table.value(3, 1), Value::Decimal(13));
    let mut dropped = options();
    dropped.drop = vec!["zip".into(), "id".into()];
    assert_eq!(
        import(TAXI, &dropped)
            .expect("imported")
            .schema()
            .columns
            .len(),
        5
    );
    dropped.drop = vec!["price".into()];
    assert!(matches!(
        import(TAXI, &dropped),
        Err(ImportError::NoColumn(Mismatch { expected, found })) if expected == "price" && found.len() == 7
    ));
}

#[test]
fn text_is_cut_only_if_that_is_asked_for() {
    let csv = format!("a\nshort\n{}\n", "é".repeat(33));
    let error = import(&csv, &options()).expect_err("too long");
    assert!(matches!(
        error,
        ImportError::Value { row: 1, ref column, error: ValueError::TooLong(Mismatch { expected: 64, found: 66 }) } if column == "a"
    ));
    assert!(
        error
            .to_string()
            .contains("row 1, counted from 0, column \"a\""),
        "{error}"
    );
    let mut cut = declared(&["a:text(7)"]);
    cut.truncate = true;
    let table = import(&csv, &cut).expect("imported");
    assert_eq!(table.text(1, 0), Some("ééé"));
    assert_eq!(kinds(&table), ["text(7)"]);
}

#[test]
fn seconds_have_no_fractions_unless_they_may_be_cut() {
    let csv = "t\n1969-12-31 23:59:59.5\n2001-01-01 00:00:00\n";
    assert!(matches!(
        import(csv, &options()),
        Err(ImportError::Value {
            row: 0,
            error: ValueError::Fraction(_),
            ..
        })
    ));
    let mut cut = options();
    cut.truncate = true;
    assert_eq!(import(csv, &cut).expect("imported").ordinal(0, 0), Some(-1));
}

#[test]
fn numbers_of_too_many_digits_must_be_declared() {
    let csv = "x\n1234567890.1\n0.123456789\n";
    assert!(matches!(
        import(csv, &options()),
        Err(ImportError::Digits {
            whole: 10,
            places: 9,
            ..
        })
    ));
    let table = import(csv, &declared(&["x:decimal(3)"])).expect("imported");
    assert_eq!(table.ordinal(1, 0), Some(123));
    let table = import(csv, &declared(&["x:text"])).expect("imported");
    assert_eq!(kinds(&table), ["text(12)"]);
    // Codes are no numbers unless a decimal is wanted, of which nothing is lost.
    let codes = "x\n007\n+1.125\n2.25\n";
    assert_eq!(kinds(&import(codes, &options()).unwrap()), ["text(6)"]);
    let table = import(codes, &declared(&["x:decimal"])).expect("imported");
    assert_eq!(
        table.ordinals(0).expect("numbers").values(),
        [7000, 1125, 2250]
    );
    assert!(matches!(
        import("x\n9223372036854775808\n", &options()),
        Err(ImportError::Digits {
            whole: 19,
            places: 0,
            ..
        })
    ));
    assert_eq!(
        kinds(&import("x\n-9223372036854775808\n", &options()).unwrap()),
        ["integer"]
    );
    assert_eq!(
        kinds(&import("x\n1e3\n", &options()).unwrap()),
        ["decimal(0)"]
    );
    assert_eq!(
        kinds(&import("x\n1\n2\nNaN\n", &options()).unwrap()),
        ["text(3)"]
    );
    assert!(matches!(
        import("x\n1\nNaN\n", &declared(&["x:decimal(2)"])),
        Err(ImportError::Value {
            row: 1,
            error: ValueError::Syntax(_),
            ..
        })
    ));
}

#[test]
fn whole_numbers_may_be_written_with_a_point() {
    let table = import("x\n12.0\n7\n", &declared(&["x:integer"])).expect("imported");
    assert_eq!(table.ordinals(0).expect("numbers").values(), [12, 7]);
    assert!(import("x\n12.5\n", &declared(&["x:integer"])).is_err());
}

#[test]
fn damaged_csv_is_refused() {
    assert!(matches!(
        import("a,b\n1\n", &options()),
        Err(ImportError::Csv(_))
    ));
    assert!(matches!(
        import("", &options()),
        Err(ImportError::Schema(_))
    ));
    assert!(matches!(
        import("a,A\n1,2\n", &options()),
        Err(ImportError::Schema(_))
    ));
    assert!(matches!(
        import(b"a\nx\n\xFF\n", &options()),
        Err(ImportError::Utf8 { row: 1, .. })
    ));
    assert_eq!(
        import("\u{feff}a\n1\n", &options())
            .unwrap()
            .schema()
            .columns[0]
            .name,
        "a"
    );
    assert_eq!(import("a\n", &options()).expect("a header alone").rows(), 0);
}

#[test]
fn rows_too_long_or_too_many_are_refused_before_they_take_memory() {
    let mut limited = options();
    limited.max_row_bytes = 1000;
    let quote = format!("a,b\n1,2\n\"{}", "x,y\n".repeat(1 << 20));
    assert!(matches!(
        import(&quote, &limited),
        Err(ImportError::RowTooLong {
            row: 1,
            limit: 1000
        })
    ));
    limited.max_rows = 2;
    assert!(import("a\n1\n2\n", &limited).is_ok());
    assert!(matches!(
        import("a\n1\n2\n3\n", &limited),
        Err(ImportError::TooManyRows(2))
    ));
}

#[test]
fn progress_ends_at_its_total() {
    let csv = format!("a\n{}", "17\n".repeat(100_000));
    let mut seen: Vec<Progress> = Vec::new();
    import_csv(Cursor::new(&csv), &options(), &mut |progress| {
        seen.push(progress)
    })
    .expect("imported");
    assert!(seen.len() > 10);
    assert!(seen.windows(2).all(|pair| pair[0].done <= pair[1].done));
    let last = seen.last().expect("a report");
    assert_eq!(
        (last.done, last.total),
        (2 * csv.len() as u64, 2 * csv.len() as u64)
    );
}

/// Run alone for its figures: `cargo test --profile tested -p omr-table a_million -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn a_million_rows_of_csv() {
    use std::io::Write;
    let mut file = std::io::BufWriter::new(tempfile::tempfile().expect("a file"));
    writeln!(file, "id,begin,fare,zone,paid").expect("written");
    for row in 0..1_000_000u64 {
        let (hour, minute, second) = (row / 3600 % 24, row / 60 % 60, row % 60);
        let day = row % 28 + 1;
        let fare = row * 7919 % 10_000;
        writeln!(
            file,
            "{row},2001-01-{day:02} {hour:02}:{minute:02}:{second:02},{}.{:02},Zone number {},{}",
            fare / 100,
            fare % 100,
            row * 31 % 263,
            row % 3 == 0,
        )
        .expect("written");
    }
    let file = file.into_inner().expect("flushed");
    let begin = std::time::Instant::now();
    let table = import_csv(&file, &options(), &mut |_| {}).expect("imported");
    println!("{:?}: {:?}", kinds(&table), begin.elapsed());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!(
        "{:?}",
        status.lines().find(|line| line.starts_with("VmHWM"))
    );
    assert_eq!(table.rows(), 1_000_000);
}
