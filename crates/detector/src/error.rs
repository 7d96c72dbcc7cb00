//! Errors of making digests.

use omr_bgv::EvalError;
use omr_protocol::Mismatch;
use omr_protocol::{ClueKind, EngineKind};

/// An error of making a digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectorError {
    /// The board could not be read.
    #[error("reading messages: {0}")]
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// The source returned another number of bytes than expected.
    #[error("expected {} bytes of {what}, found {}", bytes.expected, bytes.found)]
    SourceLength {
        /// The kind of bytes: clues, payloads or hashes.
        what: &'static str,
        /// The numbers of bytes expected and read.
        bytes: Mismatch<usize>,
    },
    /// The clues are of another kind than those of the detection key.
    #[error("expected a board of {} clues, which the detection key takes, found one of {} clues", .0.expected, .0.found)]
    ClueKind(Mismatch<ClueKind>),
    /// The detection key for this engine, which the scheme needs, is missing.
    #[error("expected a detection key for {0}, found none")]
    NoKey(EngineKind),
    /// There are more messages than the session has room for.
    #[error("expected messages up to {}, where the session's room ends, found some up to {}", .0.expected, .0.found)]
    Full(Mismatch<u64>),
    /// The device of the engine failed.
    #[error("making the digest on {engine}: {failure}")]
    Engine {
        /// The name of the device.
        engine: String,
        /// The failure that it reported.
        failure: String,
    },
    /// An observer of the progress stopped the work.
    #[error("stopped before the digest was made")]
    Stopped,
    /// No digest can answer the request.
    #[error(transparent)]
    Plan(#[from] omr_protocol::PlanError),
    /// The parts do not add up to a digest.
    #[error(transparent)]
    Partial(#[from] omr_protocol::sophomr::PartialError),
    /// A file of one of the two rounds was refused.
    #[error(transparent)]
    Rounds(#[from] omr_protocol::rounds::RoundsError),
    /// The payloads of a query's range are not prepared.
    #[error("expected prepared payloads of messages {start}..{end}, found those of other pages")]
    NotPrepared {
        /// First message.
        start: u64,
        /// One past the last.
        end: u64,
    },
    /// A step of the evaluation was refused: the parameters do not fit the circuit.
    #[error(transparent)]
    Eval(EvalError),
    /// The payload size does not fit the code.
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

/// Checks a number of bytes.
///
/// Errors: `SourceLength` unless both numbers are equal.
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
