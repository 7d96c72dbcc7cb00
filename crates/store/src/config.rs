//! The fixed configuration of a board, and its messages.

use crate::error::{ConfigField, StoreError};

/// The greatest length of a parameter id, in bytes.
const MAX_PARAMS_ID_BYTES: usize = 64;
/// The greatest length of a sealing id, in bytes.
const MAX_SEALING_BYTES: usize = 32;
/// The greatest length of a clue and of a payload, in bytes.
const MAX_PART_BYTES: u32 = 1 << 26;

/// The configuration of a board, fixed when it is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardConfig {
    /// The name of this board among all boards, drawn at random by the caller. Every checksum depends on it.
    pub board_id: [u8; 16],
    /// The name of the clues' parameter set: at most 64 bytes, opaque to the store.
    pub params_id: String,
    /// The name of the way in which payloads are sealed: at most 32 bytes, opaque to the store.
    pub sealing: String,
    /// The length of every clue: `1..=2^26` bytes, at least 96 for bound clues.
    pub clue_bytes: u32,
    /// The length of every payload: `0..=2^26` bytes.
    pub payload_bytes: u32,
    /// The conditions that the board sets for clues.
    pub clues: Clues,
}

/// The conditions that a board sets for clues besides their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clues {
    /// There are no further conditions.
    #[default]
    Plain,
    /// No two clues may have the same one-time key. The caller who appends has tested the signature of the key: a board
    /// that takes unsigned keys lets anybody use up the keys of others.
    Bound,
}

/// The length of the one-time key in a bound clue, in bytes.
pub const POST_KEY_BYTES: usize = 32;
/// The length of the signature after the key, which ends the clue, in bytes.
const SIGNATURE_BYTES: usize = 64;

impl Clues {
    /// Returns the number that stands for this kind in files. It is the first byte of every clue of this kind.
    pub fn tag(self) -> u8 {
        match self {
            Self::Plain => 1,
            Self::Bound => 2,
        }
    }

    /// Returns the kind with a number.
    pub fn from_tag(tag: u8) -> Option<Self> {
        [Self::Plain, Self::Bound]
            .into_iter()
            .find(|clues| clues.tag() == tag)
    }

    /// Returns the one-time key of a clue: the 32 bytes before the last 64. Returns `None` for a plain clue and for a
    /// clue that is too short.
    pub fn post_key(self, clue: &[u8]) -> Option<&[u8; POST_KEY_BYTES]> {
        match self {
            Self::Plain => None,
            Self::Bound => {
                let end = clue.len().checked_sub(SIGNATURE_BYTES)?;
                clue[..end].last_chunk()
            }
        }
    }

    /// Returns the least length of a clue, in bytes.
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
    /// Errors: [`StoreError::Config`] with the first field out of range.
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

/// A message as it was posted: a clue for the detector and a payload for the recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The clue, of [`BoardConfig::clue_bytes`] bytes.
    pub clue: Vec<u8>,
    /// The payload, of [`BoardConfig::payload_bytes`] bytes.
    pub payload: Vec<u8>,
}
