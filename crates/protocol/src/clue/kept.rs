//! Hashes of bound clues and their payloads, taken once when they are posted.

use crate::ClueParams;

/// What hashes depend on beside the message: those of another set or board are never taken for these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashesOf {
    /// Of the parameter set: [`ClueParams::tag`].
    pub tag: [u8; 4],
    /// The board.
    pub board_id: [u8; 16],
}

impl HashesOf {
    /// Those of a set on a board.
    pub fn new(params: &ClueParams, board_id: &[u8; 16]) -> Self {
        Self {
            tag: params.tag(),
            board_id: *board_id,
        }
    }
}

/// [`Hashed::hash`](super::Hashed::hash) of consecutive messages, as a board keeps them from posting on: the same for every recipient and
/// every digest. That of a message whose clue does not parse is never looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptHashes {
    /// Of which set and board.
    pub of: HashesOf,
    /// One a message.
    pub hashes: Vec<[u8; 32]>,
}

impl KeptHashes {
    /// Hashes of a set on a board.
    pub const fn new(of: HashesOf, hashes: Vec<[u8; 32]>) -> Self {
        Self { of, hashes }
    }
}
