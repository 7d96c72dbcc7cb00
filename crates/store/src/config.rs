//! What a board is made of: its fixed configuration and its messages.

use crate::error::{ConfigField, StoreError};

/// The longest parameter id, in bytes.
const MAX_PARAMS_ID_BYTES: usize = 64;
/// The longest sealing id, in bytes.
const MAX_SEALING_BYTES: usize = 32;
/// The longest clue and the longest payload, in bytes.
const MAX_PART_BYTES: u32 = 1 << 26;

/// The configuration of a board, fixed when it is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardConfig {
    /// Names this board among all boards; drawn at random by the caller. Part of every checksum.
    pub board_id: [u8; 16],
    /// Names the parameter set of the clues; opaque here, at most 64 bytes.
    pub params_id: String,
    /// Names how payloads are sealed; opaque here, at most 32 bytes.
    pub sealing: String,
    /// Bytes of every clue, `1..=2^26`; of a bound one at least 96.
    pub clue_bytes: u32,
    /// Bytes of every payload, `0..=2^26`.
    pub payload_bytes: u32,
    /// What the board asks of clues.
    pub clues: Clues,
}

/// What a board asks of clues beside their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clues {
    /// Nothing.
    #[default]
    Plain,
    /// No two clues have the same key. Whoever appends has tested the signature behind it: a board that takes keys
    /// that did not sign lets anybody use up the keys of others.
    Bound,
}

/// Bytes of the key in a bound clue.
pub const POST_KEY_BYTES: usize = 32;
/// Bytes of the signature behind it, the last of the clue.
const SIGNATURE_BYTES: usize = 64;

impl Clues {
    /// The number that stands for it in files, the same as the first byte of such clues.
    pub fn tag(self) -> u8 {
        match self {
            Self::Plain => 1,
            Self::Bound => 2,
        }
    }

    /// The one with a number.
    pub fn from_tag(tag: u8) -> Option<Self> {
        [Self::Plain, Self::Bound]
            .into_iter()
            .find(|clues| clues.tag() == tag)
    }

    /// The key of which a board takes one message: 32 bytes before the last 64. None in plain clues, and where a clue
    /// is too short.
    pub fn post_key(self, clue: &[u8]) -> Option<&[u8; POST_KEY_BYTES]> {
        match self {
            Self::Plain => None,
            Self::Bound => {
                let end = clue.len().checked_sub(SIGNATURE_BYTES)?;
                clue[..end].last_chunk()
            }
        }
    }

    /// The least bytes of a clue.
    pub(crate) fn least_bytes(self) -> u32 {
        match self {
            Self::Plain => 1,
            Self::Bound => (POST_KEY_BYTES + SIGNATURE_BYTES) as u32,
        }
    }
}

impl BoardConfig {
    /// Tests every field against its range.
    ///
    /// Errors: [`StoreError::Config`] naming the first field out of range.
    pub fn check(&self) -> Result<(), StoreError> {
        let part = u64::from(MAX_PART_BYTES);
        let fields = [
            (
                ConfigField::ParamsId,
                self.params_id.len() as u64,
                0,
                MAX_PARAMS_ID_BYTES as u64,
            ),
            (
                ConfigField::Sealing,
                self.sealing.len() as u64,
                0,
                MAX_SEALING_BYTES as u64,
            ),
            (
                ConfigField::ClueBytes,
                u64::from(self.clue_bytes),
                u64::from(self.clues.least_bytes()),
                part,
            ),
            (
                ConfigField::PayloadBytes,
                u64::from(self.payload_bytes),
                0,
                part,
            ),
        ];
        for (field, found, least, most) in fields {
            if !(least..=most).contains(&found) {
                return Err(StoreError::Config {
                    field,
                    least,
                    most,
                    found,
                });
            }
        }
        Ok(())
    }
}

/// One message as posted: a clue for the detector and a payload for the recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The clue, [`BoardConfig::clue_bytes`] long.
    pub clue: Vec<u8>,
    /// The payload, [`BoardConfig::payload_bytes`] long.
    pub payload: Vec<u8>,
}
