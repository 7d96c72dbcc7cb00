//! `omr-lab bench post`.

use super::Output;
use crate::error::LabError;
use clap::Args;
use omr_console::ConsoleError;
use omr_console::args::{messages, payload_bytes};
use omr_detector::Progress;
use omr_protocol::clue::{Binding, Hashed};
use omr_protocol::params::SOPHOMR;
use omr_protocol::sophomr::Params;
use omr_protocol::{ClueKind, Sealing};
use omr_store::{Board, BoardConfig, Clues, Message, MessageHashes};
use rand_core::Rng;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The number of messages in a transaction.
const TRANSACTION: u64 = 1000;

#[derive(Args)]
pub(crate) struct BenchPost {
    /// Messages to post
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    messages: u64,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    payload_bytes: u32,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = SOPHOMR)]
    params: String,
    /// Use bound clues: their one-time keys are listed, and their hashes computed and kept
    #[arg(long)]
    bound_clues: bool,
    /// Folder on the disk to measure; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The results of posting.
#[derive(Serialize)]
struct PostFigures {
    params: &'static str,
    messages: u64,
    transaction: u64,
    clue_bytes: usize,
    payload_bytes: usize,
    post_s: f64,
    messages_per_s: f64,
    bytes_on_disk: u64,
}

pub(super) fn run(args: &BenchPost, out: &Output<'_>) -> Result<(), LabError> {
    let params = Params::named(&args.params)?;
    out.show(&measure(args, &params, out)?)
}

/// Posts to a board in a temporary folder.
///
/// Errors: those of the board and its folder.
fn measure(args: &BenchPost, params: &Params, out: &Output<'_>) -> Result<PostFigures, LabError> {
    let parent = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::Builder::new()
        .prefix("omr-bench-")
        .tempdir_in(&parent)
        .map_err(|error| ConsoleError::write(parent, error))?;
    measure_in(args, params, dir.path(), out)
}

fn measure_in(
    args: &BenchPost,
    params: &Params,
    dir: &Path,
    out: &Output<'_>,
) -> Result<PostFigures, LabError> {
    let kind = if args.bound_clues {
        ClueKind::Bound
    } else {
        ClueKind::Plain
    };
    let (clue_bytes, payload_bytes) = (kind.bytes(&params.clue), args.payload_bytes as usize);
    let mut rng = omr_client::os_rng();
    let mut board_id = [0; 16];
    rng.fill_bytes(&mut board_id);
    let config = BoardConfig {
        board_id,
        params_id: params.name().to_owned(),
        sealing: Sealing::None.name().to_owned(),
        clues: match kind {
            ClueKind::Plain => Clues::Plain,
            ClueKind::Bound => Clues::Bound,
        },
        clue_bytes: clue_bytes as u32,
        payload_bytes: args.payload_bytes,
    };
    let failed = |source| LabError::Board(dir.to_owned(), source);
    let board = Board::create(dir, &config).map_err(failed)?;
    let mut random = |count: usize| {
        let mut bytes = vec![0; count];
        rng.fill_bytes(&mut bytes);
        bytes
    };
    let bar = out.ui.bar();
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
        let appended = match kind {
            ClueKind::Plain => board.append(&messages),
            ClueKind::Bound => {
                let hash = |message: &Message| {
                    let to = Binding::new(&board_id, &message.payload);
                    Hashed::new(&params.clue, to, &message.clue).hash()
                };
                let hashes = messages.iter().map(hash).collect();
                board.append_hashed(&messages, &MessageHashes::new(params.clue.tag(), hashes))
            }
        };
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
        post_s: seconds,
        messages_per_s: args.messages as f64 / seconds,
        bytes_on_disk: stat.bytes_on_disk,
    })
}
