//! Private queries on a real table, compared with DuckDB's answers; small insecure rings.
//!
//! `airports.csv` is the one of PyPI's `vega_datasets` 0.9.0, byte for byte: a subset of ourairports.com's, in the public
//! domain. `answers.json` is what `reference/pdq_oracle.py` made of
//! `omr-lab bench pdq questions evidence/e2e/tests/pdq --asked reference/pdq_questions.sql --random 30 --seed 1`.

use omr_lab::measure::Start;
use omr_lab::measure::pdq::{
    Answered, CompressBench, Outcome, Params, QueryBench, Quiet, Verdict, ask, keys, read_tables,
};
use std::path::PathBuf;
use std::sync::Arc;

const SETS: [&str; 2] = ["insecure-tiny-pdq-v1", "insecure-tiny-pdq-deep-v1"];
const BOUND: usize = 64;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pdq")
}

fn answered() -> Answered {
    let file = std::fs::read(folder().join("answers.json")).unwrap();
    serde_json::from_slice(&file).unwrap()
}

fn outcomes(asked: &Answered) -> Vec<Outcome> {
    let sets: Vec<Arc<Params>> = SETS.map(|name| Params::named(name).unwrap()).into();
    let mut outcomes = Vec::new();
    let all = 0..asked.questions.len();
    let tables = read_tables(&folder()).unwrap();
    ask(&tables, asked, all, BOUND, &sets, &mut |outcome| {
        outcomes.push(outcome.clone());
    })
    .unwrap();
    outcomes
}

#[test]
fn answers_are_those_of_duckdb() {
    let asked = answered();
    let outcomes = outcomes(&asked);
    let random = asked.questions.iter().filter(|question| question.random);
    assert!(random.count() >= 30 && asked.questions.len() >= 43);
    for (outcome, question) in outcomes.iter().zip(&asked.questions) {
        assert_eq!(outcome.verdict, Verdict::Same, "{}", outcome.sql);
        assert_eq!(outcome.found, question.rows.len());
    }
    // The questions have results.
    assert!(outcomes.iter().map(|outcome| outcome.found).sum::<usize>() > 150);
}

/// The comparison detects differences.
#[test]
fn other_rows_or_values_differ() {
    let mut asked = answered();
    asked.questions.retain(|question| question.rows.len() > 1);
    asked.questions.truncate(3);
    asked.questions[0].rows[1] += 1;
    asked.questions[1].values[1][0] = Some("elsewhere".to_owned());
    asked.questions[2].rows.pop();
    asked.questions[2].values.pop();
    let outcomes = outcomes(&asked);
    assert_eq!(outcomes.len(), 3);
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.verdict == Verdict::Different)
    );
}

#[test]
fn compression_alone_gives_the_marked_rows() {
    let params = Params::named(SETS[0]).unwrap();
    let (secret, key) = keys(&params, 1);
    for (rows, bound) in [(1000, 1), (1024, 8), (5000, 32), (5000, 200)] {
        let bench = CompressBench {
            params: params.clone(),
            rows,
            bound,
            seed: 2,
        };
        let figures = bench.run(&secret, &key).unwrap();
        assert!(figures.exact, "{figures:?}");
    }
    let too_many = CompressBench {
        params,
        rows: 1 << 24,
        bound: 1,
        seed: 2,
    };
    assert!(too_many.run(&secret, &key).is_err());
}

#[test]
fn a_whole_query_gives_its_rows() {
    for on_text in [false, true] {
        let bench = QueryBench {
            params: SETS[0].to_owned(),
            rows: 3000,
            bound: 16,
            on_text,
            start: Start {
                threads: None,
                seed: 3,
            },
        };
        let figures = bench.run(&Quiet).unwrap();
        assert!(figures.exact && figures.matching == 1, "{figures:?}");
        let stages: f64 = figures.stages.values().sum();
        assert!(stages > 0.0 && stages <= figures.answer_s);
    }
}
