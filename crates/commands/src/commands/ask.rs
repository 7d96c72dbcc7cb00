//! `omr ask`: a recipient's query for the payloads of a scan.

use super::passphrase::opened;
use crate::commands::passphrase::PassphraseArg;
use crate::error::{CliError, InputError};
use crate::io::{self, Framed, Output};
use omr_client::os_rng;
use omr_client::rounds::RoundsRecipient;
use omr_console::Ui;
use omr_protocol::ParamSet;
use omr_protocol::frame::Kind;
use omr_protocol::rounds::{RoundsError, Scanned};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Ask {
    /// The recipient's secret.key
    #[arg(long, value_name = "KEY")]
    pub(crate) secret_key: PathBuf,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// The scan
    #[arg(long, value_name = "FILE")]
    pub(crate) scan: PathBuf,
    /// Leave out the messages for which this earlier query of the scan asked; may be given several times
    #[arg(long, value_name = "FILE", num_args = 1)]
    pub(crate) after: Vec<PathBuf>,
    /// File for the query; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Report as one JSON object (on standard error if the query goes to standard output)
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const ASK: &str = "\
Examples:
  omr ask --secret-key bob/secret.key --scan scan --out query
  omr ask --secret-key bob/secret.key --scan scan \\
    --after query --out query2

A query asks for 56 messages, and shows neither which nor how many are wanted: others fill it. Send it to the \
detector, which answers with `omr fetch`, also if the scan has no message for you: who asks only then shows that \
there was one.";

#[derive(Serialize)]
struct Report {
    params: &'static str,
    /// Messages of the scan that are the recipient's.
    pertinent: usize,
    /// Messages for which the query asks.
    asked: Vec<u64>,
    /// The number of messages that further queries ask for.
    left: usize,
    query_bytes: usize,
}

pub(super) fn run(args: &Ask, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.out, args.force)?.apart_from([&args.secret_key, &args.scan])?;
    let secret = Framed::open_any(&args.secret_key, &[Kind::SecretKey, Kind::Locked])?;
    let set = secret.set()?;
    let scanned = read_scan(&args.scan, &set)?;
    let secret = opened(secret, Kind::SecretKey, &args.passphrase)?;
    let secret = io::read_secret_key(secret, set.clue())?;
    let recipient = RoundsRecipient::new(set.rounds()?, &secret);
    if !scanned.payloads.is_empty() {
        return Err(CliError::input(&args.scan)(InputError::WholeScan));
    }
    let indices = recipient.indices(&scanned)?;
    let mut wanted = indices.clone();
    for earlier in &args.after {
        let query = Framed::open(earlier, Kind::FetchQuery)?.bytes()?;
        let asked = recipient.asked(&query, &indices);
        let before = asked.map_err(|source| CliError::Digest(earlier.clone(), source))?;
        let before = before.indices();
        wanted.retain(|index| before.binary_search(index).is_err());
    }
    let asked = recipient.ask(&scanned.header, &wanted, &mut os_rng())?;
    out.write(&asked.query)?;
    let report = Report {
        params: set.name(),
        pertinent: indices.len(),
        left: wanted.len() - asked.indices().len(),
        asked: asked.indices(),
        query_bytes: asked.query.len(),
    };
    let size = omr_console::thousands(report.query_bytes as u64);
    let note = format!(
        "query of {size} bytes: {} of {} pertinent messages, {} are left",
        report.asked.len(),
        report.pertinent,
        report.left
    );
    super::report_beside(ui, &args.out, args.json, &report, &note)
}

/// Reads a scan.
///
/// Errors: `Input`.
pub(super) fn read_scan(path: &Path, set: &ParamSet) -> Result<Scanned, CliError> {
    let file = Framed::open(path, Kind::Scan)?;
    let bytes = file.bytes()?;
    let read = || -> Result<Scanned, RoundsError> { Scanned::from_bytes(set.rounds()?, &bytes) };
    read().map_err(|error| CliError::input(path)(error.into()))
}
