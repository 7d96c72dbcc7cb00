//! Signatures of bound clues, on their way to a board and on it.

use crate::error::{CliError, InputError};
use omr_protocol::clue::post_key;
use omr_protocol::{ClueError, ClueParams, ParamSet};
use omr_store::{BoardConfig, Clues, Message};
use rayon::prelude::*;
use std::ops::Range;

/// Messages looked at together.
const TOGETHER: u64 = 4096;
/// Bad clues told one by one; the others are counted.
const MOST_TOLD: usize = 16;

/// Tests the clues of messages on their way to a board; it asks nothing of plain ones.
///
/// Errors: `BadClue` with the place of the first that is wrong.
pub(super) fn check(
    board: &BoardConfig,
    params: &ClueParams,
    messages: &[Message],
) -> Result<(), InputError> {
    let numbered: Vec<_> = (0..).zip(messages).collect();
    let first = bad(board, params, &numbered).into_iter().next();
    first.map_or(Ok(()), |(position, source)| {
        Err(InputError::BadClue { position, source })
    })
}

/// What is wrong with bound clues, in the order of the messages.
fn bad(
    board: &BoardConfig,
    params: &ClueParams,
    messages: &[(u64, &Message)],
) -> Vec<(u64, ClueError)> {
    if board.clues == Clues::Plain {
        return Vec::new();
    }
    let check = |&(index, message): &(u64, &Message)| {
        let key = post_key(params, &board.board_id, &message.clue, &message.payload);
        key.err().map(|error| (index, error))
    };
    messages.par_iter().filter_map(check).collect()
}

/// Bad clues of a board.
#[derive(Default)]
pub(super) struct Found {
    pub(super) count: u64,
    /// The first of them in words.
    pub(super) told: Vec<String>,
}

/// Tests the clues of a board's messages; those that `read` does not give are another fault.
///
/// Errors: `Params`.
pub(super) fn sweep(
    board: &BoardConfig,
    messages: Range<u64>,
    mut read: impl FnMut(Range<u64>) -> Vec<(u64, Message)>,
) -> Result<Found, CliError> {
    let mut found = Found::default();
    if board.clues == Clues::Plain {
        return Ok(found);
    }
    let set = ParamSet::named(&board.params_id)?;
    let mut start = messages.start;
    while start < messages.end {
        let end = messages.end.min(start + TOGETHER);
        let messages = read(start..end);
        let messages: Vec<_> = messages.iter().map(|(index, m)| (*index, m)).collect();
        for (index, error) in bad(board, set.clue(), &messages) {
            found.count += 1;
            if found.told.len() < MOST_TOLD {
                found.told.push(format!("message {index}: {error}"));
            }
        }
        start = end;
    }
    Ok(found)
}

/// A visitor that keeps messages.
pub(super) fn keep(
    out: &mut Vec<(u64, Message)>,
) -> impl FnMut(u64, &[u8], &[u8]) -> std::ops::ControlFlow<()> + '_ {
    |index, clue, payload| {
        let (clue, payload) = (clue.to_vec(), payload.to_vec());
        out.push((index, Message { clue, payload }));
        std::ops::ControlFlow::Continue(())
    }
}
