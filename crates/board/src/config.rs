//! What a board is made of: its fixed configuration and its messages.

use crate::error::{BoardError, ConfigField};
use crate::format::{MAX_PARAMS_ID_BYTES, MAX_PART_BYTES, MAX_SEALING_BYTES};

/// The configuration of a board, fixed when it is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardConfig {
    /// Names this board among all boards; drawn at random by the caller. Part of every checksum.
    pub board_id: [u8; 16],
    /// Names the parameter set of the clues; opaque here, at most 64 bytes.
    pub params_id: String,
    /// Names how payloads are sealed; opaque here, at most 32 bytes.
    pub sealing: String,
    /// Bytes of every clue, `1..=2^26`.
    pub clue_bytes: u32,
    /// Bytes of every payload, `0..=2^26`.
    pub payload_bytes: u32,
}

impl BoardConfig {
    /// Tests every field against its range.
    ///
    /// Errors: [`BoardError::Config`] naming the first field out of range.
    pub(crate) fn check(&self) -> Result<(), BoardError> {
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
            (ConfigField::ClueBytes, u64::from(self.clue_bytes), 1, part),
            (
                ConfigField::PayloadBytes,
                u64::from(self.payload_bytes),
                0,
                part,
            ),
        ];
        for (field, found, least, most) in fields {
            if !(least..=most).contains(&found) {
                return Err(BoardError::Config {
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
