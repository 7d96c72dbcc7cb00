use super::source::{BoardSource, sealing};
use crate::args::Digest;
use crate::error::{CliError, InputError};
use crate::io::{self, Framed};
use crate::progress::Ui;
use omr_board::Board;
use omr_detector::{Detector, Output};
use omr_protocol::frame::Kind;
use omr_protocol::{DigestPlan, Params, SEED_BYTES};
use rand_core::Rng;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Serialize)]
struct Report {
    params: &'static str,
    start: u64,
    end: u64,
    bound: usize,
    payload_bytes: Option<usize>,
    digest_bytes: usize,
    digest_s: f64,
    stages: BTreeMap<&'static str, f64>,
    unusable_clues: usize,
}

pub(super) fn run(args: &Digest, ui: &Ui) -> Result<(), CliError> {
    super::start_threads(args.threads)?;
    let board = super::board::open(&args.board, ui)?;
    let key = Framed::open(&args.detection_key, Kind::DetectionKey)?;
    if board.config().params_id != key.header.params_id {
        return Err(CliError::OtherParams {
            first: args.board.clone(),
            expected: board.config().params_id.clone(),
            second: args.detection_key.clone(),
            found: key.header.params_id,
        });
    }
    let on_board = CliError::input(&args.board);
    let checked = range(args, &board).and_then(|range| Ok((range, sealing(&board)?)));
    let (range, sealing) = checked.map_err(on_board)?;
    let params = key.params()?;
    let payload = (!args.indices_only).then_some(board.config().payload_bytes as usize);
    let plan = DigestPlan::new(&params, range, args.bound as usize, payload)?;
    let mut source = BoardSource::new(&board, &params).map_err(CliError::input(&args.board))?;
    let detector = Detector::new(params.clone(), io::read_detection_key(key, &params)?);
    let bar = ui.bar();
    let board_id = board.config().board_id;
    let seed = placement_seed();
    let output = detector.digest(&mut source, &plan, board_id, sealing, seed, &bar);
    drop(bar);
    deliver(args, ui, &params, output?)
}

/// Where messages lie is decided now, when they are fixed already.
pub(super) fn placement_seed() -> [u8; SEED_BYTES] {
    let mut seed = [0; SEED_BYTES];
    omr_client::os_rng().fill_bytes(&mut seed);
    seed
}

fn range(args: &Digest, board: &Board) -> Result<Range<u64>, InputError> {
    let messages = board.len();
    if messages == 0 {
        return Err(InputError::EmptyBoard);
    }
    let range = args.range.map_or(0..messages, |span| span.of(messages));
    match range.start < range.end && range.end <= messages {
        true => Ok(range),
        false => Err(InputError::Range {
            messages,
            start: range.start,
            end: range.end,
        }),
    }
}

fn deliver(args: &Digest, ui: &Ui, params: &Params, output: Output) -> Result<(), CliError> {
    let bytes = output.digest.to_bytes(params);
    let bytes = bytes.map_err(|error| CliError::write(&args.out, error))?;
    io::write_result(&args.out, &bytes)?;
    if output.unusable_clues > 0 {
        ui.warn(&format!(
            "{} unusable clues counted as impertinent",
            output.unusable_clues
        ));
    }
    let plan = &output.digest.header.plan;
    let report = Report {
        params: params.name(),
        start: plan.range().start,
        end: plan.range().end,
        bound: plan.bound(),
        payload_bytes: plan.payload_bytes(),
        digest_bytes: bytes.len(),
        digest_s: output.stages.total(),
        stages: output.stages.seconds().iter().copied().collect(),
        unusable_clues: output.unusable_clues,
    };
    if args.verbose {
        for (stage, seconds) in output.stages.seconds() {
            ui.line(&format!("{stage:<14} {seconds:9.3} s"));
        }
    }
    match (args.json, io::is_standard(&args.out)) {
        (true, false) => io::print_json(&report),
        (true, true) => {
            ui.line(io::json_line(&report)?.trim_end());
            Ok(())
        }
        (false, _) => {
            let size = super::thousands(bytes.len() as u64);
            ui.note(&format!(
                "digest of {size} bytes in {:.1} s",
                report.digest_s
            ));
            Ok(())
        }
    }
}
