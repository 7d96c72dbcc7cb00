//! `omr digest`: scans a board with a detection key.

use super::source::{sealing, source};
use super::{engines, listed};
use crate::args::Span;
use crate::args::headings::{OUTPUT, WORK};
use crate::commands::engines::EngineName;
use crate::error::{CliError, InputError};
use crate::io::Output;
use omr_console::Ui;
use omr_console::args::{bound, threads};
use omr_detector::engine::Answer;
use omr_detector::engines::Job;
use omr_detector::{Stages, placement_seed};
use omr_protocol::Scheme;
use omr_protocol::{ParamSet, Request};
use omr_store::{Board, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Digest {
    /// The board's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) board: PathBuf,
    /// The recipient's detection.key or instant.key; given twice, both
    #[arg(long, value_name = "KEY", required = true, num_args = 1)]
    pub(crate) detection_key: Vec<PathBuf>,
    /// Scheme: sophomr, instantomr or hybrid, or sophomd or instantomd for indices alone [default: that of the keys]
    #[arg(long, help_heading = WORK, value_name = "SCHEME")]
    pub(crate) scheme: Option<Scheme>,
    /// Figures of this machine, printed by `omr-lab bench crossover --json`: they determine where a hybrid digest
    /// changes the engine
    #[arg(long, help_heading = WORK, value_name = "FILE")]
    pub(crate) costs: Option<PathBuf>,
    /// Hardware that makes the digest: an NVIDIA card, the processor, or (auto) a card if there is one
    #[arg(long, help_heading = WORK, value_name = "ENGINE", default_value = "auto")]
    pub(crate) engine: EngineName,
    /// Pertinent messages that the digest may carry
    #[arg(long, value_name = "K", value_parser = bound())]
    pub(crate) bound: u32,
    /// Messages to scan, by index, the end excluded; either end may be left out
    #[arg(long, value_name = "A..B")]
    pub(crate) range: Option<Span>,
    /// Make a digest of indices without payloads, which is smaller and faster
    #[arg(long)]
    pub(crate) indices_only: bool,
    /// Threads to work on; all cores unless given
    #[arg(long, help_heading = WORK, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// File for the digest; - is standard output
    #[arg(long, help_heading = OUTPUT, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
    /// Print the seconds of each stage on standard error
    #[arg(long, help_heading = OUTPUT, short)]
    pub(crate) verbose: bool,
    /// Report as one JSON object (on standard error if the digest goes to standard output)
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

pub(crate) const DIGEST: &str = "\
Examples:
  omr digest --board board --detection-key alice/detection.key \\
    --detection-key alice/instant.key --bound 50 --out digest
  omr digest --board board --detection-key alice/instant.key \\
    --bound 50 --range 2.. --out - > later
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --indices-only --out indices
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --range 0..2 --out first

Others can post while a digest is made: it holds what was on the board when it began. A file that exists is replaced \
only with --force. The digest's size depends on the range, the bound and the payload size, never on what is found. The bound holds \
for each group of up to 12 batches of messages, with InstantOMR of 65,536 messages. With both keys, full batches \
go to SophOMR and the rest to InstantOMR, where that costs less; a key is read only where its engine has a part.";

#[derive(Serialize)]
struct Report {
    params: &'static str,
    scheme: &'static str,
    start: u64,
    end: u64,
    bound: usize,
    payload_bytes: Option<usize>,
    digest_bytes: usize,
    digest_s: f64,
    stages: BTreeMap<&'static str, f64>,
    unusable_clues: usize,
    /// Messages that the board has lost by damage: no digest can contain them.
    lost: Vec<u64>,
}

pub(super) fn run(args: &Digest, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.out, args.force)?
        .apart_from(args.detection_key.iter().chain(&args.costs))?;
    omr_console::start_threads(args.threads)?;
    let board = super::board::open(&args.board, ui)?;
    let keys = engines::open(&args.detection_key)?;
    engines::check_board(&args.board, &board, &args.detection_key[0], &keys.set)?;
    let costs = engines::costs(args.costs.as_deref())?;
    let on_board = CliError::input(&args.board);
    let checked = range(args.range, &board).and_then(|range| Ok((range, sealing(&board)?)));
    let (range, sealing) = checked.map_err(on_board)?;
    let request = Request::new(
        range,
        args.bound as usize,
        payload(args, board.config().payload_bytes as usize),
    );
    let mut source =
        source(&args.board, &board, keys.set.clue(), ui).map_err(CliError::input(&args.board))?;
    let board_id = board.config().board_id;
    // Other processes can post while the digest is made.
    drop(board);
    let scheme = match args.scheme {
        Some(scheme) => scheme,
        None => keys.scheme(request.payload_bytes.is_some())?,
    };
    let scheme = keys.narrowed(scheme, &request, costs)?;
    let cards = engines::cards(args.engine.choice(), ui)?;
    let bar = ui.bar();
    let mut stages = Stages::default();
    let make = |set: &ParamSet, kind| engines::on(&cards, set, kind);
    let loaded = stages.time("keys", || keys.load_for(scheme, &make, &bar));
    let (set, engines) = loaded?;
    let job = Job {
        source: &mut source,
        request,
        board_id,
        sealing,
        seed: &|_| placement_seed(),
        costs,
    };
    let mut answer = engines.respond(scheme, job, &bar)?;
    drop(bar);
    stages.add(&answer.stages);
    answer.stages = stages;
    let range = answer.response.request().range;
    let lost = source.lost(range);
    // The detector counts them among the clues that cannot be read.
    answer.unusable_clues = answer.unusable_clues.saturating_sub(lost.len());
    deliver(args, ui, &set, &out, answer, lost)
}

/// Warns of lost messages, if there are any.
pub(super) fn warn_of_lost(ui: &Ui, lost: &[u64]) {
    if !lost.is_empty() {
        ui.warn(&format!(
            "lost by damage of the board ({}): {}; no digest brings them",
            lost.len(),
            listed(lost)
        ));
    }
}

/// Returns the bytes of a payload; `None` for a digest of indices.
fn payload(args: &Digest, bytes: usize) -> Option<usize> {
    let indices = match args.scheme {
        Some(scheme) if scheme.is_for_indices() => true,
        _ => args.indices_only,
    };
    (!indices).then_some(bytes)
}

/// Returns the messages of a span of the board, or all of them.
///
/// Errors: `EmptyBoard`; those of [`on_board`].
pub(super) fn range(span: Option<Span>, board: &Board) -> Result<Range<u64>, InputError> {
    let all = board.first()..board.len();
    if all.is_empty() {
        return Err(InputError::EmptyBoard);
    }
    let range = span.map_or(all.clone(), |span| span.of(all.clone()));
    on_board(board, &range)?;
    Ok(range)
}

/// Checks that a range of messages is on the board.
///
/// Errors: `Range`, `Board`.
pub(super) fn on_board(board: &Board, range: &Range<u64>) -> Result<(), InputError> {
    if range.is_empty() || range.end > board.len() {
        return Err(InputError::Range {
            messages: board.len(),
            start: range.start,
            end: range.end,
        });
    }
    Ok(expect_there(board, range)?)
}

/// Checks that the messages of the range have not expired.
///
/// Errors: `Board`.
pub(super) fn expect_there(board: &Board, range: &Range<u64>) -> Result<(), StoreError> {
    let first = board.first();
    if range.start < first {
        Err(StoreError::Expired {
            start: range.start,
            end: range.end.clamp(range.start, first),
            first,
        })
    } else {
        Ok(())
    }
}

fn deliver(
    args: &Digest,
    ui: &Ui,
    set: &ParamSet,
    out: &Output,
    answer: Answer,
    lost: Vec<u64>,
) -> Result<(), CliError> {
    let bytes = answer
        .response
        .to_bytes(set)
        .map_err(|error| CliError::write(out.path(), error))?;
    out.write(&bytes)?;
    warn_of_lost(ui, &lost);
    if answer.unusable_clues > 0 {
        ui.warn(&format!(
            "{} unusable clues counted as impertinent",
            answer.unusable_clues
        ));
    }
    let request = answer.response.request();
    let report = Report {
        params: set.name(),
        scheme: answer.response.scheme().name(),
        start: request.range.start,
        end: request.range.end,
        bound: request.bound,
        payload_bytes: request.payload_bytes,
        digest_bytes: bytes.len(),
        digest_s: answer.stages.total(),
        stages: answer.stages.seconds().iter().copied().collect(),
        unusable_clues: answer.unusable_clues,
        lost,
    };
    if args.verbose {
        for (stage, seconds) in answer.stages.seconds() {
            ui.line(&format!("{stage:<14} {seconds:9.3} s"));
        }
    }
    let size = omr_console::thousands(bytes.len() as u64);
    let note = format!(
        "digest of {size} bytes in {:.1} s, {:.1} s of it for reading the key",
        report.digest_s,
        report.stages.get("keys").copied().unwrap_or_default()
    );
    super::report_beside(ui, &args.out, args.json, &report, &note)
}
