//! Why a digest could not be made.

use omr_bgv::EvalError;
use omr_protocol::Mismatch;
use omr_protocol::{ClueKind, EngineKind};

/// Why a digest could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectorError {
    /// The board could not be read.
    #[error("reading messages: {0}")]
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// The board gave other sizes than it announced.
    #[error("expected {} bytes of {what}, found {}", bytes.expected, bytes.found)]
    SourceLength {
        /// Clues, payloads or hashes.
        what: &'static str,
        /// Bytes asked for, and bytes read.
        bytes: Mismatch<usize>,
    },
    /// Clues of another kind than the detection key takes.
    #[error("expected a board of {} clues, which the detection key takes, found one of {} clues", .0.expected, .0.found)]
    ClueKind(Mismatch<ClueKind>),
    /// A scheme whose detection key, that of this engine, is missing.
    #[error("expected a detection key for {0}, found none")]
    NoKey(EngineKind),
    /// More messages than a session was begun for.
    #[error("expected messages up to {}, where the session's room ends, found some up to {}", .0.expected, .0.found)]
    Full(Mismatch<u64>),
    /// What the engine works on failed.
    #[error("making the digest on {engine}: {failure}")]
    Engine {
        /// A card, by name.
        engine: String,
        /// What it said.
        failure: String,
    },
    /// Whoever watches the progress wanted no more.
    #[error("stopped before the digest was made")]
    Stopped,
    /// A digest that cannot be made.
    #[error(transparent)]
    Plan(#[from] omr_protocol::PlanError),
    /// Sums that do not make up a digest.
    #[error(transparent)]
    Partial(#[from] omr_protocol::sophomr::PartialError),
    /// A step of the evaluation was refused: the parameters do not fit the circuit.
    #[error(transparent)]
    Eval(EvalError),
    /// The payload size does not suit the code.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
}

impl From<EvalError> for DetectorError {
    fn from(error: EvalError) -> Self {
        match error {
            EvalError::Stopped => Self::Stopped,
            error => Self::Eval(error),
        }
    }
}

/// Errors: `SourceLength` unless both are the same.
pub(crate) fn check_len(
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), DetectorError> {
    if expected == found {
        Ok(())
    } else {
        Err(DetectorError::SourceLength {
            what,
            bytes: Mismatch::new(expected, found),
        })
    }
}
