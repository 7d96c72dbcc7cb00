//! What clues of a board are read with: their kind, and the payloads that bound ones are bound to.

use crate::DetectorError;
use crate::error::check_len;
use omr_protocol::Mismatch;
use omr_protocol::clue::{Binding, FingerprintKey};
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

/// Payloads of a batch, which bound clues are bound to.
pub struct BoundTo<'a> {
    /// The board.
    pub board_id: &'a [u8; 16],
    /// One after another.
    pub payloads: &'a [u8],
    /// Bytes of one.
    pub payload_bytes: usize,
    /// For the fingerprints of the digest that clues are read for.
    pub fingerprints: FingerprintKey,
}

impl<'a> BoundTo<'a> {
    /// The payloads of so many messages, of a digest of indices (`None`) as long as they are.
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
            payloads,
            payload_bytes,
            fingerprints: FingerprintKey::new(seed),
        })
    }

    /// What the clue of a message is bound to. Panics: when there is no such message.
    pub(crate) fn message(&self, number: usize) -> Binding<'_> {
        Binding::new(
            self.board_id,
            &self.payloads[number * self.payload_bytes..][..self.payload_bytes],
        )
    }
}
