//! A comparison of answers computed under encryption with another database's answers.

use super::questions::{Question, parse};
use super::{Answered, PdqBenchError, typed};
use crate::measure::digest::timed;
use chacha20::ChaCha20Rng;
use omr_pdq::{
    Answer, Client, EvaluationKey, Params, Plan, PlanError, Quiet, Rows, SecretKey, Server,
};
use omr_protocol::Mismatch;
use omr_table::{Query, Table};
use rand_core::SeedableRng;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The result of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The rows and values are equal.
    Same,
    /// The rows or values differ.
    Different,
    /// No set of parameters is deep enough.
    Deep,
}

/// A question with its answer.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The number of the question in the document.
    pub number: usize,
    /// The query.
    pub sql: String,
    /// True if the question is a random one.
    pub random: bool,
    /// The result of the comparison.
    pub verdict: Verdict,
    /// The parameters of the answer.
    pub params: &'static str,
    /// The number of rows from the other database.
    pub expected: usize,
    /// The number of decoded rows.
    pub found: usize,
    /// Seconds of encrypting the constants.
    pub encrypt_s: f64,
    /// Seconds of the server.
    pub answer_s: f64,
    /// Seconds from the answer's bytes to rows.
    pub decode_s: f64,
    /// Bytes of the query's file.
    pub query_bytes: usize,
    /// Bytes of the answer's file.
    pub answer_bytes: usize,
}

/// A set of parameters with a client's keys.
struct Keyed {
    params: Arc<Params>,
    secret: SecretKey,
    key: EvaluationKey,
}

/// Asks the questions with the numbers `some` and passes each result to `report`. Each question uses the first of
/// `params` that is deep enough. A different answer is not an error.
///
/// Errors: `Table` if a table is missing or has other types; those of all steps.
pub fn ask(
    tables: &BTreeMap<String, Table>,
    asked: &Answered,
    some: Range<usize>,
    bound: usize,
    params: &[Arc<Params>],
    report: &mut dyn FnMut(&Outcome),
) -> Result<(), PdqBenchError> {
    for known in &asked.tables {
        let found = tables.get(&known.name).map(typed);
        if found.as_ref() != Some(known) {
            return Err(PdqBenchError::Table(Mismatch::new(
                known.name.clone(),
                found.map_or("none".to_owned(), |found| format!("{:?}", found.columns)),
            )));
        }
    }
    let mut rng = ChaCha20Rng::seed_from_u64(some.start as u64);
    let keyed = |params: &Arc<Params>| {
        let (secret, key) = SecretKey::generate(params, &mut rng);
        Keyed {
            params: params.clone(),
            secret,
            key,
        }
    };
    let keyed: Vec<Keyed> = params.iter().map(keyed).collect();
    for (number, question) in asked.questions.iter().enumerate() {
        if some.contains(&number) {
            let table = &tables[&question.table];
            report(&one(number, question, table, bound, &keyed)?);
        }
    }
    Ok(())
}

fn one(
    number: usize,
    question: &Question,
    table: &Table,
    bound: usize,
    keyed: &[Keyed],
) -> Result<Outcome, PdqBenchError> {
    let query = parse(table, &question.sql)?;
    let mut outcome = Outcome {
        number,
        sql: question.sql.clone(),
        random: question.random,
        verdict: Verdict::Deep,
        params: "",
        expected: question.rows.len(),
        found: 0,
        encrypt_s: 0.0,
        answer_s: 0.0,
        decode_s: 0.0,
        query_bytes: 0,
        answer_bytes: 0,
    };
    let bound = bound.max(question.rows.len());
    for keyed in keyed {
        match Plan::new(&keyed.params, table.schema(), &query.shape(), bound) {
            Ok(plan) => {
                keyed.run(table, &query, &plan, question, &mut outcome)?;
                break;
            }
            Err(PlanError::Depth(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(outcome)
}

impl Keyed {
    /// Runs a query from its text to rows, by way of both files.
    fn run(
        &self,
        table: &Table,
        query: &Query,
        plan: &Plan,
        question: &Question,
        outcome: &mut Outcome,
    ) -> Result<(), PdqBenchError> {
        let params = &*self.params;
        let client = Client::new(params, table.schema(), &self.secret);
        let server = Server::new(params, table, [3; 32]);
        let mut rng = ChaCha20Rng::seed_from_u64(outcome.number as u64);
        let (sent, encrypt_s) = timed(|| client.encrypt(query, plan, &mut rng).to_bytes(params));
        let sent = sent?;
        let (answer, answer_s) = timed(|| -> Result<Vec<u8>, PdqBenchError> {
            let (received, plan) = server.read(&sent)?;
            let answer = server.answer(&received, &plan, &self.key, &mut rng, &Quiet)?;
            Ok(answer.to_bytes(params)?)
        });
        let answer = answer?;
        let (rows, decode_s) = timed(|| -> Result<Rows, PdqBenchError> {
            Ok(client.decode(plan, &Answer::from_bytes(params, plan, &answer)?)?)
        });
        // An answer that does not decode counts as different.
        let rows = match rows {
            Ok(rows) => Some(rows),
            Err(PdqBenchError::Decode(_)) => None,
            Err(error) => return Err(error),
        };
        let same = rows
            .as_ref()
            .is_some_and(|rows| is_same(table, query, rows, question));
        *outcome = Outcome {
            verdict: if same {
                Verdict::Same
            } else {
                Verdict::Different
            },
            params: params.name(),
            found: rows.map_or(0, |rows| rows.values.len()),
            encrypt_s,
            answer_s,
            decode_s,
            query_bytes: sent.len(),
            answer_bytes: answer.len(),
            ..outcome.clone()
        };
        Ok(())
    }
}

fn is_same(table: &Table, query: &Query, rows: &Rows, question: &Question) -> bool {
    let columns = &table.schema().columns;
    let shown = |values: &Vec<omr_table::Value>| -> Vec<Option<String>> {
        let values = values.iter().zip(&query.select);
        let text = |(value, &column): (&omr_table::Value, &usize)| {
            let text = value.show(columns[column].kind).to_string();
            (!value.is_null()).then_some(text)
        };
        values.map(text).collect()
    };
    let values: Vec<_> = rows.values.iter().map(shown).collect();
    rows.numbers == question.rows && values == question.values
}
