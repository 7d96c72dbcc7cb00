use crate::args::BenchPost;
use crate::commands::show;
use crate::error::LabError;
use omr_console::{ConsoleError, Ui, thousands};
use omr_detector::Progress;

use omr_protocol::sophomr::Params;
use omr_protocol::{Clue, Sealing};
use omr_store::{Board, BoardConfig, Clues, Message};
use rand_core::Rng;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Messages of one transaction.
const TRANSACTION: u64 = 1000;

/// What posting measured.
#[derive(Serialize)]
pub(super) struct PostFigures {
    params: &'static str,
    pub(super) messages: u64,
    transaction: u64,
    clue_bytes: usize,
    payload_bytes: usize,
    pub(super) seconds: f64,
    messages_per_s: f64,
    bytes_on_disk: u64,
}

pub(super) fn run(args: &BenchPost, ui: &Ui) -> Result<(), LabError> {
    let params = Params::named(&args.params)?;
    let figures = measure(args, &params, ui)?;
    show(args.json, &figures, |figures| {
        format!(
            "{} messages in {:.2} s: {} durable messages a second, {} bytes on disk\n",
            thousands(figures.messages),
            figures.seconds,
            thousands(figures.messages_per_s as u64),
            thousands(figures.bytes_on_disk),
        )
    })
}

/// Posts to a board in a temporary folder.
///
/// Errors: those of the board and its folder.
pub(super) fn measure(args: &BenchPost, params: &Params, ui: &Ui) -> Result<PostFigures, LabError> {
    let parent = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::Builder::new()
        .prefix("omr-bench-")
        .tempdir_in(&parent);
    let dir = dir.map_err(|error| ConsoleError::write(parent, error))?;
    measure_in(args, params, dir.path(), ui)
}

fn measure_in(
    args: &BenchPost,
    params: &Params,
    dir: &Path,
    ui: &Ui,
) -> Result<PostFigures, LabError> {
    let (clue_bytes, payload_bytes) = (Clue::bytes(&params.clue), args.payload_bytes as usize);
    let mut rng = omr_client::os_rng();
    let mut board_id = [0; 16];
    rng.fill_bytes(&mut board_id);
    let config = BoardConfig {
        board_id,
        params_id: params.name().to_owned(),
        sealing: Sealing::None.name().to_owned(),
        clues: Clues::Plain,
        clue_bytes: clue_bytes as u32,
        payload_bytes: args.payload_bytes,
    };
    let failed = |source| LabError::Board {
        path: dir.to_owned(),
        source,
    };
    let board = Board::create(dir, &config).map_err(failed)?;
    let mut random = |count: usize| {
        let mut bytes = vec![0; count];
        rng.fill_bytes(&mut bytes);
        bytes
    };
    let bar = ui.bar();
    bar.stage("post", args.messages);
    let (mut left, mut seconds) = (args.messages, 0.0);
    while left > 0 {
        let count = left.min(TRANSACTION);
        let message = |_| Message {
            clue: random(clue_bytes),
            payload: random(payload_bytes),
        };
        let messages: Vec<Message> = (0..count).map(message).collect();
        let start = Instant::now();
        let appended = board.append(&messages);
        seconds += start.elapsed().as_secs_f64();
        appended.map_err(failed)?;
        left -= count;
        bar.advance(count);
    }
    let stat = board.stat().map_err(failed)?;
    Ok(PostFigures {
        params: params.name(),
        messages: args.messages,
        transaction: TRANSACTION,
        clue_bytes,
        payload_bytes,
        seconds,
        messages_per_s: args.messages as f64 / seconds,
        bytes_on_disk: stat.bytes_on_disk,
    })
}
