//! Ids of boards that take their messages from a ledger.

use crate::{ClueKind, Sealing};

/// Returns the id of the board for a ledger, which is the same at every operator: a hash of the ledger's name and of all
/// that the board is made of. The name should contain what nobody can choose, such as the hash of the first block, and
/// the purpose of the board.
#[must_use]
pub fn ledger_board_id(
    ledger: &str,
    params: &str,
    sealing: Sealing,
    payload_bytes: u32,
    clues: ClueKind,
) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new_derive_key("omr v1 ledger board");
    for text in [ledger, params, sealing.name()] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.update(&payload_bytes.to_le_bytes());
    hasher.update(&[clues.tag()]);
    let hash = hasher.finalize();
    *hash.as_bytes().first_chunk().expect("32 bytes")
}
