//! CSV imports: types, quotes, limits and errors.

use std::io::Cursor;

use omr_errors::Mismatch;
use omr_table::{
    ColumnNames, CsvFault, Delimiter, Domain, Doubt, ImportError, ImportOptions, Looks, Progress,
    Table, Value, ValueError, import_csv,
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

/// Cuts are reported with their first row, and texts that became empty because no character fits.
#[test]
fn cuts_are_reported() {
    let mut cut = declared(&["a:text(1)", "t:timestamp"]);
    cut.truncate = true;
    let csv = "a,t\nx,2001-01-01 00:00:00\nab,2001-01-01 00:00:00.5\néx,\n,\né,\n";
    let table = import(csv, &cut).expect("imported");
    let texts: Vec<_> = (0..5).map(|row| table.text(row, 0)).collect();
    assert_eq!(texts, [Some("x"), Some("a"), Some(""), None, Some("")]);
    let told: Vec<String> = table
        .doubts(&cut.declared)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "column \"a\": 3 values were cut to 1 bytes, the first in row 1, counted from 0; nothing is left of 2 of them",
            "column \"t\": 1 values were cut to whole seconds, the first in row 1, counted from 0",
        ]
    );
    let mut whole = declared(&["a:text(2)", "t:timestamp"]);
    whole.truncate = true;
    let table = import("a,t\né,2001-01-01 00:00:00\n", &whole).expect("imported");
    assert_eq!(table.doubts(&whole.declared), []);
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

/// The value of one cell in a column of type `kind`, as it is shown, or the error.
fn cell(text: &str, kind: &str, truncate: bool) -> Result<String, String> {
    let mut options = declared(&[&format!("x:{kind}")]);
    options.truncate = truncate;
    match import(format!("x\n\"{text}\"\n"), &options) {
        Ok(table) => Ok(shown(&table).remove(0)),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn the_ends_of_all_types_are_read_or_refused() {
    let read = [
        ("-9223372036854775808", "integer", "-9223372036854775808"),
        ("9223372036854775807", "integer", "9223372036854775807"),
        ("-0", "integer", "0"),
        ("9223372036854775807.0", "integer", "9223372036854775807"),
        ("-9223372036854775808.0", "integer", "-9223372036854775808"),
        ("999999999999999999", "decimal(0)", "999999999999999999"),
        ("-999999999999999999", "decimal(0)", "-999999999999999999"),
        (
            "0.999999999999999999",
            "decimal(18)",
            "0.999999999999999999",
        ),
        (
            "-0.000000000000000001",
            "decimal(18)",
            "-0.000000000000000001",
        ),
        ("-0.00", "decimal(2)", "0.00"),
        // A declared scale rounds, halves away from zero.
        ("-0.005", "decimal(2)", "-0.01"),
        ("0.004", "decimal(2)", "0.00"),
        ("9999999999999999.994", "decimal(2)", "9999999999999999.99"),
        ("1e-9999", "decimal(18)", "0.000000000000000000"),
        // The smallest floats of 64 and 32 bits.
        ("5e-324", "decimal(2)", "0.00"),
        ("-1e-45", "decimal(2)", "0.00"),
        ("0001-01-01", "date", "0001-01-01"),
        ("1969-12-31", "date", "1969-12-31"),
        ("1600-02-29", "date", "1600-02-29"),
        ("9999-12-31", "date", "9999-12-31"),
        ("0001-01-01 00:00:00", "timestamp", "0001-01-01 00:00:00"),
        ("1969-12-31T23:59:59Z", "timestamp", "1969-12-31 23:59:59"),
        ("9999-12-31 23:59:59", "timestamp", "9999-12-31 23:59:59"),
        (
            "1970-01-01 00:30:00+01:00",
            "timestamp",
            "1969-12-31 23:30:00",
        ),
    ];
    for (text, kind, expected) in read {
        assert_eq!(cell(text, kind, false).as_deref(), Ok(expected), "{text}");
    }
    let refused = [
        ("-9223372036854775809", "integer", "out of range"),
        ("9223372036854775808", "integer", "out of range"),
        ("18446744073709551615", "integer", "out of range"),
        ("9223372036854775808.0", "integer", "out of range"),
        ("1.5", "integer", "decimal places"),
        ("1000000000000000000", "decimal(0)", "out of range"),
        ("-1", "decimal(18)", "out of range"),
        // Rounding makes a digit more.
        ("9999999999999999.995", "decimal(2)", "out of range"),
        ("1e9999", "decimal(0)", "out of range"),
        // The largest float of 64 bits.
        ("1.7976931348623157e308", "decimal(0)", "out of range"),
        ("NaN", "decimal(2)", "\"NaN\""),
        ("-Infinity", "decimal(2)", "\"-Infinity\""),
        ("inf", "decimal(2)", "\"inf\""),
        ("0000-12-31", "date", "\"0000-12-31\""),
        ("10000-01-01", "date", "\"10000-01-01\""),
        ("1900-02-29", "date", "\"1900-02-29\""),
        (
            "9999-12-31 24:00:00",
            "timestamp",
            "\"9999-12-31 24:00:00\"",
        ),
        (
            "9999-12-31 23:59:59-01:00",
            "timestamp",
            "\"9999-12-31 23:59:59-01:00\"",
        ),
        (
            "0001-01-01 00:00:00+00:01",
            "timestamp",
            "\"0001-01-01 00:00:00+00:01\"",
        ),
        ("1969-12-31 23:59:59.9", "timestamp", "whole seconds"),
    ];
    for (text, kind, expected) in refused {
        let error = cell(text, kind, false).expect_err(text);
        assert!(
            error.contains(expected) && error.contains("row 0, counted from 0, column \"x\""),
            "{text}: {error}"
        );
    }
    // What is cut: fractions of seconds, towards the past, and the ends of texts.
    let cut = [
        ("1969-12-31 23:59:59.9", "timestamp", "1969-12-31 23:59:59"),
        (
            "0001-01-01 00:00:00.000001",
            "timestamp",
            "0001-01-01 00:00:00",
        ),
        (
            "9999-12-31 23:59:59.999999999",
            "timestamp",
            "9999-12-31 23:59:59",
        ),
        ("aé", "text(2)", "a"),
        ("é", "text(1)", ""),
    ];
    for (text, kind, expected) in cut {
        assert_eq!(cell(text, kind, true).as_deref(), Ok(expected), "{text}");
    }
    // Nothing else is.
    for (text, kind) in [
        ("9223372036854775808", "integer"),
        ("1.5", "integer"),
        ("10000-01-01", "date"),
        ("9999-12-31 23:59:59.9-01:00", "timestamp"),
    ] {
        assert!(cell(text, kind, true).is_err(), "{text}");
    }
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
        Err(ImportError::Csv {
            line: 2,
            fault: CsvFault::Fields {
                expected: 2,
                found: 1
            }
        })
    ));
    assert!(matches!(
        import("", &options()),
        Err(ImportError::Csv {
            line: 1,
            fault: CsvFault::NoHeader
        })
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

/// Rows as `|`-separated values, `-` where absent.
fn shown(table: &Table) -> Vec<String> {
    let columns = &table.schema().columns;
    let value = |row, column: usize| match table.value(row, column) {
        Value::Null => "-".to_owned(),
        value => value.show(columns[column].kind).to_string(),
    };
    let row = |row| {
        (0..columns.len())
            .map(|column| value(row, column))
            .collect::<Vec<_>>()
    };
    (0..table.rows()).map(|at| row(at).join("|")).collect()
}

/// Every file is read as DuckDB reads it with `header = true` and a comma, or refused.
#[test]
fn files_that_other_readers_repair_are_read_exactly_or_refused() {
    let read: [(&[u8], &[&str]); 19] = [
        // Blank lines are rows of one column and none of several.
        (b"a\n1\n\n3\n", &["1", "-", "3"]),
        (b"a\r\n1\r\n\r\n3\r\n\r\n", &["1", "-", "3", "-"]),
        (b"\n\na\n\"\"\nx", &["-", "x"]),
        (b"a,b\n1,2\n\n3,4\n\n\n", &["1|2", "3|4"]),
        (b"\n\na,b\n1,2\n", &["1|2"]),
        // A quote inside a field that does not begin with one is text.
        (b"a,b\n5\" pipe,2\nz\"\"z,3\n", &["5\" pipe|2", "z\"\"z|3"]),
        (
            b"a,b\n\"x\ny\",1\n\"z\r\nw,\"\"\",2\n",
            &["x\ny|1", "z\r\nw,\"|2"],
        ),
        (b"a,b\r1,2\r3,4\r", &["1|2", "3|4"]),
        (b"a,b\r\n1,2\n3,4\r\n", &["1|2", "3|4"]),
        (b"a,b\n1,x\0y\n", &["1|x\0y"]),
        (b"a,b\n1,x\n\xEF\xBB\xBF3,y\n", &["1|x", "\u{feff}3|y"]),
        (b"\xEF\xBB\xBF\"a\",b\n1,2\n", &["1|2"]),
        (b"a,b\n 1,x \n", &[" 1|x "]),
        (b"a\n1\n  \n3\n", &["1", "  ", "3"]),
        (b"a,b\n\"\",1\n,2\n", &["-|1", "-|2"]),
        (b"a,b\n\"1,000\",2", &["1,000|2"]),
        (b",a\n0,1\n", &["0|1"]),
        (b"a,b,\n1,2,\n", &["1|2|-"]),
        (b"a,b\n", &[]),
    ];
    for (csv, expected) in read {
        let table = import(csv, &options()).unwrap_or_else(|error| panic!("{csv:?}: {error}"));
        assert_eq!(
            shown(&table),
            expected,
            "{:?}",
            String::from_utf8_lossy(csv)
        );
    }
    let refused: [(&[u8], u64, CsvFault); 24] = [
        (
            b"id,name\n1,\"Ann\n2,Bob\n3,Cy\n",
            2,
            CsvFault::Unclosed { field: 2 },
        ),
        (b"a\n\"x\ny\"\n\"", 4, CsvFault::Unclosed { field: 1 }),
        (
            b"a,b\n\"x\"y,2\n",
            2,
            CsvFault::AfterQuote {
                field: 1,
                found: 'y',
            },
        ),
        (
            b"a,b\n\"x\ny\" ,2\n",
            3,
            CsvFault::AfterQuote {
                field: 1,
                found: ' ',
            },
        ),
        (
            b"a,b\n1,\"x \\\"q\\\" y\"\n",
            2,
            CsvFault::AfterQuote {
                field: 2,
                found: 'q',
            },
        ),
        (
            "a\n\"x\"é\n".as_bytes(),
            2,
            CsvFault::AfterQuote {
                field: 1,
                found: 'é',
            },
        ),
        (
            b"a,b\n1, \"x,y\"\n",
            2,
            CsvFault::SpaceBeforeQuote { field: 2 },
        ),
        (
            b"a,b\n\t\"x,y\"\n",
            2,
            CsvFault::SpaceBeforeQuote { field: 1 },
        ),
        (b"a,b\n1,x\ry\n", 2, CsvFault::LineEnd),
        (b"a\nx\ry\nz\n", 2, CsvFault::LineEnd),
        (b"a\r1\n2\r", 2, CsvFault::LineEnd),
        (b"a,b\r\r\n1,2\r\r\n", 2, CsvFault::LineEnd),
        (
            b"a,b\n1\n",
            2,
            CsvFault::Fields {
                expected: 2,
                found: 1,
            },
        ),
        (
            b"a,b\n\"x\ny\",2\n1,2,3\n",
            4,
            CsvFault::Fields {
                expected: 2,
                found: 3,
            },
        ),
        (
            b"a,b\n1,2,\n3,4,\n",
            2,
            CsvFault::Fields {
                expected: 2,
                found: 3,
            },
        ),
        (
            b"# a table\na,b\n1,2\n",
            2,
            CsvFault::Fields {
                expected: 1,
                found: 2,
            },
        ),
        (
            b"a,b\n1,2\n\x1A",
            3,
            CsvFault::Fields {
                expected: 2,
                found: 1,
            },
        ),
        (
            b"a,b\n1,2\n\"\"\n",
            3,
            CsvFault::Fields {
                expected: 2,
                found: 1,
            },
        ),
        (
            b"a;b\n1,5;2,5\n",
            1,
            CsvFault::Delimiter {
                name: "a;b".into(),
                separator: ';',
            },
        ),
        (
            b"\na\tb\n1\t2\n",
            2,
            CsvFault::Delimiter {
                name: "a\tb".into(),
                separator: '\t',
            },
        ),
        (
            b"sep=;\na;b\n",
            1,
            CsvFault::Delimiter {
                name: "sep=;".into(),
                separator: ';',
            },
        ),
        (b"a\0,\0b\0\n\0", 1, CsvFault::Zeros),
        (b"\xFF\xFEa\0", 1, CsvFault::Zeros),
        (b"caf\xE9\n1\n", 1, CsvFault::Utf8),
    ];
    for (csv, line, fault) in refused {
        match import(csv, &options()) {
            Err(ImportError::Csv {
                line: at,
                fault: found,
            }) => {
                assert_eq!(
                    (at, found),
                    (line, fault),
                    "{:?}",
                    String::from_utf8_lossy(csv)
                );
            }
            other => panic!("{:?}: {other:?}", String::from_utf8_lossy(csv)),
        }
    }
    let error = import("id,name\n1,\"Ann\n", &options()).expect_err("unclosed");
    assert_eq!(
        error.to_string(),
        "line 2: field 2: expected a closing quote, found the end of the file"
    );
}

#[test]
fn a_file_reads_alike_in_pieces_of_any_length() {
    struct Pieces<'a>(Cursor<&'a [u8]>, usize);
    impl std::io::Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let most = self.1.min(out.len());
            self.0.read(&mut out[..most])
        }
    }
    impl std::io::Seek for Pieces<'_> {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            self.0.seek(to)
        }
    }
    let csv = b"\xEF\xBB\xBFa,b\r\n\"x\"\"\r\ny\",1\r\n\r\n\xC3\xA9,2";
    for piece in 1..=csv.len() {
        let table = import_csv(Pieces(Cursor::new(csv), piece), &options(), &mut |_| {});
        let table = table.unwrap_or_else(|error| panic!("{piece}: {error}"));
        assert_eq!(shown(&table), ["x\"\r\ny|1", "é|2"]);
        assert_eq!(table.schema().columns[0].name, "a");
    }
}

#[test]
fn another_delimiter_may_be_chosen() {
    let mut semicolons = options();
    semicolons.delimiter = Some(b';');
    let table = import("a;b\n1,5;\"x;y\"\n", &semicolons).expect("imported");
    assert_eq!(shown(&table), ["1,5|x;y"]);
    semicolons.delimiter = Some(b',');
    let table = import("a;b\n1;2\n", &semicolons).expect("one column");
    assert_eq!(shown(&table), ["1;2"]);
}

#[test]
fn names_and_delimiters_are_read() {
    let names = |line: &str| line.parse::<ColumnNames>().map(|names| names.0);
    assert_eq!(names("a,\"x,y\", b").expect("names"), ["a", "x,y", " b"]);
    assert_eq!(names("a;b").expect("one name"), ["a;b"]);
    assert!(names("").is_err() && names("\"a").is_err());
    for (text, expected) in [
        ("tab", b'\t'),
        ("\t", b'\t'),
        (";", b';'),
        ("|", b'|'),
        (",", b','),
    ] {
        assert_eq!(
            text.parse::<Delimiter>().expect("a delimiter"),
            Delimiter(expected)
        );
    }
    for text in ["", "ab", "a", "1", "\"", "\n", "\0", "é"] {
        assert!(text.parse::<Delimiter>().is_err(), "{text:?}");
    }
}

#[test]
fn columns_without_a_name_get_one() {
    let names = |csv: &str| -> Vec<String> {
        let table = import(csv, &options()).expect("imported");
        let columns = table.schema().columns.iter();
        columns.map(|column| column.name.clone()).collect()
    };
    assert_eq!(names(",a\n0,1\n"), ["column0", "a"]);
    assert_eq!(
        names(",COLUMN0,\n0,1,2\n"),
        ["column0_", "COLUMN0", "column2"]
    );
    let mut chosen = options();
    chosen.select = Some(vec!["column2".into()]);
    let table = import(",a,\n0,1,2\n", &chosen).expect("imported");
    assert_eq!(shown(&table), ["2"]);
}

#[test]
fn odd_values_among_others_are_reported() {
    let text = |csv: &str| match import(csv, &options())
        .expect("imported")
        .doubts(&[])
        .as_slice()
    {
        [] => None,
        [
            Doubt::Text {
                looks,
                row,
                value,
                written,
                present,
                ..
            },
        ] => Some((*looks, *row, value.clone(), *written, *present)),
        other => panic!("{other:?}"),
    };
    let found = |looks, row, value: &str, written, present| {
        Some((looks, row, value.to_owned(), written, present))
    };
    assert_eq!(text("x\n1\nNA\n3\n"), found(Looks::Number, 1, "NA", 2, 3));
    assert_eq!(text("x\n 1\n 2\n"), found(Looks::Number, 0, " 1", 0, 2));
    assert_eq!(
        text("x\n1\n\"1,5\"\n"),
        found(Looks::Number, 1, "1,5", 1, 2)
    );
    assert_eq!(
        text("x\n$1.50\n$2\n\nn/a\n"),
        found(Looks::Number, 0, "$1.50", 0, 3)
    );
    assert_eq!(text("x\n7\n007\n"), found(Looks::Number, 1, "007", 1, 2));
    assert_eq!(
        text("x\ntrue\nfalse\nunknown\n"),
        found(Looks::Boolean, 2, "unknown", 2, 3)
    );
    assert_eq!(
        text("x\n2012-12-31\n\n0000-00-00\n"),
        found(Looks::Date, 2, "0000-00-00", 1, 2)
    );
    assert_eq!(
        text("x\n31.12.2012\n1.1.2013\n"),
        found(Looks::Date, 0, "31.12.2012", 0, 2)
    );
    assert_eq!(
        text("x\n2012-12-31 18:20\n2012-12-31 6:20 PM\n"),
        found(Looks::Timestamp, 1, "2012-12-31 6:20 PM", 1, 2)
    );
    for csv in [
        "x\nAnn\nBob\n5\n",
        "x\n007\n+49\n",
        "x\n\n\n",
        "x\n10.0.0.1\n",
        "x\n",
    ] {
        assert_eq!(text(csv), None, "{csv}");
    }
    let declared = declared(&["X:text"]);
    let table = import("x\n1\nNA\n3\n", &declared).expect("imported");
    assert_eq!(table.doubts(&declared.declared), []);
    let table = import("x\n1\nNA\n3\n", &options()).expect("imported");
    assert_eq!(
        table.doubts(&[])[0].to_string(),
        "column \"x\" is text, which has no order to ask for: row 1, counted from 0, has \"NA\", expected a number \
         such as -12.5, as 2 of 3 values are: declare the column as text if it is meant"
    );
}

#[test]
fn names_that_could_be_values_are_reported() {
    let doubts = |csv: &str| import(csv, &options()).expect("imported").doubts(&[]);
    assert_eq!(doubts("1,Ann\n2,Bob\n"), [Doubt::Header(vec!["1".into()])]);
    assert_eq!(doubts("1,2\n3,x\n"), [Doubt::Header(vec!["1".into()])]);
    assert_eq!(doubts("id,2012\n1,2\n"), []);
    assert_eq!(doubts("Ann,Bob\nCy,Dora\n"), []);
    assert_eq!(doubts("a, b\n1,2\n"), [Doubt::Space(" b".into())]);
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
