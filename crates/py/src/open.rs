//! How boards are opened.

use crate::fault::Fault;
use crate::running::Watch;
use omr_store::{Board, StoreError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Opens a board, recovers it where a writer crashed, and waits while another process has it open.
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
        let opened = if writable {
            Board::open(path)
        } else {
            Board::open_read_only(path)
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
