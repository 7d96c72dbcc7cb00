//! A query in steps, with files between them.

use super::Bounded;
use super::local::{self, Asker};
use super::{files, rows};
use crate::commands::full::PdqError;
use crate::commands::full::pdq::rows::RowsOut;
use crate::commands::passphrase::PassphraseArg;
use crate::commands::report_beside;
use crate::error::{CliError, InputError};
use crate::io::{self, Output};
use omr_console::{Ui, thousands};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct PdqEncrypt {
    /// SELECT columns FROM table WHERE condition [LIMIT bound]
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    /// The table's schema, as `omr pdq schema` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    #[command(flatten)]
    pub(crate) keys: ClientKeys,
    /// Highest number of rows of the answer [default: the query's LIMIT, or 16]
    #[arg(long, value_name = "S")]
    pub(crate) bound: Option<u64>,
    #[command(flatten)]
    pub(crate) result: StepOut,
}

/// The keys of a client, for a step that needs the secret.
#[derive(clap::Args)]
pub(crate) struct ClientKeys {
    /// Folder of the client's keys
    #[arg(long, value_name = "DIR")]
    pub(crate) key: PathBuf,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
}

/// The output of a step whose result is one file.
#[derive(clap::Args)]
pub(crate) struct StepOut {
    /// File for the result; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Report as one JSON object (on standard error if the result goes to standard output)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct PdqAnswer {
    /// The table's file
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    /// The client's pdq-evaluation.key
    #[arg(long, value_name = "KEY")]
    pub(crate) evaluation_key: PathBuf,
    /// The query; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) query: PathBuf,
    #[command(flatten)]
    pub(crate) result: StepOut,
}

#[derive(clap::Args)]
pub(crate) struct PdqDecode {
    /// The table's schema, with which the query was encrypted
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    #[command(flatten)]
    pub(crate) keys: ClientKeys,
    /// The query that was answered
    #[arg(long, value_name = "FILE")]
    pub(crate) query: PathBuf,
    /// The answer; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) answer: PathBuf,
    #[command(flatten)]
    pub(crate) rows: RowsOut,
}

pub(crate) const PDQ_STEPS: &str = "\
Examples:
  omr pdq encrypt \"SELECT * FROM people WHERE age = 7\" \\
    --schema people.json --key alice --out q
  omr pdq answer people.table --evaluation-key alice/pdq-evaluation.key \\
    --query q --out a
  omr pdq decode --schema people.json --key alice --query q --answer a

The three steps of a query, with files between them; `omr pdq query` does all of them.";

/// The highest number of bytes of a query or an answer.
const MAX_FILE_BYTES: u64 = 1 << 30;

#[derive(Serialize)]
struct Step {
    params: &'static str,
    bytes: usize,
    seconds: f64,
}

pub(super) fn encrypt(args: &PdqEncrypt, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.result.out, args.result.force)?
        .apart_from([&args.schema])?
        .apart_from(files::keys(&args.keys.key))?;
    let public = files::public(&args.schema)?;
    let asked = Bounded::parse(&args.sql, public.schema(), args.bound)?;
    super::warn_of_null(&args.sql, ui);
    let (params, secret) = files::secret(&args.keys.key, &args.keys.passphrase)?;
    let asker = Asker::new(params, secret, public, asked, ui)?;
    let start = Instant::now();
    let bytes = asker.encrypt()?;
    let step = Step {
        params: asker.params.name(),
        bytes: bytes.len(),
        seconds: start.elapsed().as_secs_f64(),
    };
    out.write(&bytes)?;
    print_report(ui, &args.result, &step)
}

pub(super) fn answer(args: &PdqAnswer, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.result.out, args.result.force)?.apart_from([
        &args.table,
        &args.query,
        &args.evaluation_key,
    ])?;
    let table = files::table(&args.table)?;
    let query = io::read_file(&args.query, MAX_FILE_BYTES)?;
    let (params, key) = files::evaluation(&args.evaluation_key)?;
    let start = Instant::now();
    let bytes = local::answer(&params, &key, &table, &query, ui).map_err(about(&args.query))?;
    let step = Step {
        params: params.name(),
        bytes: bytes.len(),
        seconds: start.elapsed().as_secs_f64(),
    };
    out.write(&bytes)?;
    print_report(ui, &args.result, &step)
}

pub(super) fn decode(args: &PdqDecode, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.rows.out, args.rows.force)?
        .apart_from([&args.schema, &args.query, &args.answer])?
        .apart_from(files::keys(&args.keys.key))?;
    let public = files::public(&args.schema)?;
    let (params, secret) = files::secret(&args.keys.key, &args.keys.passphrase)?;
    let query = io::read_file(&args.query, MAX_FILE_BYTES)?;
    let answer = io::read_file(&args.answer, MAX_FILE_BYTES)?;
    let start = Instant::now();
    let (plan, found) =
        local::decode(&params, &secret, &public, &query, &answer).map_err(|error| match error {
            PdqError::QueryFile(_) => about(&args.query)(error),
            PdqError::Overflow { .. } => error.into(),
            _ => about(&args.answer)(error),
        })?;
    let step = local::Figures {
        params: params.name(),
        bound: plan.bound,
        rows: found.values.len(),
        query_bytes: query.len(),
        answer_bytes: answer.len(),
        decode_s: start.elapsed().as_secs_f64(),
        ..local::Figures::default()
    };
    let shown = found.of_columns(public.schema(), &plan.shape.select);
    rows::write(&shown, args.rows.format, &out)?;
    let note = format!("{} rows", shown.rows.len());
    report_beside(ui, &args.rows.out, args.rows.json, &step, &note)
}

/// Returns an error in a file of a query.
fn about(path: &Path) -> impl FnOnce(PdqError) -> CliError {
    let owned = path.to_owned();
    |error| CliError::input(owned)(InputError::Pdq(error))
}

fn print_report(ui: &Ui, result: &StepOut, step: &Step) -> Result<(), CliError> {
    let bytes = thousands(step.bytes as u64);
    let note = format!("{bytes} bytes in {:.2} s", step.seconds);
    report_beside(ui, &result.out, result.json, step, &note)
}
