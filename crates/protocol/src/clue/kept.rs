//! Hashes of bound clues and their payloads, computed once when they are posted.

use crate::ClueParams;

/// The parameter set and the board that hashes were computed for. Hashes for others are not accepted in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashesOf {
    /// The tag of the parameter set: [`ClueParams::tag`].
    pub tag: [u8; 4],
    /// The board.
    pub board_id: [u8; 16],
}

impl HashesOf {
    /// Identifies hashes for a parameter set on a board.
    pub fn new(params: &ClueParams, board_id: &[u8; 16]) -> Self {
        Self {
            tag: params.tag(),
            board_id: *board_id,
        }
    }
}

/// Hashes ([`Hashed::hash`](super::Hashed::hash)) of consecutive messages, which a board stores when they are posted.
/// They are the same for every recipient and digest. The hash of a message whose clue does not parse is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptHashes {
    /// The parameter set and the board.
    pub of: HashesOf,
    /// One hash per message.
    pub hashes: Vec<[u8; 32]>,
}

impl KeptHashes {
    /// Collects hashes for a parameter set on a board.
    pub const fn new(of: HashesOf, hashes: Vec<[u8; 32]>) -> Self {
        Self { of, hashes }
    }
}
