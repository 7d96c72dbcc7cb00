//! A whole query, from keys to rows.

use super::{PdqBenchError, bound, rows};
use crate::measure::Start;
use crate::measure::digest::timed;
use crate::measure::yardstick::Yardstick;
use chacha20::ChaCha20Rng;
use clap::Args;
use omr_console::peak_rss_bytes;
use omr_pdq::{Answer, Client, Params, SecretKey, Server, Stage, Times};
use omr_table::{ColumnType, Filter, Leaf, Query, Table, TableBuilder, Test, Value};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::collections::BTreeMap;

/// Days from 1970 to 2020; orders are of the following five years.
const FIRST_DAY: i64 = 18_262;

/// One equality on a synthetic table.
///
/// The table is made up but of usual types: orders with a customer's number of 32 bits, a name of up to 32 bytes, an
/// amount, a day and a flag; one name in 64 is absent.
#[derive(Clone, Debug, Args)]
pub struct QueryBench {
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = "pdq-v1")]
    pub params: String,
    /// Rows of the synthetic table
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = rows())]
    pub rows: usize,
    /// Most rows of the answer
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = bound())]
    pub bound: usize,
    /// Ask for a name rather than for a number of 32 bits
    #[arg(long = "text")]
    pub on_text: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub start: Start,
}

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct QueryFigures {
    /// The name of the parameter set.
    pub params: &'static str,
    /// The number of rows of the table.
    pub rows: usize,
    /// The bound on rows of the answer.
    pub bound: usize,
    /// The part of the query that the server sees.
    pub shape: String,
    /// The bytes of a row of the answer.
    pub row_bytes: usize,
    /// The number of threads in use.
    pub threads: usize,
    /// Seconds of generating both keys.
    pub keygen_s: f64,
    /// Seconds of making the query's file.
    pub encrypt_s: f64,
    /// Seconds from the query's file to the answer's.
    pub answer_s: f64,
    /// Seconds of each stage of `answer_s`.
    pub stages: BTreeMap<&'static str, f64>,
    /// Seconds from the answer's file to rows.
    pub decode_s: f64,
    /// Bytes of the key, which is sent once.
    pub key_bytes: u64,
    /// Bytes of a query.
    pub query_bytes: usize,
    /// Bytes of an answer.
    pub answer_bytes: usize,
    /// The peak memory of the process, client and server together.
    pub peak_rss_bytes: u64,
    /// The mean of the yardstick before and after, if built in.
    pub yardstick_us: Option<f64>,
    /// `answer_s` in yardstick NTTs.
    pub answer_ntts: Option<f64>,
    /// The number of matching rows.
    pub matching: usize,
    /// True if exactly these rows were returned, with their values.
    pub exact: bool,
}

impl QueryBench {
    /// Runs the benchmark.
    ///
    /// Errors: `Decode` if more rows match than the bound; those of all steps.
    pub fn run(&self, progress: &dyn omr_pdq::Progress) -> Result<QueryFigures, PdqBenchError> {
        let params = &*Params::named(&self.params)?;
        let mut rng = ChaCha20Rng::seed_from_u64(self.start.seed);
        let table = self.table(&mut rng)?;
        let query = self.query(&table);
        let ((secret, key), keygen_s) = timed(|| SecretKey::generate(params, &mut rng));
        let client = Client::new(params, table.schema(), &secret);
        let server = Server::new(params, &table, [3; 32]);
        let plan = client.plan(&query, self.bound)?;
        let (sent, encrypt_s) = timed(|| client.encrypt(&query, &plan, &mut rng).to_bytes(params));
        let sent = sent?;
        let (times, yardstick) = (Times::new(), Yardstick::start(true));
        let (answer, answer_s) = timed(|| -> Result<Vec<u8>, PdqBenchError> {
            let (received, plan) = server.read(&sent)?;
            let answer = server.answer_timed(&received, &plan, &key, &mut rng, progress, &times)?;
            Ok(answer.to_bytes(params)?)
        });
        let answer = answer?;
        let yardstick_us = yardstick.mean();
        let (rows, decode_s) = timed(|| -> Result<_, PdqBenchError> {
            let answer = Answer::from_bytes(params, &plan, &answer)?;
            Ok((client.decode(&plan, &answer)?, answer.placement.is_some()))
        });
        let (rows, numbered) = rows?;
        let expected = self.matching(&table);
        let values: Vec<_> = expected
            .iter()
            .map(|&row| values(&table, row as usize))
            .collect();
        let exact = if numbered {
            rows.numbers == expected && rows.values == values
        } else {
            in_any_order(&rows.values) == in_any_order(&values)
        };
        Ok(QueryFigures {
            params: params.name(),
            rows: self.rows,
            bound: self.bound,
            shape: plan.shape.render(table.schema()),
            row_bytes: plan.pieces[0].bytes,
            threads: rayon::current_num_threads(),
            keygen_s,
            encrypt_s,
            answer_s,
            stages: Stage::ALL.map(|s| (s.name(), times.seconds(s))).into(),
            decode_s,
            key_bytes: key.file_bytes(params),
            query_bytes: sent.len(),
            answer_bytes: answer.len(),
            peak_rss_bytes: peak_rss_bytes(),
            yardstick_us,
            answer_ntts: yardstick_us.map(|us| answer_s * 1e6 / us),
            matching: expected.len(),
            exact,
        })
    }

    fn table(&self, rng: &mut ChaCha20Rng) -> Result<Table, PdqBenchError> {
        let column = |name: &str, kind| (name.to_owned(), kind);
        let columns = vec![
            column("customer", ColumnType::Integer),
            column("name", ColumnType::Text { max_bytes: 32 }),
            column("amount", ColumnType::Decimal { scale: 2 }),
            column("day", ColumnType::Date),
            column("paid", ColumnType::Boolean),
        ];
        let mut builder = TableBuilder::new("orders", columns)?;
        for row in 0..self.rows {
            let mut below = |limit: u32| i64::from(rng.next_u32() % limit);
            let name = match below(64) {
                0 if row != self.asked() => Value::Null,
                _ => Value::Text(format!("customer {}", row as u64 * 7919 % 1_000_003)),
            };
            builder.push_row(vec![
                Value::Integer(below(u32::MAX)),
                name,
                Value::Decimal(below(10_000_000)),
                Value::Date(FIRST_DAY + below(1826)),
                Value::Boolean(below(10) != 0),
            ])?;
        }
        Ok(builder.finish([1; 16]))
    }

    /// Returns the row whose customer or name is queried.
    fn asked(&self) -> usize {
        self.rows * 7 / 9
    }

    fn column(&self) -> usize {
        usize::from(self.on_text)
    }

    fn query(&self, table: &Table) -> Query {
        let test = match table.value(self.asked(), self.column()) {
            Value::Text(text) => Test::Texts(vec![text]),
            value => Test::Ordinals(value.ordinal().into_iter().collect()),
        };
        Query::new(
            (0..table.schema().columns.len()).collect(),
            Filter::Leaf(Leaf::new(self.column(), test)),
        )
    }

    fn matching(&self, table: &Table) -> Vec<u64> {
        let wanted = table.value(self.asked(), self.column());
        let rows = (0..table.rows()).filter(|&row| table.value(row, self.column()) == wanted);
        rows.map(|row| row as u64).collect()
    }
}

/// Sorts rows by their text: if a server keeps their numbers secret, the table's order is unknown.
fn in_any_order(rows: &[Vec<Value>]) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

fn values(table: &Table, row: usize) -> Vec<Value> {
    let columns = 0..table.schema().columns.len();
    columns.map(|column| table.value(row, column)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_pdq::Quiet;

    #[test]
    fn rows_are_exact_with_and_without_their_numbers() {
        for params in ["insecure-tiny-pdq-v1", "insecure-tiny-pdq-two-sided-v1"] {
            let bench = QueryBench {
                params: params.to_owned(),
                rows: 2000,
                bound: 16,
                on_text: false,
                start: Start {
                    threads: None,
                    seed: 1,
                },
            };
            let figures = bench.run(&Quiet).unwrap();
            assert!(figures.exact && figures.matching > 0, "{params}");
        }
    }
}
