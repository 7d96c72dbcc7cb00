//! `omr decode`: decodes digests into files.

mod contents;
mod incomplete;
mod open;

use super::passphrase::opened;
use crate::commands::passphrase::PassphraseArg;
use crate::error::{CliError, InputError};
use crate::io::{self, Access, Framed, Output, STANDARD};
use contents::Contents;
use incomplete::{Incomplete, Kept};
use omr_client::letters::{Letters, Opened};
use omr_client::periods::{PERIODS_KEY, PERIODS_KEY_BYTES, PeriodSecrets};
use omr_client::{DecodeError, SecretKey};
use omr_console::{ConsoleError, Ui};
use omr_detector::Progress;
use omr_protocol::Mismatch;
use omr_protocol::frame::Kind;
use omr_protocol::{ParamSet, Sealing};
use open::{LeftOut, Message, left_out, messages};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(clap::Args)]
pub(crate) struct Decode {
    /// The recipient's secret.key
    #[arg(long, value_name = "KEY")]
    pub(crate) secret_key: PathBuf,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// Digests of one board, in any order: letters are put together from all of them; - is standard input
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) digest: Vec<PathBuf>,
    /// The scan before an answer of `omr fetch`
    #[arg(long, value_name = "FILE", requires = "query")]
    pub(crate) scan: Option<PathBuf>,
    /// The query of an answer of `omr fetch`
    #[arg(long, value_name = "FILE", requires = "scan")]
    pub(crate) query: Option<PathBuf>,
    /// Folder for the messages, created where absent; - writes them to standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Write payloads as they are on the board: not opened, not put together
    #[arg(long)]
    pub(crate) raw: bool,
    /// Refuse a digest of a board with another sealing
    #[arg(long, value_name = "SEALING")]
    pub(crate) sealing: Option<Sealing>,
    /// Exit with 1 if a pertinent message could not be opened, or a letter has missing parts
    #[arg(long)]
    pub(crate) strict: bool,
    /// Replace files
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const DECODE: &str = "\
Examples:
  omr decode --secret-key alice/secret.key --digest digest --out letters
  omr decode --secret-key alice/secret.key --digest - --out - < digest
  omr decode --secret-key alice/secret.key --digest digest \\
    --raw --out payloads
  omr decode --secret-key alice/secret.key --digest first second --out all
  omr decode --secret-key bob/secret.key --digest answer \\
    --scan scan --query query --out letters

Writes each posted file under the index of its first payload and the name that its sender gave it \
(000123-letter.txt, or 000123.bin), and prints the paths; a digest of indices is written to indices.txt. With --out - contents go to standard output, one after another in the order of the \
board.

Anybody can write to an address, and one message of others in 2^27.9 looks pertinent. So payloads that cannot be \
opened are left out with a warning. The exit code is then 0, but 1 if nothing could be opened or with --strict. A \
board with sealing none vouches for nothing: --sealing none accepts that, --sealing hpke-x25519 refuses \
it.

For an incomplete file the warning lists the missing messages. Its parts are kept in the folder \
`incomplete` beside the letters until other digests, in the same call or in later ones into the same folder, in any \
order, bring the rest.

Letters to an identity are sealed to keys of periods: the file `periods.key` beside the secret key opens them, too.";

/// The name of the file for digests of indices.
const INDICES: &str = "indices.txt";

#[derive(Serialize)]
struct Report {
    params: &'static str,
    /// The scheme of the first digest.
    scheme: &'static str,
    /// The first message of all digests; `end` is after the last one.
    start: u64,
    end: u64,
    sealing: &'static str,
    ranges: Vec<[u64; 2]>,
    pertinent: usize,
    indices: Vec<u64>,
    files: Vec<Written>,
    left_out: Vec<LeftOut>,
    incomplete: Vec<Incomplete>,
}

#[derive(Serialize)]
struct Written {
    index: Option<u64>,
    bytes: usize,
    #[serde(serialize_with = "io::as_text")]
    path: PathBuf,
}

/// A digest and its file.
struct Digest<'a> {
    path: &'a Path,
    contents: Contents,
}

/// The content of the digests, and the failures.
struct Decoded {
    opened: Opened,
    /// Whether a digest has only indices.
    listed: bool,
    /// Whether a digest has payloads for which only the detector vouches.
    unvouched: bool,
    /// The error of a digest, which is reported at the end, so that the others are not lost.
    failed: Option<CliError>,
}

pub(super) fn run(args: &Decode, ui: &Ui) -> Result<(), CliError> {
    Output::folder(&args.out)?;
    let secret = Framed::open_any(&args.secret_key, &[Kind::SecretKey, Kind::Locked])?;
    let set = secret.set()?;
    let digests = digests(args, &set, &secret.header.params_id)?;
    let mut kept = Kept::open(args, digests[0].contents.board_id(), &secret.header)?;
    let secret = opened(secret, Kind::SecretKey, &args.passphrase)?;
    let secret = io::read_secret_key(secret, set.clue())?;
    let mut all = Letters::with_parts(kept.take());
    if let Some(periods) = periods(&args.secret_key, &secret)? {
        all = all.with_periods(periods, SystemTime::now());
    }
    let Decoded {
        mut opened,
        listed,
        unvouched,
        failed,
    } = decoded(args, ui, &set, &secret, &digests, all)?;
    // Messages that were dropped are not reported, counted or named.
    let indices: Vec<u64> = opened.pertinent.iter().copied().collect();
    if unvouched && !indices.is_empty() {
        ui.warn(
            "the digest's board does not seal payloads, so the detector could have made them up: \
             pass --sealing to say what you expect",
        );
    }
    let left_out = left_out(&opened, digests[0].contents.sealing());
    let files = deliver(args, messages(&mut opened, listed))?;
    let incomplete = kept.settle(opened.incomplete)?;
    for left_out in &left_out {
        ui.warn(&left_out.to_string());
    }
    for letter in &incomplete {
        ui.warn(&letter.to_string());
    }
    let ranges = digests.iter().map(|digest| {
        let range = digest.contents.range();
        [range.start, range.end]
    });
    let ranges: Vec<_> = ranges.collect();
    let first = &digests[0].contents;
    let report = Report {
        params: set.name(),
        scheme: first.scheme().name(),
        start: ranges.iter().map(|[start, _]| *start).min().unwrap_or(0),
        end: ranges.iter().map(|[_, end]| *end).max().unwrap_or(0),
        sealing: first.sealing().name(),
        ranges,
        pertinent: indices.len(),
        indices,
        files,
        left_out,
        incomplete,
    };
    print_report(args, ui, &report)?;
    match failed {
        Some(error) => Err(error),
        None => verdict(args, &report),
    }
}

/// Reads the secrets of an identity's periods beside its secret key, if there are any.
///
/// Errors: `Input`.
fn periods(secret_key: &Path, secret: &SecretKey) -> Result<Option<PeriodSecrets>, CliError> {
    let path = secret_key.with_file_name(PERIODS_KEY);
    if io::is_standard(secret_key) || !path.exists() {
        return Ok(None);
    }
    let mut file = Vec::new();
    let read = File::open(&path).and_then(|opened| {
        opened
            .take(PERIODS_KEY_BYTES as u64 + 1)
            .read_to_end(&mut file)
    });
    read.map_err(|error| CliError::input(&path)(error.into()))?;
    let secrets = PeriodSecrets::from_file(&secret.storage_key(), &file);
    secrets
        .map(Some)
        .map_err(|error| CliError::input(&path)(error.into()))
}

/// Reads all digests.
///
/// Errors: `Input`, `OtherParams`, `OtherDigest`.
fn digests<'a>(
    args: &'a Decode,
    set: &ParamSet,
    params_id: &str,
) -> Result<Vec<Digest<'a>>, CliError> {
    let mut digests: Vec<Digest> = Vec::new();
    for path in &args.digest {
        let file = Framed::open_any(path, &[Kind::Digest, Kind::Scan, Kind::FetchAnswer])?;
        if file.header.params_id != params_id {
            return Err(CliError::OtherParams {
                first: args.secret_key.clone(),
                expected: params_id.to_owned(),
                second: path.clone(),
                found: file.header.params_id,
            });
        }
        let contents = Contents::read(args, set, file)?;
        check_sealing(args, path, contents.sealing())?;
        let of = |contents: &Contents| (contents.board_id(), contents.sealing());
        if let Some(first) = digests.first()
            && of(&first.contents) != of(&contents)
        {
            return Err(CliError::OtherDigest {
                first: first.path.to_owned(),
                second: path.clone(),
            });
        }
        digests.push(Digest { path, contents });
    }
    Ok(digests)
}

/// Decodes and opens digests, and puts letters together from them and from the parts that `all` has.
///
/// Errors: `Decode` if there is only one digest.
fn decoded(
    args: &Decode,
    ui: &Ui,
    set: &ParamSet,
    secret: &SecretKey,
    digests: &[Digest],
    mut all: Letters,
) -> Result<Decoded, CliError> {
    let bar = ui.bar();
    bar.stage("digests", digests.len() as u64);
    let (mut listed, mut unvouched, mut failed) = (false, false, None);
    for Digest { path, contents } in digests {
        match contents.retrieve(set, secret, ui) {
            Ok(retrieved) => {
                listed |= !contents.has_payloads();
                if args.raw || !contents.has_payloads() {
                    all.take(&retrieved);
                } else {
                    contents.open(set, secret, &retrieved, &mut all);
                }
            }
            Err(error) if digests.len() == 1 => return Err(error.into()),
            Err(source) => failed = failed.or(Some(failure(path, source))),
        }
        unvouched |= is_unvouched(args, contents);
        bar.advance(1);
    }
    Ok(Decoded {
        opened: all.finish(),
        listed,
        unvouched,
        failed,
    })
}

fn failure(path: &Path, source: DecodeError) -> CliError {
    CliError::Digest(path.to_owned(), source)
}

fn check_sealing(args: &Decode, path: &Path, found: Sealing) -> Result<(), CliError> {
    match args.sealing {
        Some(expected) if expected != found => {
            let other = InputError::OtherSealing(Mismatch::new(expected, found));
            Err(CliError::input(path)(other))
        }
        _ => Ok(()),
    }
}

/// Returns whether files would come from payloads for which only the detector vouches, and the caller did not request
/// this by `--sealing`.
fn is_unvouched(args: &Decode, digest: &Contents) -> bool {
    let payloads = digest.has_payloads();
    let unsealed = digest.sealing() == Sealing::None;
    payloads && unsealed && args.sealing.is_none() && !args.raw
}

fn deliver(args: &Decode, messages: Vec<Message>) -> Result<Vec<Written>, CliError> {
    if io::is_standard(&args.out) {
        for message in &messages {
            io::write_result(Path::new(STANDARD), &message.bytes)?;
        }
        return Ok(Vec::new());
    }
    super::keygen::create_folder(&args.out)?;
    let place = |message: &Message| match message.index {
        Some(index) => args.out.join(io::numbered(index, message.name.as_deref())),
        None => args.out.join(INDICES),
    };
    // This check precedes all writes; the commit of each file decides.
    if let Some(path) = messages
        .iter()
        .map(place)
        .find(|path| path.exists() && !args.force)
    {
        return Err(ConsoleError::Exists(path).into());
    }
    let mut written = Vec::new();
    for message in messages {
        let path = place(&message);
        io::stage_bytes(&path, Access::Private, &message.bytes)?.commit(args.force)?;
        written.push(Written {
            index: message.index,
            bytes: message.bytes.len(),
            path,
        });
    }
    Ok(written)
}

fn print_report(args: &Decode, ui: &Ui, report: &Report) -> Result<(), CliError> {
    match (args.json, io::is_standard(&args.out)) {
        (true, false) => Ok(io::print_json(report)?),
        (true, true) => {
            ui.line(io::json_line(report)?.trim_end());
            Ok(())
        }
        (false, _) => {
            ui.note(&format!(
                "{} pertinent messages among {}..{}, parameters {}",
                report.pertinent, report.start, report.end, report.params
            ));
            let line = |file: &Written| format!("{}\n", file.path.display());
            Ok(io::print(
                &report.files.iter().map(line).collect::<String>(),
            )?)
        }
    }
}

/// Payloads that cannot be opened are no failure by themselves, as strangers can post them to an address. Kept parts
/// can still become a letter.
fn verdict(args: &Decode, report: &Report) -> Result<(), CliError> {
    let lost = report.incomplete.iter().filter(|letter| letter.is_lost());
    let left_out: BTreeSet<u64> = report
        .left_out
        .iter()
        .flat_map(|group| &group.indices)
        .chain(lost.flat_map(Incomplete::indices))
        .copied()
        .collect();
    let (left_out, pertinent) = (left_out.len(), report.pertinent);
    let nothing = left_out == pertinent;
    if left_out > 0 && (nothing || args.strict) {
        Err(CliError::LeftOut {
            left_out,
            pertinent,
        })
    } else if args.strict && !report.incomplete.is_empty() {
        Err(CliError::NotWhole(report.incomplete.len()))
    } else {
        Ok(())
    }
}
