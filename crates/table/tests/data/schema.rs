//! Checks of schemas and of declared values.

use omr_errors::Mismatch;
use omr_table::{
    Column, ColumnType, Domain, MAX_COLUMNS, MAX_ROWS, Schema, SchemaError, Value, ValueError,
};
use proptest::prelude::*;

use crate::tables::{SALT, kinds, tables, values};

fn column(name: &str) -> Column {
    Column {
        name: name.into(),
        kind: ColumnType::Integer,
        nullable: false,
        domain: Some(Domain::new(-1, 1)),
    }
}

fn schema(columns: Vec<Column>) -> Schema {
    Schema {
        name: "test".into(),
        rows: 3,
        salt: SALT,
        columns,
    }
}

proptest! {
    #[test]
    fn json_gives_schemas_back(table in tables(0)) {
        let schema = table.schema();
        prop_assert_eq!(&Schema::from_json(schema.to_json().as_bytes()).expect("a schema"), schema);
    }

    #[test]
    fn values_are_read_as_shown((kind, value) in kinds().prop_flat_map(|kind| (Just(kind), values(kind, 0)))) {
        let shown = value.show(kind).to_string();
        prop_assert_eq!(Value::parse(&shown, kind).expect("a value"), value);
        prop_assert_eq!(kind.to_string().parse::<ColumnType>().expect("a type"), kind);
    }

    #[test]
    fn parsing_anything_does_not_panic(text in ".{0,40}", kind in kinds()) {
        if let Ok(value) = Value::parse(&text, kind) {
            value.check(kind).expect("a value of the type");
        }
    }
}

#[test]
fn values_look_as_in_sql() {
    let shown = |text: &str, kind: ColumnType| {
        Value::parse(text, kind).map(|value| value.show(kind).to_string())
    };
    let decimal = ColumnType::Decimal { scale: 2 };
    assert_eq!(shown("2001-01-10", ColumnType::Date).unwrap(), "2001-01-10");
    assert_eq!(
        shown("2001-01-10T18:20Z", ColumnType::Timestamp).unwrap(),
        "2001-01-10 18:20:00"
    );
    assert_eq!(shown("-.5", decimal).unwrap(), "-0.50");
    assert_eq!(shown("TRUE", ColumnType::Boolean).unwrap(), "true");
    assert_eq!(Value::Null.show(decimal).to_string(), "NULL");
    assert_eq!(
        format!("{:>6}|", Value::Integer(5).show(ColumnType::Integer)),
        "     5|"
    );
    let error = |text: &str, kind| Value::parse(text, kind).expect_err("no value");
    assert!(matches!(
        error("1.234", decimal),
        ValueError::Places(Mismatch { expected: 2, .. })
    ));
    assert!(matches!(error("1e18", decimal), ValueError::Range(_)));
    assert!(matches!(
        error("9223372036854775808", ColumnType::Integer),
        ValueError::Range(_)
    ));
    assert!(matches!(
        error("2001-02-29", ColumnType::Date),
        ValueError::Syntax(_)
    ));
    assert!(matches!(
        error("2001-01-10 18:20:00.5", ColumnType::Timestamp),
        ValueError::Fraction(_)
    ));
    assert!(
        error("yes", ColumnType::Boolean)
            .to_string()
            .contains("expected true or false, found \"yes\"")
    );
}

#[test]
fn types_are_read_in_any_case_and_nothing_else() {
    assert_eq!(
        "TEXT(32)".parse::<ColumnType>().unwrap(),
        ColumnType::Text { max_bytes: 32 }
    );
    for text in [
        "text",
        "text(0)",
        "text(65)",
        "decimal(19)",
        "date(1)",
        "date(x)",
        "decimal(-1)",
        "",
        "text(3",
    ] {
        assert!(text.parse::<ColumnType>().is_err(), "{text}");
    }
}

#[test]
fn hostile_schemas_are_refused() {
    let refused = |schema: Schema| {
        let json = schema.to_json();
        Schema::from_json(json.as_bytes()).expect_err("a schema refused")
    };
    assert!(Schema::from_json(schema(vec![column("a")]).to_json().as_bytes()).is_ok());
    for name in ["", "a\nb", &"x".repeat(129)] {
        assert!(matches!(
            refused(schema(vec![column(name)])),
            SchemaError::Name(_)
        ));
    }
    let twice = schema(vec![column("Ä"), column("ä")]);
    assert!(matches!(refused(twice), SchemaError::Duplicate(_)));
    assert!(matches!(refused(schema(vec![])), SchemaError::Columns(0)));
    let many = (0..=MAX_COLUMNS)
        .map(|place| column(&format!("c{place}")))
        .collect();
    assert!(matches!(refused(schema(many)), SchemaError::Columns(257)));
    let rows = Schema {
        rows: MAX_ROWS + 1,
        ..schema(vec![column("a")])
    };
    assert!(matches!(refused(rows), SchemaError::Rows(_)));
    let of = |kind, domain| {
        schema(vec![Column {
            kind,
            domain,
            ..column("a")
        }])
    };
    let domain = |min, max| Some(Domain::new(min, max));
    assert!(matches!(
        refused(of(ColumnType::Text { max_bytes: 65 }, None)),
        SchemaError::Type(_)
    ));
    assert!(matches!(
        refused(of(ColumnType::Decimal { scale: 19 }, domain(0, 1))),
        SchemaError::Type(_)
    ));
    for (kind, domain) in [
        (ColumnType::Integer, domain(1, 0)),
        (ColumnType::Integer, None),
        (ColumnType::Boolean, domain(0, 2)),
        (ColumnType::Date, domain(0, 1 << 40)),
        (ColumnType::Text { max_bytes: 5 }, domain(0, 0)),
    ] {
        assert!(
            matches!(refused(of(kind, domain)), SchemaError::Domain { .. }),
            "{kind}"
        );
    }
    assert!(matches!(
        Schema::from_json(b"{}"),
        Err(SchemaError::Json(_))
    ));
    assert!(matches!(
        Schema::from_json(&vec![b' '; (1 << 20) + 1]),
        Err(SchemaError::Long(_))
    ));
    let deep = "[".repeat(100_000);
    assert!(matches!(
        Schema::from_json(deep.as_bytes()),
        Err(SchemaError::Json(_))
    ));
}

#[test]
fn fingerprints_tell_schemas_apart() {
    let base = schema(vec![column("a"), column("b")]);
    let mut others = vec![base.clone(); 9];
    others[1].name = "other".into();
    others[2].rows = 4;
    others[3].salt[15] ^= 1;
    others[4].columns[0].name = "A".into();
    others[5].columns[0].nullable = true;
    others[6].columns[1].domain = Some(Domain::new(-1, 2));
    others[7].columns[1].kind = ColumnType::Decimal { scale: 0 };
    others[8].columns.swap(0, 1);
    let prints: std::collections::HashSet<_> = others.iter().map(Schema::fingerprint).collect();
    assert_eq!(prints.len(), others.len());
    assert_eq!(base.fingerprint(), base.clone().fingerprint());
    assert_eq!(base.column("B"), Some(1));
    assert_eq!(base.column("c"), None);
}
