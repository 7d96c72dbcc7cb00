//! The normal forms of conditions, what their shapes reveal, and what is refused with which words.

use omr_table::{
    Column, ColumnType, Domain, Filter, Leaf, Pattern, Query, QueryError, Schema, Segment, Shape,
    Test,
};
use proptest::prelude::*;

fn schema() -> Schema {
    let column = |name: &str, kind, domain: Option<(i64, i64)>| Column {
        name: name.into(),
        kind,
        nullable: name != "state",
        domain: domain.map(|(min, max)| Domain::new(min, max)),
    };
    let columns = vec![
        column("age", ColumnType::Integer, Some((0, 120))),
        column(
            "price",
            ColumnType::Decimal { scale: 2 },
            Some((-1000, 99_999)),
        ),
        column("born", ColumnType::Date, Some((0, 20_000))),
        column("seen", ColumnType::Timestamp, Some((0, 2_000_000_000))),
        column("flag", ColumnType::Boolean, Some((0, 1))),
        column("state", ColumnType::Text { max_bytes: 8 }, None),
        column("Full name", ColumnType::Text { max_bytes: 64 }, None),
        column("any", ColumnType::Integer, Some((i64::MIN, i64::MAX))),
    ];
    Schema {
        name: "people".into(),
        rows: 3000,
        salt: [1; 16],
        columns,
    }
}

fn parse(condition: &str) -> Filter {
    Filter::parse(condition, &schema()).unwrap_or_else(|error| panic!("{condition}: {error}"))
}

fn error(condition: &str) -> String {
    Filter::parse(condition, &schema()).unwrap_err().to_string()
}

fn leaf(condition: &str) -> Leaf {
    match parse(condition) {
        Filter::Leaf(leaf) => leaf,
        other => panic!("{condition}: {other:?}"),
    }
}

fn test(condition: &str) -> Test {
    let leaf = leaf(condition);
    assert!(!leaf.negated, "{condition}");
    leaf.test
}

fn at_most(high: i64) -> Test {
    Test::Range {
        low: None,
        high: Some(high),
    }
}

fn at_least(low: i64) -> Test {
    Test::Range {
        low: Some(low),
        high: None,
    }
}

fn between(low: i64, high: i64) -> Test {
    Test::Range {
        low: Some(low),
        high: Some(high),
    }
}

#[test]
fn comparisons_become_ordinals() {
    let ordinals = |values: &[i64]| Test::Ordinals(values.to_vec());
    for (condition, expected) in [
        ("age = 5", ordinals(&[5])),
        ("+5.0 = age", ordinals(&[5])),
        ("5e1 = age", ordinals(&[50])),
        ("age IN (7, 5, 7.0)", ordinals(&[5, 7, 121])),
        ("age < 5", at_most(4)),
        ("5 > age", at_most(4)),
        ("age <= 5", at_most(5)),
        ("NOT age > 5", at_most(5)),
        ("age > 5", at_least(6)),
        ("5 <= age", at_least(5)),
        ("NOT age < 5", at_least(5)),
        ("age < 2.5", at_most(2)),
        ("age <= 2.5", at_most(2)),
        ("age > 2.5", at_least(3)),
        ("age >= 2.5", at_least(3)),
        ("age BETWEEN 2.5 AND 3.5", between(3, 3)),
        ("age BETWEEN 9 AND 3", between(9, 3)),
        ("price = 12.5", ordinals(&[1250])),
        ("price = -0.01", ordinals(&[-1])),
        ("price < 1.234", at_most(123)),
        ("price > -1.234", at_least(-123)),
        ("price < -1.234", at_most(-124)),
        ("born = '1970-01-11'", ordinals(&[10])),
        ("born = DATE '1970-01-11'", ordinals(&[10])),
        ("born = TIMESTAMP '1970-01-11 00:00:00'", ordinals(&[10])),
        ("born < TIMESTAMP '1970-01-11 00:00:01'", at_most(10)),
        ("born < '1970-01-11T00:00'", at_most(9)),
        ("born >= '1970-01-11 00:00:00.5'", at_least(11)),
        ("seen = '1970-01-02 00:00:01'", ordinals(&[86_401])),
        ("seen >= DATE '1970-01-02'", at_least(86_400)),
        ("seen < TIMESTAMP '1970-01-01 00:00:01.5'", at_most(1)),
        ("flag", ordinals(&[1])),
        ("NOT flag", ordinals(&[0])),
        ("flag <> TRUE", ordinals(&[0])),
        ("flag IS FALSE", ordinals(&[0])),
        ("people.age = 5", ordinals(&[5])),
        ("PEOPLE.\"AGE\" = (5)", ordinals(&[5])),
    ] {
        assert_eq!(test(condition), expected, "{condition}");
    }
}

#[test]
fn what_no_row_can_pass_looks_like_any_other() {
    for (condition, expected) in [
        ("age = 2.5", Test::Ordinals(vec![121])),
        ("age = -3", Test::Ordinals(vec![121])),
        ("age = NULL", Test::Ordinals(vec![121])),
        ("age <> NULL", Test::Ordinals(vec![121])),
        (
            "age IN (5, 2.5, NULL, 1e30, 3)",
            Test::Ordinals(vec![3, 5, 121, 122, 123]),
        ),
        ("age NOT IN (5, NULL)", Test::Ordinals(vec![121, 122])),
        ("age < -1e400", at_most(-1)),
        ("age <= 1e400", at_most(120)),
        ("age > 1e400", at_least(121)),
        ("age BETWEEN 300 AND 500", between(121, 120)),
        ("age BETWEEN NULL AND 500", between(121, -1)),
    ] {
        assert_eq!(test(condition), expected, "{condition}");
    }
    let room = QueryError::NoRoom("any".into());
    assert_eq!(Filter::parse("any = 2.5", &schema()), Err(room));
    assert_eq!(
        test("any = 9223372036854775807"),
        Test::Ordinals(vec![i64::MAX])
    );
    assert_eq!(test("any < -9223372036854775807"), at_most(i64::MIN));
}

#[test]
fn texts_and_patterns() {
    let texts = |values: &[&str]| Test::Texts(values.iter().map(|&value| value.into()).collect());
    assert_eq!(test("state = 'O''x'"), texts(&["O'x"]));
    assert_eq!(test("state IN ('b', 'a')"), texts(&["b", "a"]));
    let Test::Texts(again) = test("state IN ('b', 'a', 'b')") else {
        panic!()
    };
    assert_eq!(
        (&again[..2], again[2].len()),
        (&["b".to_owned(), "a".to_owned()][..], 65)
    );
    assert_eq!(test("state LIKE 'abc'"), texts(&["abc"]));
    assert_eq!(test("state LIKE '!%a!_' ESCAPE '!'"), texts(&["%a_"]));
    let segment = |text: &str| {
        Segment(
            text.chars()
                .map(|c| Some(c).filter(|c| *c != '?'))
                .collect(),
        )
    };
    let like = |exact, prefix, infix, suffix, fold| {
        let (prefix, infix, suffix) = (segment(prefix), segment(infix), segment(suffix));
        Test::Like(Pattern {
            exact,
            prefix,
            infix,
            suffix,
            fold,
        })
    };
    for (pattern, expected) in [
        ("a_c", like(true, "a?c", "", "", false)),
        ("ab%", like(false, "ab", "", "", false)),
        ("%ab", like(false, "", "", "ab", false)),
        ("a%b", like(false, "a", "", "b", false)),
        ("a%%b", like(false, "a", "", "b", false)),
        ("%bc%", like(false, "", "bc", "", false)),
        ("a%b%c", like(false, "a", "b", "c", false)),
        ("a%_b_%c", like(false, "a?", "b", "?c", false)),
        ("a%__%c", like(false, "a??", "", "c", false)),
        ("%_%b%_%", like(false, "?", "b", "?", false)),
        ("%", like(false, "", "", "", false)),
    ] {
        assert_eq!(
            test(&format!("state LIKE '{pattern}'")),
            expected,
            "{pattern}"
        );
    }
    assert_eq!(test("state ILIKE 'Ab'"), like(true, "Ab", "", "", true));
}

#[test]
fn trees_are_flat_and_negations_at_the_leaves() {
    let rendered = |condition: &str| parse(condition).shape().render(&schema());
    for (condition, expected) in [
        (
            "state = 'x' AND (age >= 1 AND flag) AND age < 2",
            "state = ? AND age >= ? AND flag = ? AND age <= ?",
        ),
        ("NOT (state = 'x' OR age = 1)", "state <> ? AND age <> ?"),
        (
            "NOT (state = 'x' AND NOT (age = 1 OR flag))",
            "state <> ? OR age = ? OR flag = ?",
        ),
        (
            "age = 1 OR age = 2 AND flag",
            "age = ? OR (age = ? AND flag = ?)",
        ),
        (
            "NOT age = 1 AND NOT age BETWEEN 1 AND 2",
            "age <> ? AND (age NOT BETWEEN ? AND ?)",
        ),
        ("NOT age IS NULL", "age IS NOT NULL"),
        ("flag IS NOT TRUE", "flag = ? OR flag IS NULL"),
        (
            "(age = 1 OR flag) IS NOT TRUE",
            "(age <> ? OR age IS NULL) AND (flag = ? OR flag IS NULL)",
        ),
        ("(state = 'x') IS NOT FALSE", "state = ?"),
        ("age NOT IN (1, 2)", "age NOT IN (?, ?)"),
        (
            "\"Full name\" NOT LIKE '%b_c%_'",
            "\"Full name\" NOT LIKE '%?_?%_'",
        ),
        ("\"full name\" ILIKE 'abc%'", "\"Full name\" ILIKE '???%'"),
    ] {
        assert_eq!(rendered(condition), expected, "{condition}");
    }
}

#[test]
fn statements() {
    let parse =
        |sql: &str| Query::parse(sql, &schema()).map(|(query, limit)| (query.select, limit));
    let all: Vec<usize> = (0..8).collect();
    assert_eq!(parse("SELECT * FROM people WHERE flag"), Ok((all, None)));
    assert_eq!(
        parse("select \"Full name\", AGE from \"people\" where flag limit 20;"),
        Ok((vec![6, 0], Some(20)))
    );
    assert_eq!(
        parse("SELECT people.age FROM People WHERE flag LIMIT ALL -- why not"),
        Ok((vec![0], None))
    );
    let column = "age".to_owned();
    assert_eq!(
        parse("SELECT age, age FROM people WHERE flag"),
        Err(QueryError::SelectedTwice(column))
    );
    let (query, _) = Query::parse(
        "SELECT age, state FROM people WHERE age BETWEEN 1 AND 2 OR flag",
        &schema(),
    )
    .unwrap();
    let rendered = "SELECT age, state FROM people WHERE (age BETWEEN ? AND ?) OR flag = ?";
    assert_eq!(query.shape().render(&schema()), rendered);
}

#[test]
fn other_statements_are_refused_by_the_piece() {
    for (sql, piece) in [
        ("SELECT age FROM people", "a WHERE is expected"),
        (
            "SELECT age FROM peeple WHERE flag",
            "there is no table `peeple`: this is `people`",
        ),
        ("SELECT a FROM people WHERE flag", "there is no column `a`"),
        (
            "SELECT stat FROM people WHERE flag",
            "did you mean `state`?",
        ),
        ("SELECT age AS a FROM people WHERE flag", "`age AS a`"),
        ("SELECT COUNT(*) FROM people WHERE flag", "`COUNT(*)`"),
        ("SELECT DISTINCT age FROM people WHERE flag", "`DISTINCT`"),
        ("SELECT age FROM people p WHERE flag", "`people p`"),
        (
            "SELECT age FROM people JOIN b ON a = b WHERE flag",
            "`JOIN b ON a = b`",
        ),
        ("SELECT age FROM people, b WHERE flag", "`FROM people, b`"),
        ("SELECT age FROM (SELECT 1) WHERE flag", "`(SELECT 1)`"),
        (
            "SELECT age FROM people WHERE flag GROUP BY age",
            "`GROUP BY age`",
        ),
        (
            "SELECT age FROM people WHERE flag HAVING age = 1",
            "`HAVING age = 1`",
        ),
        (
            "SELECT age FROM people WHERE flag ORDER BY age",
            "`ORDER BY age`",
        ),
        (
            "SELECT age FROM people WHERE flag LIMIT 5 OFFSET 2",
            "`LIMIT 5 OFFSET 2`",
        ),
        ("SELECT age FROM people WHERE flag LIMIT age", "`LIMIT age`"),
        ("SELECT age FROM people WHERE flag FOR UPDATE", "FOR UPDATE"),
        ("SELECT age FROM people WHERE flag UNION SELECT 1", "UNION"),
        ("SELECT age INTO b FROM people WHERE flag", "INTO b"),
        ("SELECT TOP 5 age FROM people WHERE flag", "TOP 5"),
        (
            "WITH a AS (SELECT 1) SELECT age FROM people WHERE flag",
            "`WITH a AS (SELECT 1)`",
        ),
        (
            "SELECT age FROM people WHERE flag; DROP TABLE people",
            "`DROP`",
        ),
        ("DELETE FROM people", "`DELETE FROM people`"),
        ("SELECT * EXCLUDE age FROM people WHERE flag", "EXCLUDE"),
    ] {
        let error = Query::parse(sql, &schema()).unwrap_err().to_string();
        assert!(error.contains(piece), "{sql}: {error}");
    }
}

#[test]
fn other_conditions_are_refused_by_the_piece() {
    for (condition, piece) in [
        (
            "age = price",
            "`age = price` is not supported: compare a column with a constant",
        ),
        ("1 = 1", "`1 = 1`"),
        ("TRUE", "`true`"),
        ("age", "only a column of booleans"),
        ("age + 1 = 2", "`age + 1 = 2`"),
        ("age = 1 + 1", "`1 + 1`"),
        ("lower(state) = 'a'", "`lower(state) = 'a'`"),
        ("age IN (SELECT 1)", "`age IN (SELECT 1)`"),
        ("EXISTS (SELECT 1)", "`EXISTS (SELECT 1)`"),
        ("state < 'a'", "they have no order"),
        ("state BETWEEN 'a' AND 'b'", "they have no order"),
        ("state LIKE '%a%b%'", "LIKE '%a%b%' has more than one part"),
        ("state LIKE 'a!' ESCAPE '!'", "ends in its escape character"),
        ("state LIKE 'a' ESCAPE 'ab'", "ESCAPE takes one character"),
        (
            "state LIKE 'a_345678_'",
            "a pattern of 9 characters: the column holds 8",
        ),
        ("age LIKE '1%'", "LIKE is for columns of text"),
        (
            "age = 'x'",
            "`'x'` cannot be compared with column `age`: a number expected",
        ),
        (
            "state = 1",
            "`1` cannot be compared with column `state`: a 'string' expected",
        ),
        ("flag = 1", "TRUE or FALSE expected"),
        ("born = 5", "`5` cannot be compared with column `born`"),
        ("born = '2001-02-29'", "`2001-02-29` is no date"),
        ("born = '2001-1-1'", "`2001-1-1` is no date"),
        ("born = DATE '2001-01-01 10:00:00'", "is no date"),
        ("seen = '2001-01-01 10:00:60'", "is no date or moment"),
        ("seen = '2001-01-01 10:00:00+01:00'", "without a time zone"),
        (
            "seen = TIMESTAMP WITH TIME ZONE '2001-01-01 10:00:00'",
            "is not supported",
        ),
        ("age = CAST('1' AS INT)", "`CAST('1' AS INT)`"),
        ("age = 1 COLLATE a", "COLLATE"),
        ("age = 1::int", "`::`"),
        ("state ~ 'a'", "`~`"),
        ("state || 'a' = 'b'", "`||`"),
        ("(age = 1) IS NULL", "a column IS NULL"),
        ("age IS DISTINCT FROM 1", "`age IS DISTINCT FROM 1`"),
        ("nome = 1", "there is no column `nome`"),
        ("other.age = 1", "there is no table `other`"),
        (
            "age = 1 flag",
            "`flag` is not supported: the query should end before it",
        ),
        ("age = = 1", "this is no SQL"),
        ("state = 'a", "this is no SQL"),
        ("", "this is no SQL"),
    ] {
        let error = error(condition);
        assert!(error.contains(piece), "{condition}: {error}");
    }
}

fn shape(condition: &str) -> Shape {
    Query::new(vec![0], parse(condition)).shape()
}

proptest! {
    /// Constants within the domain, at its ends, outside it or between two ordinals: the server sees no difference.
    #[test]
    fn shapes_hide_numbers(a in number(), b in number(), c in number(), d in number()) {
        let written = |x: &str, y: &str| format!(
            "(age = {x} OR age <> {y} OR age IN ({x}, {y}, 1e9) OR price < {x} OR {y} <= price OR age NOT BETWEEN {x} AND {y}) \
             AND NOT (price > {y} AND price NOT IN ({y}) OR age BETWEEN {x} AND {y}) AND (age > {x}) IS NOT TRUE"
        );
        prop_assert_eq!(shape(&written(&a, &b)), shape(&written(&c, &d)));
        prop_assert_eq!(shape("age < 5"), shape("age <= 700"));
    }

    /// Shapes do not depend on the texts that values are compared with.
    #[test]
    fn shapes_hide_texts(a in "[a-z]{0,12}", b in "[a-z]{0,12}") {
        let written = |x: &str| format!(
            "state = '{x}' OR state <> '{x}' OR state LIKE '{x}' OR state IN ('{x}', 'A') OR state IN ('{x}', 'A', NULL)"
        );
        prop_assert_eq!(shape(&written(&a)), shape(&written(&b)));
    }
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (-200_i64..200).prop_map(|value| value.to_string()),
        (-20_000_i64..20_000).prop_map(|value| format!("{value}.123")),
        (10_u32..60).prop_map(|power| format!("3e{power}")),
        (10_u32..60).prop_map(|power| format!("-3e{power}")),
    ]
}
