//! Signatures of bound clues on a board.

use crate::error::CliError;
use omr_protocol::ParamSet;
use omr_store::{BoardConfig, Clues, Message, Visit};
use std::ops::{ControlFlow, Range};

/// The number of messages that are read at once.
const TOGETHER: u64 = 4096;
/// The number of bad clues that are described; the others are counted.
const MOST_DESCRIBED: usize = 16;

/// A message on a board, and the hash that the board keeps of it, if any.
pub(super) struct OnBoard {
    index: u64,
    message: Message,
    kept: Option<[u8; 32]>,
}

/// Bad clues of a board, and kept hashes of other messages.
#[derive(Default)]
pub(super) struct Found {
    pub(super) count: u64,
    /// Descriptions of the first of them.
    pub(super) described: Vec<String>,
}

/// Tests the clues of a board's messages. Messages that `read` does not return are reported elsewhere.
///
/// Errors: `Params`.
pub(super) fn sweep(
    board: &BoardConfig,
    messages: Range<u64>,
    mut read: impl FnMut(Range<u64>, [u8; 4]) -> Vec<OnBoard>,
) -> Result<Found, CliError> {
    let mut found = Found::default();
    if board.clues == Clues::Plain {
        return Ok(found);
    }
    let set = ParamSet::named(&board.params_id)?;
    let mut start = messages.start;
    while start < messages.end {
        let end = messages.end.min(start + TOGETHER);
        let (places, messages): (Vec<_>, Vec<_>) = read(start..end, set.clue().tag())
            .into_iter()
            .map(|read| ((read.index, read.kept), read.message))
            .unzip();
        let hashes = omr_board::hashes(board, set.clue(), &messages);
        for ((index, kept), hash) in places.into_iter().zip(hashes) {
            match (hash, kept) {
                (Err(error), _) => found.note(|| format!("message {index}: {error}")),
                (Ok(hash), Some(kept)) if hash != kept => found.note(|| {
                    format!("message {index}: the board keeps the hash of another message")
                }),
                _ => {}
            }
        }
        start = end;
    }
    Ok(found)
}

impl Found {
    fn note(&mut self, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.described.len() < MOST_DESCRIBED {
            self.described.push(text());
        }
    }
}

/// Returns the messages from `first` on that `read` passes to a visitor, with their kept hashes.
pub(super) fn keep(
    first: u64,
    kept: &[Option<[u8; 32]>],
    read: impl FnOnce(&mut Visit<'_>),
) -> Vec<OnBoard> {
    let mut out = Vec::new();
    read(&mut |index, clue, payload| {
        if clue.is_empty() {
            // The message is lost, which the test of the records reports.
            return ControlFlow::Continue(());
        }
        let (clue, payload) = (clue.to_vec(), payload.to_vec());
        out.push(OnBoard {
            index,
            message: Message { clue, payload },
            kept: kept.get((index - first) as usize).copied().flatten(),
        });
        ControlFlow::Continue(())
    });
    out
}
