//! Questions for another database, and its answers compared with encrypted ones.

use crate::args::{PdqOracle, PdqQuestions};
use crate::commands::show;
use crate::error::LabError;
use crate::measure::pdq::{Answered, Outcome, Random, Verdict, ask, named, read_tables};
use omr_console::{Ui, files, start_threads, thousands};
use serde::Serialize;
use std::collections::BTreeMap;

/// Most bytes of a document.
const LIMIT: u64 = 1 << 30;

fn questions_of(args: &PdqQuestions) -> Result<Answered, LabError> {
    let asked = match &args.asked {
        Some(path) => String::from_utf8_lossy(&files::read_file(path, LIMIT)?).into_owned(),
        None => String::new(),
    };
    let params = named(&args.params)?;
    let params: Vec<_> = params.iter().map(|params| &**params).collect();
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

pub(super) fn make(args: &PdqQuestions, ui: &Ui) -> Result<(), LabError> {
    let made = questions_of(args)?;
    omr_console::write_result(&args.out, files::json_line(&made)?.as_bytes())?;
    let (tables, count) = (made.tables.len(), made.questions.len());
    ui.note(&format!("{count} questions about {tables} tables"));
    Ok(())
}

/// What came of all questions.
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

/// Seconds and bytes under one set of parameters.
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

    fn table(&self) -> String {
        let mut text = format!(
            "{} questions ({} random), judged by {}: {} the same, {} different, {} too deep; {} rows, all values compared\n",
            self.questions,
            self.random,
            self.source,
            self.same,
            self.different,
            self.too_deep,
            self.rows
        );
        for (params, spent) in &self.by_params {
            let each = |seconds: f64| seconds / spent.questions as f64;
            text += &format!(
                "  {params}: {} questions; each {:.3} s to encrypt, {:.2} s to answer (longest {:.2}), {:.3} s to decode; \
                 {} bytes up, {} bytes down\n",
                spent.questions,
                each(spent.encrypt_s),
                each(spent.answer_s),
                spent.longest_answer_s,
                each(spent.decode_s),
                thousands((spent.query_bytes / spent.questions) as u64),
                thousands((spent.answer_bytes / spent.questions) as u64),
            );
        }
        text
    }
}

pub(super) fn run(args: &PdqOracle, ui: &Ui) -> Result<(), LabError> {
    start_threads(args.threads)?;
    let document = files::read_file(&args.answers, LIMIT)?;
    let asked: Answered =
        serde_json::from_slice(&document).map_err(|source| LabError::Questions {
            path: args.answers.clone(),
            source,
        })?;
    let tables = read_tables(&args.tables)?;
    let end = args.count.map_or(asked.questions.len(), |n| args.from + n);
    let mut summary = Summary {
        source: asked.source.clone(),
        ..Summary::default()
    };
    let mut told = Ok(());
    ask(
        &tables,
        &asked,
        (args.from..end, args.bound),
        &named(&args.params)?,
        &mut |outcome| {
            summary.add(outcome);
            if outcome.verdict == Verdict::Different {
                ui.warn(&format!("other rows: {}", outcome.sql));
            }
            if args.json && told.is_ok() {
                told = files::print_json(outcome);
            }
        },
    )?;
    told?;
    show(args.json, &summary, |figures| figures.table())?;
    match summary.different {
        0 => Ok(()),
        different => Err(LabError::Differs {
            different,
            questions: summary.questions,
        }),
    }
}
