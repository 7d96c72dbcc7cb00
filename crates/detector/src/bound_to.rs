//! What clues of a board are read with: their kind, and the payloads that bound ones are bound to.

use crate::DetectorError;
use crate::error::check_len;
use omr_protocol::Mismatch;
use omr_protocol::clue::{Binding, FingerprintKey, Hashed};
use omr_protocol::{ClueKind, ClueParams, SEED_BYTES};

/// Checks that a board's clues, by their length, are of the kind that a key takes.
///
/// Errors: `ClueKind` where they are of the other one.
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

/// What the bound clues of a batch are read with: their payloads, or what was kept of them.
pub struct BoundTo<'a> {
    board_id: &'a [u8; 16],
    messages: Messages<'a>,
    fingerprints: FingerprintKey,
}

enum Messages<'a> {
    /// Payloads one after another, of so many bytes.
    Payloads(&'a [u8], usize),
    /// Kept hashes of this set and board.
    Hashes(&'a [[u8; 32]]),
}

impl<'a> BoundTo<'a> {
    /// The payloads of so many messages, of a digest of indices (`None`) as long as they are, for a digest of this
    /// board and seed.
    ///
    /// Errors: `SourceLength`.
    pub fn new(
        (board_id, seed): (&'a [u8; 16], &[u8; SEED_BYTES]),
        payloads: &'a [u8],
        messages: usize,
        payload_bytes: Option<usize>,
    ) -> Result<Self, DetectorError> {
        let payload_bytes = payload_bytes.unwrap_or(payloads.len() / messages.max(1));
        let payload_bytes = payload_bytes.max(1); // a message has a payload
        check_len("payloads", messages * payload_bytes, payloads.len())?;
        Ok(Self {
            board_id,
            messages: Messages::Payloads(payloads, payload_bytes),
            fingerprints: FingerprintKey::new(seed),
        })
    }

    /// The hashes of all messages, kept for the parameter set of the clues and this board.
    pub(crate) fn kept(
        (board_id, seed): (&'a [u8; 16], &[u8; SEED_BYTES]),
        hashes: &'a [[u8; 32]],
    ) -> Self {
        Self {
            board_id,
            messages: Messages::Hashes(hashes),
            fingerprints: FingerprintKey::new(seed),
        }
    }

    /// A message's clue, which was parsed, and its hash. Panics: when there is no such message.
    pub fn hashed<'c>(&self, params: &ClueParams, message: usize, clue: &'c [u8]) -> Hashed<'c> {
        match self.messages {
            Messages::Hashes(hashes) => Hashed::kept(params, hashes[message], clue),
            Messages::Payloads(payloads, bytes) => {
                let payload = &payloads[message * bytes..][..bytes];
                Hashed::new(params, Binding::new(self.board_id, payload), clue)
            }
        }
    }

    /// What a digest says of a clue.
    pub fn fingerprint(&self, hashed: &Hashed) -> u32 {
        hashed.fingerprint(&self.fingerprints)
    }
}
