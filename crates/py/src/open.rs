//! How boards are made and opened.

use crate::fault::Fault;
use crate::running::Watch;
use omr_protocol::request::MAX_PAYLOAD_BYTES;
use omr_protocol::{ClueKind, Mismatch, ParamSet, PlanError, Sealing};
use omr_store::{Board, BoardConfig, Clues, StoreError};
use rand_core::Rng;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a new board is made of, after a check that its payloads can be sealed and digested.
///
/// Errors: `Plan`, `PayloadBytes`.
pub(crate) fn config(
    set: &ParamSet,
    payload_bytes: usize,
    sealing: Sealing,
    clues: ClueKind,
) -> Result<BoardConfig, Fault> {
    if !(1..=MAX_PAYLOAD_BYTES).contains(&payload_bytes) {
        return Err(PlanError::Payload(payload_bytes).into());
    }
    let least = sealing.overhead() + 1;
    if payload_bytes < least {
        let bytes = Mismatch::new(least, payload_bytes);
        return Err(Fault::PayloadBytes { sealing, bytes });
    }
    let mut board_id = [0; 16];
    omr_client::os_rng().fill_bytes(&mut board_id);
    Ok(BoardConfig {
        board_id,
        params_id: set.name().to_owned(),
        sealing: sealing.name().to_owned(),
        clue_bytes: clues.bytes(set.clue()) as u32,
        payload_bytes: payload_bytes as u32,
        clues: match clues {
            ClueKind::Plain => Clues::Plain,
            ClueKind::Bound => Clues::Bound,
        },
    })
}

/// Opens a board, recovers it where a writer crashed, and waits while somebody else has it open.
///
/// Errors: `Store`, `Stopped`.
pub(crate) fn opened(
    path: &Path,
    writable: bool,
    patience: Duration,
    watch: &Watch,
) -> Result<Board, Fault> {
    let start = Instant::now();
    loop {
        let opened = match writable {
            true => Board::open(path),
            false => Board::open_read_only(path),
        };
        match opened {
            Err(StoreError::NeedsRecovery(_)) => drop(Board::open(path)?),
            Err(StoreError::Locked { .. }) if start.elapsed() < patience => {
                watch.check()?;
                sleep(Duration::from_millis(3));
            }
            other => return Ok(other?),
        }
    }
}
