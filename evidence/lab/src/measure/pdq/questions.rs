//! Questions about tables: those in a file, and random ones.

use super::PdqBenchError;
use super::tables::{Drawn, typed};
use chacha20::ChaCha20Rng;
use omr_pdq::{Params, Plan};
use omr_protocol::Mismatch;
use omr_table::testing::selective_condition;
use omr_table::{Filter, Query, Table};
use rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The largest number of conditions drawn for a question.
const DRAWS: usize = 100;

/// The names and types of a table's columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typed {
    /// The name of the table.
    pub name: String,
    /// The name and type of each column.
    pub columns: Vec<(String, String)>,
}

/// A question and, once a database has answered it, the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The name of the table.
    pub table: String,
    /// The query.
    pub sql: String,
    /// True if the question is a random one.
    pub random: bool,
    /// The numbers of the rows, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<u64>,
    /// The requested columns of each row as text; `None` is NULL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Vec<Option<String>>>,
}

/// The document: tables and questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The database that answered; empty before.
    #[serde(default)]
    pub source: String,
    /// The tables.
    pub tables: Vec<Typed>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// The number and size of random questions.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    /// The number of questions, over all tables in turn.
    pub count: usize,
    /// The largest number of rows of a question; the least is 1.
    pub most: usize,
    /// The seed of all randomness.
    pub seed: u64,
}

/// Returns the questions of `asked`, one in each line, and random questions that one of `params` can answer.
///
/// Empty lines and lines that begin with `--` are skipped, and so are questions about missing tables.
///
/// Errors: `Sql`, `TooFew`.
pub fn questions(
    tables: &BTreeMap<String, Table>,
    asked: &str,
    random: Random,
    params: &[&Params],
) -> Result<Answered, PdqBenchError> {
    let mut questions = Vec::new();
    for sql in asked.lines().map(str::trim) {
        let Some(table) = table_of(sql).and_then(|name| tables.get(name)) else {
            continue;
        };
        parse(table, sql)?;
        questions.push(question(table, sql.to_owned(), false));
    }
    questions.extend(random_questions(tables, random, params)?);
    Ok(Answered {
        source: String::new(),
        tables: tables.values().map(typed).collect(),
        questions,
    })
}

fn question(table: &Table, sql: String, random: bool) -> Question {
    Question {
        table: table.schema().name.clone(),
        sql,
        random,
        rows: Vec::new(),
        values: Vec::new(),
    }
}

fn table_of(sql: &str) -> Option<&str> {
    if sql.starts_with("--") {
        None
    } else {
        sql.split_once(" FROM ")?.1.split_whitespace().next()
    }
}

pub(super) fn parse(table: &Table, sql: &str) -> Result<Query, PdqBenchError> {
    let parsed = Query::parse(sql, table.schema());
    let (query, _) = parsed.map_err(|source| PdqBenchError::Sql {
        sql: sql.to_owned(),
        source,
    })?;
    Ok(query)
}

fn random_questions(
    tables: &BTreeMap<String, Table>,
    random: Random,
    params: &[&Params],
) -> Result<Vec<Question>, PdqBenchError> {
    let mut rng = ChaCha20Rng::seed_from_u64(random.seed);
    let mut found = Vec::new();
    for table in tables.values().cycle().take(DRAWS * random.count) {
        if found.len() == random.count {
            break;
        }
        let rows = 1..=random.most;
        let drawn = Drawn(table);
        let condition = selective_condition(&mut rng, table.schema(), &drawn, rows);
        let fits = |sql: &str| is_typed(sql) && is_planned(table, sql, params, random.most);
        let Some(condition) = condition.filter(|condition| fits(&condition.sql)) else {
            continue;
        };
        let select = select(&mut rng, table);
        let name = &table.schema().name;
        let sql = format!("SELECT {select} FROM {name} WHERE {}", condition.sql);
        found.push(question(table, sql, true));
    }
    if found.len() == random.count {
        Ok(found)
    } else {
        Err(PdqBenchError::TooFew(Mismatch::new(
            random.count,
            found.len(),
        )))
    }
}

/// Returns all columns, or some of them.
fn select(rng: &mut ChaCha20Rng, table: &Table) -> String {
    let columns = table.schema().columns.iter();
    let some = columns.filter(|_| rng.next_u32().is_multiple_of(2));
    let names: Vec<&str> = some.map(|column| column.name.as_str()).collect();
    if names.is_empty() {
        "*".to_owned()
    } else {
        names.join(", ")
    }
}

/// Returns whether moments have a type: other databases take strings such as `'2012-01-01T12:30:00'` as dates if the
/// column is one of dates.
fn is_typed(sql: &str) -> bool {
    let moment = |text: &str| {
        let bytes = text.as_bytes();
        bytes.len() > 10 && bytes[4] == b'-' && bytes[7] == b'-' && bytes[10] == b'T'
    };
    !sql.split('\'').any(moment)
}

fn is_planned(table: &Table, condition: &str, params: &[&Params], bound: usize) -> bool {
    let schema = table.schema();
    let Ok(filter) = Filter::parse(condition, schema) else {
        return false;
    };
    let select = (0..schema.columns.len()).collect();
    let shape = Query::new(select, filter).shape();
    params
        .iter()
        .any(|params| Plan::new(params, schema, &shape, bound).is_ok())
}
