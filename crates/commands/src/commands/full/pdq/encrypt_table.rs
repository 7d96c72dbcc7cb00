//! `omr pdq encrypt-table`.

use super::files;
use crate::commands::full::PdqError;
use crate::commands::passphrase::PassphraseArg;
use crate::error::{CliError, InputError};
use crate::io::{self, Access};
use omr_client::os_rng;
use omr_console::{Ui, thousands};
use omr_pdq::{EncryptedHead, EncryptedTable};
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct PdqEncryptTable {
    /// The table
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    /// Folder of its owner's keys
    #[arg(long, value_name = "DIR")]
    pub(crate) key: PathBuf,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// File for the encrypted table
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Lengths of prefixes, in characters, that queries of texts may use: LIKE 'abc%' needs 3
    #[arg(long, value_name = "N,M", value_delimiter = ',')]
    pub(crate) prefixes: Vec<usize>,
    /// Number of consecutive products that queries may need, including the one for their rows; fewer make a smaller
    /// table [default: all that the parameters allow]
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<usize>,
    /// Replace a file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const PDQ_ENCRYPT_TABLE: &str = "\
Examples:
  omr pdq encrypt-table people.table --key alice --out people.encrypted \\
    --prefixes 3
  omr pdq query --table people.encrypted --key alice \\
    \"SELECT * FROM people WHERE name LIKE 'Ann%'\"

The table that its server cannot read is asked with the keys that it was encrypted with.";

#[derive(Serialize)]
struct Report {
    params: &'static str,
    rows: u64,
    depth: usize,
    radix: usize,
    bytes: u64,
    seconds: f64,
}

pub(super) fn run(args: &PdqEncryptTable, ui: &Ui) -> Result<(), CliError> {
    files::table_output(&args.out, args.force)?
        .apart_from([&args.table])?
        .apart_from(files::keys(&args.key))?;
    let table = files::clear_table(&args.table)?;
    let (params, secret) = files::secret(&args.key, &args.passphrase)?;
    let mut head = EncryptedHead::new(&params, table.schema(), &args.prefixes);
    head.depth = args.depth.unwrap_or(head.depth);
    let (depth, radix) = (head.depth, head.radix);
    let bytes = head.table_bytes(&params).map_err(PdqError::from)?;
    let from = std::fs::metadata(&args.table).map_or(0, |table| table.len());
    ui.note(&format!(
        "{} bytes become {} in {}",
        thousands(from),
        thousands(bytes),
        args.out.display()
    ));
    let start = Instant::now();
    let bar = ui.bar();
    let progress =
        |done: usize, blocks: usize| bar.at("encrypt".into(), done as u64, blocks as u64);
    let encrypted =
        EncryptedTable::encrypt(&params, &table, head, &secret, &mut os_rng(), &progress);
    drop(bar);
    let encrypted = encrypted.map_err(PdqError::from)?;
    let seconds = start.elapsed().as_secs_f64();
    let staged = io::stage(&args.out, Access::Public, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        encrypted
            .write(&params, &mut out)
            .map_err(|error| InputError::Pdq(error.into()))?;
        Ok(out.flush()?)
    })?;
    staged.commit(args.force)?;
    let metadata = std::fs::metadata(&args.out);
    let bytes = metadata
        .map_err(|error| CliError::write(&args.out, error))?
        .len();
    let report = Report {
        params: params.name(),
        rows: table.schema().rows,
        depth,
        radix,
        bytes,
        seconds,
    };
    if args.json {
        return Ok(io::print_json(&report)?);
    }
    Ok(io::print(&format!(
        "{}: {} rows, {} bytes, {:.2} s; queries of up to {} products one after another\n",
        args.out.display(),
        thousands(report.rows),
        thousands(bytes),
        seconds,
        depth - 1
    ))?)
}
