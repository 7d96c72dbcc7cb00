//! `omr scan`: the first of two rounds, on a board in a folder.

use super::digest::{range, warn_of_lost};
use super::engines;
use super::source::{sealing, source};
use crate::args::Span;
use crate::args::headings::{OUTPUT, WORK};
use crate::error::{CliError, InputError};
use crate::io::{Framed, Output};
use omr_console::Ui;
use omr_console::args::threads;
use omr_detector::rounds::{RoundsDetector, ScanRequest, scan};
use omr_detector::{Stages, placement_seed};
use omr_protocol::EngineKind;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Scan {
    /// The board's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) board: PathBuf,
    /// The recipient's rounds.key
    #[arg(long, value_name = "KEY")]
    pub(crate) detection_key: PathBuf,
    /// Messages to scan, by index, the end excluded; either end may be left out
    #[arg(long, value_name = "A..B")]
    pub(crate) range: Option<Span>,
    /// Threads to work on; all cores unless given
    #[arg(long, help_heading = WORK, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// File for the scan; - is standard output
    #[arg(long, help_heading = OUTPUT, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
    /// Print the seconds of each stage on standard error
    #[arg(long, help_heading = OUTPUT, short)]
    pub(crate) verbose: bool,
    /// Report as one JSON object (on standard error if the scan goes to standard output)
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

pub(crate) const SCAN: &str = "\
Examples:
  omr scan --board board --detection-key bob/rounds.key --out scan
  omr scan --board board --detection-key bob/rounds.key \\
    --range 1.. --out last

The recipient finds all indices of her messages in a scan, however many there are. A scan of up to 512 messages also \
contains all payloads, and `omr decode` reads it. After a longer one come `omr ask`, `omr fetch` and `omr decode`. A \
scan's size depends on the range alone.";

#[derive(Serialize)]
struct Report {
    params: &'static str,
    start: u64,
    end: u64,
    scan_bytes: usize,
    /// Whether the scan contains all payloads, so that no fetch follows.
    payloads: bool,
    scan_s: f64,
    stages: BTreeMap<&'static str, f64>,
    unusable_clues: usize,
    /// Messages that the board has lost by damage.
    lost: Vec<u64>,
}

pub(super) fn run(args: &Scan, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.out, args.force)?.apart_from([&args.detection_key])?;
    omr_console::start_threads(args.threads)?;
    let board = super::board::open(&args.board, ui)?;
    let on_board = |error: InputError| CliError::input(&args.board)(error);
    let file = Framed::open(&args.detection_key, EngineKind::Rounds.key_file())?;
    let set = file.set()?;
    engines::check_board(&args.board, &board, &args.detection_key, &set)?;
    let (messages, sealing) = range(args.range, &board)
        .and_then(|range| Ok((range, sealing(&board)?)))
        .map_err(on_board)?;
    let mut source = source(&args.board, &board, set.clue(), ui).map_err(on_board)?;
    let request = ScanRequest {
        range: messages.clone(),
        payload_bytes: board.config().payload_bytes as usize,
        board_id: board.config().board_id,
        sealing,
        secret: placement_seed(),
    };
    // Other processes can post while the scan is made.
    drop(board);
    let bar = ui.bar();
    let mut stages = Stages::default();
    let loaded = stages.time("keys", || load(file, &set, &args.detection_key));
    let detector = loaded?;
    let mut outputs = scan(&[&detector], &mut source, &request, &bar)?;
    drop(bar);
    let output = outputs.remove(0);
    stages.add(&output.stages);
    let bytes = output
        .scanned
        .to_bytes(detector.params())
        .map_err(|error| CliError::write(out.path(), error))?;
    out.write(&bytes)?;
    let lost = source.lost(messages.clone());
    warn_of_lost(ui, &lost);
    if args.verbose {
        for (stage, seconds) in stages.seconds() {
            ui.line(&format!("{stage:<14} {seconds:9.3} s"));
        }
    }
    let report = Report {
        params: set.name(),
        start: messages.start,
        end: messages.end,
        scan_bytes: bytes.len(),
        payloads: !output.scanned.payloads.is_empty(),
        scan_s: stages.total(),
        stages: stages.seconds().iter().copied().collect(),
        unusable_clues: output.unusable_clues.saturating_sub(lost.len()),
        lost,
    };
    let size = omr_console::thousands(bytes.len() as u64);
    let next = if report.payloads {
        "`omr decode` reads it"
    } else {
        "`omr ask` comes next"
    };
    let note = format!("scan of {size} bytes in {:.1} s: {next}", report.scan_s);
    super::report_beside(ui, &args.out, args.json, &report, &note)
}

/// Reads a detection key for two rounds.
///
/// Errors: `Input`, `Params`.
pub(super) fn load(
    file: Framed,
    set: &omr_protocol::ParamSet,
    path: &std::path::Path,
) -> Result<RoundsDetector, CliError> {
    let loaded = RoundsDetector::load(set.rounds()?, file.into_reader());
    loaded.map_err(|error| CliError::input(path)(error.into()))
}
