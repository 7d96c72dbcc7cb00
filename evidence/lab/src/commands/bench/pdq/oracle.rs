//! Questions for another database, and the comparison of its answers with encrypted ones.

use super::Output;
use crate::error::LabError;
use crate::measure::pdq::{Answered, Outcome, Random, Verdict, ask, bound, named, read_tables};
use clap::Args;
use omr_console::args::threads;
use omr_console::{files, start_threads};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The size limit of a document.
const LIMIT: u64 = 1 << 30;

#[derive(Args)]
pub(crate) struct PdqQuestions {
    /// Folder with tables as NAME.csv
    #[arg(value_name = "DIR")]
    tables: PathBuf,
    /// File with questions, one in each line
    #[arg(long, value_name = "SQL")]
    asked: Option<PathBuf>,
    /// Random questions in addition
    #[arg(long, value_name = "N", default_value_t = 200)]
    random: usize,
    /// Most rows of a random question; the least is one
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = bound())]
    bound: usize,
    /// Seed of all randomness
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Parameter sets; for a random question one must be deep enough
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "pdq-v1,pdq-deep-v1"
    )]
    params: Vec<String>,
    /// File for the questions
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Args)]
pub(crate) struct PdqOracle {
    /// Folder with tables as NAME.csv
    #[arg(value_name = "DIR")]
    tables: PathBuf,
    /// Questions with answers, as reference/pdq_oracle.py writes them
    #[arg(value_name = "ANSWERS")]
    answers: PathBuf,
    /// Parameter sets; each question takes the first one that is deep enough
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "pdq-v1,pdq-deep-v1"
    )]
    params: Vec<String>,
    /// Most rows of an answer; questions with more rows get a larger bound
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = bound())]
    bound: usize,
    /// The first question to ask
    #[arg(long, value_name = "I", default_value_t = 0)]
    from: usize,
    /// Questions to ask from there; all unless given
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    threads: Option<u16>,
}

fn questions_of(args: &PdqQuestions) -> Result<Answered, LabError> {
    let asked = match &args.asked {
        Some(path) => String::from_utf8_lossy(&files::read_file(path, LIMIT)?).into_owned(),
        None => String::new(),
    };
    let sets = named(&args.params)?;
    let params: Vec<_> = sets.iter().map(|params| &**params).collect();
    let random = Random {
        count: args.random,
        most: args.bound,
        seed: args.seed,
    };
    Ok(crate::measure::pdq::questions(
        &read_tables(&args.tables)?,
        &asked,
        random,
        &params,
    )?)
}

pub(super) fn make(args: &PdqQuestions, out: &Output<'_>) -> Result<(), LabError> {
    let made = questions_of(args)?;
    omr_console::write_result(&args.out, files::json_line(&made)?.as_bytes())?;
    let (tables, count) = (made.tables.len(), made.questions.len());
    out.ui
        .note(&format!("{count} questions about {tables} tables"));
    Ok(())
}

/// The results of all questions.
#[derive(Debug, Default, Serialize)]
struct Summary {
    source: String,
    questions: usize,
    random: usize,
    same: usize,
    different: usize,
    too_deep: usize,
    rows: usize,
    by_params: BTreeMap<&'static str, Spent>,
}

/// Seconds and bytes with one set of parameters.
#[derive(Debug, Default, Serialize)]
struct Spent {
    questions: usize,
    encrypt_s: f64,
    answer_s: f64,
    longest_answer_s: f64,
    decode_s: f64,
    query_bytes: usize,
    answer_bytes: usize,
}

impl Summary {
    fn add(&mut self, outcome: &Outcome) {
        self.questions += 1;
        self.random += usize::from(outcome.random);
        match outcome.verdict {
            Verdict::Same => self.same += 1,
            Verdict::Different => self.different += 1,
            Verdict::Deep => {
                self.too_deep += 1;
                return;
            }
        }
        self.rows += outcome.found;
        let spent = self.by_params.entry(outcome.params).or_default();
        spent.questions += 1;
        spent.encrypt_s += outcome.encrypt_s;
        spent.answer_s += outcome.answer_s;
        spent.longest_answer_s = spent.longest_answer_s.max(outcome.answer_s);
        spent.decode_s += outcome.decode_s;
        spent.query_bytes += outcome.query_bytes;
        spent.answer_bytes += outcome.answer_bytes;
    }
}

pub(super) fn run(args: &PdqOracle, out: &Output<'_>) -> Result<(), LabError> {
    start_threads(args.threads)?;
    let document = files::read_file(&args.answers, LIMIT)?;
    let asked: Answered = serde_json::from_slice(&document)
        .map_err(|source| LabError::Questions(args.answers.clone(), source))?;
    let tables = read_tables(&args.tables)?;
    let end = args.count.map_or(asked.questions.len(), |n| args.from + n);
    let mut summary = Summary {
        source: asked.source.clone(),
        ..Summary::default()
    };
    let mut printed = Ok(());
    ask(
        &tables,
        &asked,
        args.from..end,
        args.bound,
        &named(&args.params)?,
        &mut |outcome| {
            summary.add(outcome);
            if outcome.verdict == Verdict::Different {
                out.ui.warn(&format!("other rows: {}", outcome.sql));
            }
            if out.json && printed.is_ok() {
                printed = files::print_json(outcome);
            }
        },
    )?;
    printed?;
    out.show(&summary)?;
    match summary.different {
        0 => Ok(()),
        different => Err(LabError::Differs {
            different,
            questions: summary.questions,
        }),
    }
}
