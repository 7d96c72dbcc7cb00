//! Questions about tables: written by people, and random ones.

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

/// Conditions drawn for a question, at most.
const DRAWS: usize = 100;

/// Names and types of a table's columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typed {
    /// The table.
    pub name: String,
    /// Name and type.
    pub columns: Vec<(String, String)>,
}

/// A question and, once it was asked of a database, what that says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The table.
    pub table: String,
    /// The query.
    pub sql: String,
    /// Whether it is a random one.
    pub random: bool,
    /// Numbers of the rows, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<u64>,
    /// For each of them the columns asked for, as text; `None`: NULL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Vec<Option<String>>>,
}

/// The document: tables and questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Who answered; empty before.
    #[serde(default)]
    pub source: String,
    /// What tables there are.
    pub tables: Vec<Typed>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// Which random questions.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    /// How many, over all tables in turn.
    pub count: usize,
    /// Most rows that one may have; the least is 1.
    pub most: usize,
    /// Everything random follows from it.
    pub seed: u64,
}

/// The questions of `asked`, one a line, and random ones that one of `params` can answer.
///
/// Lines that begin with `--` and empty ones are left out, and so are questions about tables that are not there.
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

/// All columns, or some of them.
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

/// Moments in strings alone, `'2012-01-01T12:30:00'`, are dates to other databases where the column is of dates.
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
    let planned = |params: &&Params| Plan::new(params, schema, &shape, bound).is_ok();
    params.iter().any(planned)
}
