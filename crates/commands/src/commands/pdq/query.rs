//! A query in one go.

use super::local::{self, Asker, Figures};
use super::{files, remote, rows};
use crate::args::PdqQuery;
use crate::commands::report_beside;
use crate::error::{CliError, PdqError};
use crate::io::Output;
use omr_client::os_rng;
use omr_console::Ui;
use omr_console::thousands;
use omr_pdq::{EvaluationKey, Params, Rows, SecretKey};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Where the server's key is.
pub(super) enum ServerKey {
    /// Made for this query.
    New(Box<EvaluationKey>),
    /// A file.
    File(PathBuf),
}

/// The client's keys for a query.
pub(super) struct Keys {
    pub(super) params: Arc<Params>,
    pub(super) secret: SecretKey,
    pub(super) server: ServerKey,
}

impl Keys {
    /// Those of the folder given, or new ones.
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

/// Seconds since a moment, which is then now.
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

/// All parties in this process.
fn here(args: &PdqQuery, table: &Path, ui: &Ui) -> Result<(Asker, Rows, Figures), CliError> {
    let table = files::table(table)?;
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
    let asker = Asker::new(
        (keys.params, keys.secret),
        table.public(),
        (&args.sql, args.bound),
        ui,
    )?;
    lap(&mut start);
    let query = asker.encrypt()?;
    figures.encrypt_s = lap(&mut start);
    let answer = local::answer((&asker.params, &key), &table, &query, ui)?;
    figures.answer_s = lap(&mut start);
    let found = decoded(&asker, &query, &answer, &mut figures, &mut start)?;
    Ok((asker, found, figures))
}

/// Decodes and fills in the figures that both ways share.
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
