//! Messages on their way to a board.

use crate::LocalError;
use omr_protocol::clue::post_hash;
use omr_protocol::{ClueError, ClueParams};
use omr_store::{BoardConfig, Clues, Message, MessageHashes};
use rayon::prelude::*;

/// Messages of one transaction, unless one letter has more: it is posted whole or not at all.
pub const TRANSACTION: usize = 1000;
/// Most messages of a letter. At full size they take 430 MB of memory, and a file of 65 MB.
pub const MAX_PARTS: u32 = 1 << 17;

/// Tests the clues of messages on their way to a board, and gives what it keeps of bound ones; it asks nothing of plain
/// ones.
///
/// Errors: `BadClue` with the place of the first that is wrong.
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

/// The hashes of bound clues that are well.
pub fn hashes(
    board: &BoardConfig,
    params: &ClueParams,
    messages: &[Message],
) -> Vec<Result<[u8; 32], ClueError>> {
    let hash =
        |message: &Message| post_hash(params, &board.board_id, &message.clue, &message.payload);
    messages.par_iter().map(hash).collect()
}
