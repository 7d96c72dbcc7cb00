//! `omr fetch`: the second of two rounds, on a board in a folder.

use super::source::{sealing, source};
use super::{engines, scan};
use crate::args::headings::{OUTPUT, WORK};
use crate::error::{CliError, InputError};
use crate::io::{Framed, Output};
use omr_console::Ui;
use omr_console::args::threads;
use omr_detector::Progress;
use omr_detector::Stages;
use omr_detector::rounds::{PreparedPage, RoundsDetector};
use omr_protocol::EngineKind;
use omr_protocol::frame::Kind;
use omr_protocol::rounds::{FetchQuery, RoundsError, RoundsHeader, RoundsPlan};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Fetch {
    /// The board's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) board: PathBuf,
    /// The recipient's rounds.key
    #[arg(long, value_name = "KEY")]
    pub(crate) detection_key: PathBuf,
    /// The recipient's query
    #[arg(long, value_name = "FILE")]
    pub(crate) query: PathBuf,
    /// Threads to work on; all cores unless given
    #[arg(long, help_heading = WORK, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// File for the answer; - is standard output
    #[arg(long, help_heading = OUTPUT, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
    /// Report as one JSON object (on standard error if the answer goes to standard output)
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

pub(crate) const FETCH: &str = "\
Examples:
  omr fetch --board board --detection-key bob/rounds.key \\
    --query query --out answer

Reads and prepares the payloads of the query's range, and answers the query. A server prepares them once for all \
recipients. The answer's size depends on the range and the length of payloads alone.";

#[derive(Serialize)]
struct Report {
    params: &'static str,
    start: u64,
    end: u64,
    answer_bytes: usize,
    fetch_s: f64,
    stages: BTreeMap<&'static str, f64>,
}

pub(super) fn run(args: &Fetch, ui: &Ui) -> Result<(), CliError> {
    let out =
        Output::file(&args.out, args.force)?.apart_from([&args.detection_key, &args.query])?;
    omr_console::start_threads(args.threads)?;
    let board = super::board::open(&args.board, ui)?;
    let on_board = |error: InputError| CliError::input(&args.board)(error);
    let on_query = |error: RoundsError| CliError::input(&args.query)(error.into());
    let file = Framed::open(&args.detection_key, EngineKind::Rounds.key_file())?;
    let set = file.set()?;
    engines::check_board(&args.board, &board, &args.detection_key, &set)?;
    let params = set.rounds()?;
    let query = Framed::open(&args.query, Kind::FetchQuery)?.bytes()?;
    let header = FetchQuery::from_bytes(params, &query)
        .map_err(on_query)?
        .header;
    let mut stages = Stages::default();
    let loaded = stages.time("keys", || scan::load(file, &set, &args.detection_key));
    let detector = loaded?;
    let subject = RoundsHeader {
        key_id: detector.key().id,
        board_id: board.config().board_id,
        payload_bytes: board.config().payload_bytes as usize,
        sealing: sealing(&board).map_err(on_board)?,
        clues: detector.key().clues,
        ..header.clone()
    };
    subject.expect(&header).map_err(on_query)?;
    super::digest::on_board(&board, &header.range).map_err(on_board)?;
    let mut source = source(&args.board, &board, set.clue(), ui).map_err(on_board)?;
    let first_kept = board.first();
    // Other processes can post while the answer is made.
    drop(board);
    let bar = ui.bar();
    let plan = header.plan(params).map_err(on_query)?;
    let pages = prepared(
        &header,
        &plan,
        &detector,
        &mut source,
        first_kept,
        &mut stages,
        &bar,
    )?;
    let pages: Vec<&PreparedPage> = pages.iter().collect();
    bar.stage("fetch", 1);
    let answer = stages.time("fetch", || detector.answer(&pages, &query))?;
    drop(bar);
    let bytes = answer
        .to_bytes(params)
        .map_err(|error| CliError::write(out.path(), error))?;
    out.write(&bytes)?;
    let report = Report {
        params: set.name(),
        start: header.range.start,
        end: header.range.end,
        answer_bytes: bytes.len(),
        fetch_s: stages.total(),
        stages: stages.seconds().iter().copied().collect(),
    };
    let size = omr_console::thousands(bytes.len() as u64);
    let note = format!("answer of {size} bytes in {:.1} s", report.fetch_s);
    super::report_beside(ui, &args.out, args.json, &report, &note)
}

/// Prepares the pages of a query's range.
fn prepared(
    header: &RoundsHeader,
    plan: &RoundsPlan,
    detector: &RoundsDetector,
    source: &mut dyn omr_detector::MessageSource,
    first_kept: u64,
    stages: &mut Stages,
    progress: &dyn Progress,
) -> Result<Vec<PreparedPage>, CliError> {
    let params = detector.params();
    progress.stage("prepare", plan.rows() as u64);
    let mut pages = Vec::with_capacity(plan.rows());
    for (page, seed) in plan.pages().zip(&header.seeds) {
        let whole = plan.messages_of(page);
        let messages = whole.start.max(first_kept)..whole.end;
        let prepare = || {
            PreparedPage::new(
                params,
                source,
                messages,
                header.board_id,
                header.payload_bytes,
                header.clues,
                *seed,
            )
        };
        pages.push(stages.time("prepare", prepare)?);
        progress.advance(1);
    }
    Ok(pages)
}
