//! Checks of messages that are being posted.

use crate::LocalError;
use omr_protocol::clue::post_hash;
use omr_protocol::{ClueError, ClueParams};
use omr_store::{BoardConfig, Clues, Message, MessageHashes};
use rayon::prelude::*;

/// Number of messages in one transaction. A letter with more is posted in a single transaction, so that it is posted as
/// a whole or not at all.
pub const TRANSACTION: usize = 1000;
/// Largest number of messages of a letter. At full size they take 430 MB of memory and contain a file of 65 MB.
pub const MAX_PARTS: u32 = 1 << 17;

/// Checks the clues of messages that are being posted, and returns the hashes that the board stores of bound clues.
/// Plain clues are not checked.
///
/// Errors: `BadClue` with the place of the first wrong clue.
pub fn post_hashes(
    board: &BoardConfig,
    params: &ClueParams,
    messages: &[Message],
) -> Result<Option<MessageHashes>, LocalError> {
    if board.clues == Clues::Plain {
        return Ok(None);
    }
    let mut kept = Vec::with_capacity(messages.len());
    for (position, hash) in (0..).zip(hashes(board, params, messages)) {
        kept.push(hash.map_err(|source| LocalError::BadClue { position, source })?);
    }
    Ok(Some(MessageHashes::new(params.tag(), kept)))
}

/// Returns the hash of each bound clue and payload, or the error of the clue.
pub fn hashes(
    board: &BoardConfig,
    params: &ClueParams,
    messages: &[Message],
) -> Vec<Result<[u8; 32], ClueError>> {
    let hash =
        |message: &Message| post_hash(params, &board.board_id, &message.clue, &message.payload);
    messages.par_iter().map(hash).collect()
}
