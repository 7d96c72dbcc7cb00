//! Configuration of boards.

use omr_client::letter::Place;
use omr_client::os_rng;
use omr_protocol::request::MAX_PAYLOAD_BYTES;
use omr_protocol::sealing::SealingError;
use omr_protocol::{ClueError, ClueKind, ClueParams, Mismatch, PlanError, Sealing};
use omr_store::{BoardConfig, Clues};
use rand_core::Rng;

/// An error of a board or of a message to be posted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// No digest can contain payloads of this size.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The payloads are too short to be sealed.
    #[error("sealing {sealing} adds {} bytes: expected payloads of at least {}, found {}", sealing.overhead(),
        bytes.expected, bytes.found)]
    PayloadBytes {
        /// The sealing.
        sealing: Sealing,
        /// The least length in bytes, and the length found.
        bytes: Mismatch<usize>,
    },
    /// The clues have another size than those of the parameter set.
    #[error("expected a board with clues of {} bytes, found {}", .0.expected, .0.found)]
    ClueSize(Mismatch<usize>),
    /// A board must not accept this bound clue.
    #[error("message {position} of the post: {source}")]
    BadClue {
        /// The place of the message among those posted together, from 0.
        position: u64,
        /// The error of the clue.
        source: ClueError,
    },
}

/// Makes the configuration of a new board with a random id, after checking that its payloads can be sealed and
/// digested.
///
/// Errors: `Plan`, `PayloadBytes`.
pub fn new_config(
    params: &ClueParams,
    sealing: Sealing,
    payload_bytes: usize,
    clues: ClueKind,
) -> Result<BoardConfig, LocalError> {
    if !(1..=MAX_PAYLOAD_BYTES).contains(&payload_bytes) {
        return Err(PlanError::Payload(payload_bytes).into());
    }
    let least = sealing.overhead() + 1;
    if payload_bytes < least {
        let bytes = Mismatch::new(least, payload_bytes);
        return Err(LocalError::PayloadBytes { sealing, bytes });
    }
    const { assert!(MAX_PAYLOAD_BYTES <= u32::MAX as usize) };
    let mut board_id = [0; 16];
    os_rng().fill_bytes(&mut board_id);
    Ok(BoardConfig {
        board_id,
        params_id: params.name().to_owned(),
        sealing: sealing.name().to_owned(),
        clue_bytes: clues.bytes(params) as u32,
        payload_bytes: payload_bytes as u32,
        clues: match clues {
            ClueKind::Plain => Clues::Plain,
            ClueKind::Bound => Clues::Bound,
        },
    })
}

/// Returns the properties to which letters on a board are bound.
///
/// Errors: an unknown sealing.
pub fn place(config: &BoardConfig) -> Result<Place, SealingError> {
    Ok(Place {
        board_id: config.board_id,
        params: config.params_id.clone(),
        sealing: config.sealing.parse()?,
        payload_bytes: config.payload_bytes as usize,
    })
}

/// Returns the kind of a board's clues.
#[must_use]
pub fn clues_of(of: Clues) -> ClueKind {
    match of {
        Clues::Plain => ClueKind::Plain,
        Clues::Bound => ClueKind::Bound,
    }
}

/// Returns the kind of a board's clues, after a check of their size for the parameter set.
///
/// Errors: `ClueSize`.
pub fn clue_kind(params: &ClueParams, config: &BoardConfig) -> Result<ClueKind, LocalError> {
    let kind = clues_of(config.clues);
    let (expected, found) = (kind.bytes(params), config.clue_bytes as usize);
    if found == expected {
        Ok(kind)
    } else {
        Err(LocalError::ClueSize(Mismatch::new(expected, found)))
    }
}
