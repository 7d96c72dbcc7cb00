//! The kind of a board's clues, and the payloads or hashes that bound clues are read with.

use crate::DetectorError;
use crate::error::check_len;
use omr_protocol::Mismatch;
use omr_protocol::clue::{Binding, FingerprintKey, Hashed};
use omr_protocol::{ClueKind, ClueParams, SEED_BYTES};

/// Checks by the length of a board's clues that they are of the kind that a key accepts.
///
/// Errors: `ClueKind` if they are of another kind.
pub(crate) fn check_kind(
    params: &ClueParams,
    expected: ClueKind,
    clue_bytes: usize,
) -> Result<(), DetectorError> {
    let of_board = ClueKind::ALL
        .into_iter()
        .find(|kind| kind.bytes(params) == clue_bytes);
    match of_board {
        Some(found) if found != expected => {
            Err(DetectorError::ClueKind(Mismatch::new(expected, found)))
        }
        _ => Ok(()),
    }
}

/// The payloads of a batch of bound clues, or hashes that were stored for them.
pub struct BoundTo<'a> {
    board_id: &'a [u8; 16],
    messages: Messages<'a>,
    fingerprints: FingerprintKey,
}

enum Messages<'a> {
    /// Payloads one after another, and the length of each.
    Payloads(&'a [u8], usize),
    /// Stored hashes for this parameter set and board.
    Hashes(&'a [[u8; 32]]),
}

impl<'a> BoundTo<'a> {
    /// Makes the input of `messages` clues from their payloads, for a digest of this board and seed. In a digest of
    /// indices (`None`), payloads have equal lengths that add up to the length of `payloads`.
    ///
    /// Errors: `SourceLength`.
    pub fn new(
        board_id: &'a [u8; 16],
        seed: &[u8; SEED_BYTES],
        payloads: &'a [u8],
        messages: usize,
        payload_bytes: Option<usize>,
    ) -> Result<Self, DetectorError> {
        // A message has a payload of at least one byte.
        let bytes = payload_bytes
            .unwrap_or(payloads.len() / messages.max(1))
            .max(1);
        check_len("payloads", messages * bytes, payloads.len())?;
        Ok(Self {
            board_id,
            messages: Messages::Payloads(payloads, bytes),
            fingerprints: FingerprintKey::new(seed),
        })
    }

    /// Makes the input of clues from the hashes of all messages, which must be for the clues' parameter set and the
    /// board.
    pub(crate) fn kept(
        board_id: &'a [u8; 16],
        seed: &[u8; SEED_BYTES],
        hashes: &'a [[u8; 32]],
    ) -> Self {
        Self {
            board_id,
            messages: Messages::Hashes(hashes),
            fingerprints: FingerprintKey::new(seed),
        }
    }

    /// Returns the hash of a message, whose clue has been parsed.
    ///
    /// Panics: if there is no such message.
    pub fn hashed<'c>(&self, params: &ClueParams, message: usize, clue: &'c [u8]) -> Hashed<'c> {
        match self.messages {
            Messages::Hashes(hashes) => Hashed::kept(params, hashes[message], clue),
            Messages::Payloads(payloads, bytes) => {
                let payload = &payloads[message * bytes..][..bytes];
                Hashed::new(params, Binding::new(self.board_id, payload), clue)
            }
        }
    }

    /// Returns the fingerprint that a digest contains of a clue.
    pub fn fingerprint(&self, hashed: &Hashed) -> u32 {
        hashed.fingerprint(&self.fingerprints)
    }
}
