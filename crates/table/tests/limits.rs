//! No text makes the parser panic, run long or deep.

use std::time::{Duration, Instant};

use chacha20::ChaCha8Rng;
use omr_errors::Mismatch;
use omr_table::testing::{random_query, random_table};
use omr_table::{Filter, MAX_CONSTANTS, MAX_LEAVES, Query, QueryError, Schema, ShapeError};
use proptest::prelude::*;
use rand_core::SeedableRng;

fn schema() -> Schema {
    random_table(&mut ChaCha8Rng::seed_from_u64(1), 50)
        .schema()
        .clone()
}

/// Far less than threads have by default.
const STACK: usize = 128 << 10;

/// Parses as a statement and as a condition on a small stack; fails if it takes long.
fn parse_both(sql: String) -> (Option<QueryError>, Option<QueryError>) {
    let work = move || {
        let (schema, start) = (schema(), Instant::now());
        let errors = (
            Query::parse(&sql, &schema).err(),
            Filter::parse(&sql, &schema).err(),
        );
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}: {}",
            start.elapsed(),
            &sql[..80]
        );
        errors
    };
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap()
}

#[test]
fn hostile_texts_are_refused_soon() {
    let pieces = [
        "(",
        ")",
        "NOT ",
        "- ",
        "+ ",
        "id=",
        "id AND ",
        "sure AND ",
        "sure OR ",
        "id IN (",
        "id BETWEEN ",
        "(SELECT ",
        "SELECT * FROM (",
        "CASE WHEN ",
        "f(",
        "a.",
        "1-",
        ",",
        "id IS TRUE ",
        "DATE ",
        "CAST(",
        "NOT(",
        "id NOT IN (1)=",
        "EXISTS(",
        "((sure) AND ",
        "id LIKE ",
        "'",
        "\"",
        "--",
        "/*",
        "a,",
        "id=id(",
        "INTERVAL ",
        "x'",
        "(1,",
        "WITH a AS (",
        "* ",
        "ROW(",
    ];
    let fronts = [
        "",
        "SELECT * FROM people WHERE ",
        "SELECT ",
        "SELECT * FROM ",
        "SELECT * FROM people WHERE id IN (",
    ];
    for piece in pieces {
        for count in [8, 31, 32, 200, 5000] {
            for front in fronts {
                let text = format!("{front}{}", piece.repeat(count));
                let (statement, condition) = parse_both(text);
                assert!(statement.is_some() && condition.is_some());
            }
        }
    }
}

#[test]
fn nesting_and_sizes_are_bounded() {
    let (schema, parse) = (schema(), |sql: &str| Filter::parse(sql, &schema()));
    let nested = |levels| format!("{}id = 1{}", "(".repeat(levels), ")".repeat(levels));
    assert!(parse(&nested(32)).is_ok());
    assert_eq!(parse(&nested(33)), Err(QueryError::TooDeep(32)));
    // Alternating, so that nothing is laid flat.
    let ladder = |levels: usize| {
        let steps = (0..levels).map(|level| {
            if level % 2 == 0 {
                "sure AND ("
            } else {
                "sure OR ("
            }
        });
        format!("{}sure{}", steps.collect::<String>(), ")".repeat(levels))
    };
    assert!(parse(&ladder(32)).is_ok());
    let leaves = |count: usize| {
        vec!["born BETWEEN DATE '2001-01-10' AND DATE '2002-01-10'"; count].join(" AND NOT ")
    };
    assert_eq!(
        parse(&leaves(MAX_LEAVES)).unwrap().leaves().len(),
        MAX_LEAVES
    );
    let most = MAX_LEAVES;
    assert_eq!(
        parse(&leaves(most + 1)),
        Err(ShapeError::TooManyLeaves(most).into())
    );
    assert_eq!(parse(&leaves(most * 8)), Err(QueryError::TooManyWords(768)));
    let list = |count: usize| {
        let constants: Vec<String> = (0..count).map(|constant| format!("-{constant}")).collect();
        format!("id IN ({})", constants.join(","))
    };
    assert!(parse(&list(MAX_CONSTANTS)).is_ok());
    let refused = ShapeError::Constants(Mismatch::new(MAX_CONSTANTS, MAX_CONSTANTS + 1));
    assert_eq!(parse(&list(MAX_CONSTANTS + 1)), Err(refused.into()));
    // The largest query that there is: all its leaves are lists of the longest kind.
    let whole = vec![list(MAX_CONSTANTS); 40].join(" OR ");
    assert!(whole.len() < 64 << 10);
    assert_eq!(parse(&whole).unwrap().leaves().len(), 40);
    let long = format!("id = 1 {}", " ".repeat(64 << 10));
    assert_eq!(
        Filter::parse(&long, &schema),
        Err(QueryError::TooLong(Mismatch::new(64 << 10, long.len())))
    );
}

/// A query with some characters replaced, and pieces of it moved.
fn mutated(seed: u64, edits: &[(usize, char)], cut: (usize, usize, usize)) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let table = random_table(&mut rng, 20);
    let schema = table.schema().clone();
    let mut text: Vec<char> = random_query(&mut rng, &schema, &table).chars().collect();
    for &(place, character) in edits {
        let length = text.len();
        text[place % length] = character;
    }
    let (a, b) = (cut.0 % text.len(), cut.1 % text.len());
    let piece: Vec<char> = text[a.min(b)..a.max(b)].to_vec();
    let place = cut.2 % text.len();
    text.splice(place..place, piece);
    text.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_texts_do_no_harm(text in "\\PC{0,200}") {
        let schema = schema();
        let _ = Query::parse(&text, &schema);
        let _ = Filter::parse(&text, &schema);
        let _ = Filter::parse(&format!("name LIKE '{text}'"), &schema);
        let _ = Filter::parse(&format!("born = '{text}'"), &schema);
        let _ = Filter::parse(&format!("price < {text}"), &schema);
    }

    #[test]
    fn random_words_do_no_harm(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        let (schema, text) = (schema(), words.join(" "));
        let _ = Filter::parse(&text, &schema);
        let _ = Query::parse(&format!("SELECT {text}"), &schema);
        let _ = Query::parse(&format!("SELECT * FROM people WHERE {text}"), &schema);
    }

    #[test]
    fn mutated_queries_do_no_harm(
        seed in 0_u64..1000,
        edits in prop::collection::vec((any::<usize>(), prop::sample::select(LETTERS)), 0..6),
        cut in any::<(usize, usize, usize)>(),
    ) {
        let (schema, text) = (schema(), mutated(seed, &edits, cut));
        if let Ok((query, _)) = Query::parse(&text, &schema) {
            prop_assert_eq!(query.shape().check(&schema), Ok(()));
        }
    }

    #[test]
    fn extreme_numbers_do_no_harm(digits in "-?[0-9]{1,60}(\\.[0-9]{0,60})?(e-?[0-9]{1,30})?") {
        let schema = schema();
        for column in ["id", "price", "whole", "small"] {
            for operator in ["=", "<", "<=", ">", ">=", "<>", "BETWEEN 5 AND", "NOT BETWEEN 5 AND"] {
                let parsed = Filter::parse(&format!("{column} {operator} {digits}"), &schema);
                prop_assert!(parsed.is_ok(), "{:?}", parsed);
            }
        }
    }
}

const LETTERS: &[char] = &[
    '\'', '"', '(', ')', '%', '_', ' ', ',', '1', '-', '.', 'é', '=', '<', '>', 'e', ';', '\\',
    '!', 'N', '\0',
];

const WORDS: &[&str] = &[
    "id",
    "sure",
    "name",
    "born",
    "price",
    "=",
    "<",
    "<=",
    ">",
    ">=",
    "<>",
    "AND",
    "OR",
    "NOT",
    "(",
    ")",
    "IN",
    "BETWEEN",
    "LIKE",
    "ILIKE",
    "ESCAPE",
    "IS",
    "NULL",
    "TRUE",
    "FALSE",
    "1",
    "2.5",
    "'x'",
    "'%a%'",
    "DATE",
    "'2001-01-10'",
    "TIMESTAMP",
    "-",
    "+",
    "*",
    ",",
    ".",
    "FROM",
    "people",
    "WHERE",
    "LIMIT",
    "SELECT",
    "JOIN",
    "ON",
    "GROUP",
    "BY",
    "ORDER",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "CAST",
    "AS",
    "INTERVAL",
    "EXISTS",
    "ALL",
    "ANY",
    "DISTINCT",
    "UNION",
    "WITH",
    "VALUES",
    "ARRAY",
    "ROW",
    "COLLATE",
    "UNKNOWN",
    "SYMMETRIC",
    ";",
];
