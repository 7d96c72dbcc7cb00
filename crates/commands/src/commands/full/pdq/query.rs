//! `omr pdq query`: a query in one call.

use super::local::{self, Asker, Figures};
use super::{files, remote, rows};
use crate::commands::full::PdqError;
use crate::commands::full::pdq::rows::RowsOut;
use crate::commands::full::pdq::{Bounded, PdqAccess, SET};
use crate::commands::passphrase::PassphraseArg;
use crate::commands::report_beside;
use crate::error::CliError;
use crate::io::Output;
use omr_client::os_rng;
use omr_console::{Ui, thousands};
use omr_pdq::{EvaluationKey, Params, Rows, SecretKey};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

#[derive(clap::Args)]
#[group(id = "where", required = true, multiple = false, args = ["table", "url"])]
pub(crate) struct PdqQuery {
    /// SELECT columns FROM table WHERE condition [LIMIT bound]
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    /// A table's file: all parties run in this process, for a trial
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<PathBuf>,
    /// The server: https://HOST:PORT, or http:// on this machine
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) access: PdqAccess,
    /// The schema that the server's table must have
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub(crate) schema: Option<PathBuf>,
    /// Folder of the client's keys [default: new keys for this query]
    #[arg(long, value_name = "DIR")]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// Parameter set of new keys
    #[arg(long, value_name = "NAME", default_value = SET, conflicts_with = "key")]
    pub(crate) params: String,
    /// Highest number of rows of the answer [default: the query's LIMIT, or 16]
    #[arg(long, value_name = "S")]
    pub(crate) bound: Option<u64>,
    #[command(flatten)]
    pub(crate) rows: RowsOut,
}

pub(crate) const PDQ_QUERY: &str = concat!(
    "\
Examples:
  omr pdq query --table people.table \\
    \"SELECT name FROM people WHERE state = 'NY' AND age > 90 LIMIT 20\"
  omr pdq query --url http://127.0.0.1:7601 --key alice --format csv \\
    \"SELECT * FROM people WHERE name LIKE 'Ann%'\"

LIMIT, or --bound, is what the answer has room for and cuts nothing off: more rows are an error with their true \
number and exit code 3. ",
    seen!()
);

/// The server's key.
pub(super) enum ServerKey {
    /// A key made for this query.
    New(Box<EvaluationKey>),
    /// A key in a file.
    File(PathBuf),
}

/// The client's keys for a query.
pub(super) struct Keys {
    pub(super) params: Arc<Params>,
    pub(super) secret: SecretKey,
    pub(super) server: ServerKey,
}

impl Keys {
    /// Reads the keys in the given folder, or makes new ones.
    pub(super) fn new(args: &PdqQuery) -> Result<Self, CliError> {
        if let Some(dir) = &args.key {
            let (params, secret) = files::secret(dir, &args.passphrase)?;
            return Ok(Self {
                params,
                secret,
                server: ServerKey::File(dir.join(files::EVALUATION_KEY)),
            });
        }
        let params = files::params(&args.params)?;
        let (secret, key) = SecretKey::generate(&params, &mut os_rng());
        Ok(Self {
            params,
            secret,
            server: ServerKey::New(Box::new(key)),
        })
    }
}

/// Returns the seconds since a moment, and moves it to now.
pub(super) fn lap(start: &mut Instant) -> f64 {
    let seconds = start.elapsed().as_secs_f64();
    *start = Instant::now();
    seconds
}

pub(super) fn run(args: &PdqQuery, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.rows.out, args.rows.force)?
        .apart_from(args.table.iter().chain(&args.schema))?
        .apart_from(args.key.iter().flat_map(|dir| files::keys(dir)))?;
    let (asker, found, figures) = match (&args.table, &args.url) {
        (Some(table), _) => here(args, table, ui)?,
        (None, url) => remote::query(args, url.as_deref().unwrap_or_default(), ui)?,
    };
    let found = found.of_columns(asker.public.schema(), &asker.query.select);
    rows::write(&found, args.rows.format, &out)?;
    let note = format!(
        "{} rows; {} bytes up, {} bytes down, {:.2} s",
        figures.rows,
        thousands(figures.query_bytes as u64),
        thousands(figures.answer_bytes as u64),
        figures.keys_s + figures.encrypt_s + figures.answer_s + figures.decode_s
    );
    report_beside(ui, &args.rows.out, args.rows.json, &figures, &note)
}

/// Runs all parties in this process.
fn here(args: &PdqQuery, table: &Path, ui: &Ui) -> Result<(Asker, Rows, Figures), CliError> {
    let table = files::table(table)?;
    let public = table.public();
    let asked = Bounded::parse(&args.sql, public.schema(), args.bound)?;
    super::warn_of_null(&args.sql, ui);
    let mut start = Instant::now();
    let keys = Keys::new(args)?;
    let key = match keys.server {
        ServerKey::New(key) => *key,
        ServerKey::File(path) => files::evaluation(&path)?.1,
    };
    let mut figures = Figures {
        keys_s: lap(&mut start),
        ..Figures::default()
    };
    let asker = Asker::new(keys.params, keys.secret, public, asked, ui)?;
    lap(&mut start);
    let query = asker.encrypt()?;
    figures.encrypt_s = lap(&mut start);
    let answer = local::answer(&asker.params, &key, &table, &query, ui)?;
    figures.answer_s = lap(&mut start);
    let found = decoded(&asker, &query, &answer, &mut figures, &mut start)?;
    Ok((asker, found, figures))
}

/// Decodes an answer, and fills in the figures that both ways share.
pub(super) fn decoded(
    asker: &Asker,
    query: &[u8],
    answer: &[u8],
    figures: &mut Figures,
    start: &mut Instant,
) -> Result<Rows, PdqError> {
    let found = asker.decode(answer)?;
    figures.decode_s = lap(start);
    figures.params = asker.params.name();
    figures.bound = asker.plan.bound;
    figures.rows = found.values.len();
    figures.query_bytes = query.len();
    figures.answer_bytes = answer.len();
    Ok(found)
}
