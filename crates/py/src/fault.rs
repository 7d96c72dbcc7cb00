//! Everything that can go wrong in a call from Python.

use omr_board::LocalError;
use omr_client::letter::LetterError;
use omr_client::locked::LockError;
use omr_client::{DecodeError, MakeKeyError, SecretKeyError};
use omr_detector::DetectorError;
use omr_protocol::clue::ClueKindError;
use omr_protocol::frame::{FrameError, FrameHeader};
use omr_protocol::instantomr::{OtherHistory, SessionError};
use omr_protocol::scheme::SchemeError;
use omr_protocol::sealing::SealingError;
use omr_protocol::{
    ClueError, ClueKind, DetectionKeyError, DigestError, EngineKind, Mismatch, ParamsError,
    PlanError, Sealing,
};
use omr_store::StoreError;
use std::io;

/// What can go wrong in a call from Python; `raise` tells which exception it becomes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Fault {
    /// A parameter set.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// Two things of different parameter sets.
    #[error("expected parameter set {}, found {}", .0.expected, .0.found)]
    OtherParams(Mismatch<String>),
    /// A file around a key or a digest.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// An address, or a clue.
    #[error(transparent)]
    Clue(#[from] ClueError),
    /// A secret key.
    #[error(transparent)]
    Secret(#[from] SecretKeyError),
    /// A detection key.
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
    /// A digest's file.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// A session's file.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A file under a passphrase.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A secret under a passphrase that was not given.
    #[error("the secret key is under a passphrase, found none: pass passphrase=")]
    NoPassphrase,
    /// The secret and the address of two recipients.
    #[error("expected the address {}, which belongs to the secret key, found {}", .0.expected, .0.found)]
    OtherAddress(Mismatch<String>),
    /// An identity without its address where one is needed.
    #[error("the address does not follow from a secret key for plain clues: pass address= with it")]
    NoAddress,
    /// A local board.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A board after `close`.
    #[error("the board is closed: open it again")]
    Closed,
    /// What a board is made of, or a bound clue that it must not take.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// An address or a key for clues of another kind than the board's.
    #[error("expected {} clues, as the board has, found an address of {} clues", .0.expected, .0.found)]
    ClueKind(Mismatch<ClueKind>),
    /// A letter of more messages than one may have.
    #[error("expected a letter of at most {} messages, found {}", .0.expected, .0.found)]
    TooManyParts(Mismatch<u32>),
    /// Writing or opening a letter.
    #[error(transparent)]
    Letter(#[from] LetterError),
    /// A digest that cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The detector.
    #[error(transparent)]
    Detector(#[from] DetectorError),
    /// Two detection keys for one engine.
    #[error("expected one detection key for {0}, found two")]
    TwoKeys(EngineKind),
    /// No detection key at all.
    #[error("expected a detection key, found none")]
    NoKey,
    /// A session without InstantOMR's key.
    #[error("expected a detection key for InstantOMR, which sessions need, found none")]
    NoInstant,
    /// A board that a session was not begun on.
    #[error("expected board {}, on which the session began, found {}", .0.expected, .0.found)]
    OtherBoard(Mismatch<String>),
    /// A board that is not the one that the session has seen.
    #[error(
        "{}; nothing was changed: `cut` gives the letters that the session holds, then begin a new one{}",
        .0, .0.common.map_or(String::new(), |from| {
            format!(" with start={from}, up to which the board has what the session has seen")
        })
    )]
    OtherHistory(OtherHistory),
    /// A digest number that a session does not have.
    #[error(transparent)]
    Cut(#[from] omr_detector::instantomr::CutError),
    /// A digest that does not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Digests of two boards, whose indices mean different messages.
    #[error("expected digests of one board, {}, found one of {}", .0.expected, .0.found)]
    OtherDigest(Mismatch<String>),
    /// A digest of a board with another sealing than was expected.
    #[error("expected a digest of payloads sealed by {}, found {}", .0.expected, .0.found)]
    OtherSealing(Mismatch<Sealing>),
    /// A word that names nothing.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// A word that names nothing.
    #[error(transparent)]
    Kind(#[from] ClueKindError),
    /// A word that names nothing.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// A word that names nothing.
    #[error("expected the engine sophomr or instantomr, found {0:?}")]
    Engine(String),
    /// A seed of so many bytes.
    #[error("expected a seed of {} bytes, found {}", .0.expected, .0.found)]
    Seed(Mismatch<usize>),
    /// A hash of so many bytes.
    #[error("expected the hash of a key, {} bytes, found {}", .0.expected, .0.found)]
    Hash(Mismatch<usize>),
    /// A server.
    #[error(transparent)]
    Remote(#[from] omr_remote::RemoteError),
    /// An identity, its inbox or its letters.
    #[error(transparent)]
    Mail(#[from] omr_mail::MailError),
    /// An inbox after `close`.
    #[error("the inbox is closed: open it again")]
    InboxClosed,
    /// Two who fetch at once.
    #[error("a fetch or a watch of this inbox is under way: end it first")]
    Fetching,
    /// A fetch into an inbox that another program fetched into when it was opened.
    #[error(
        "another program fetched into this inbox when it was opened: letters are listed and read, nothing is fetched or \
         asked for; close the inbox and open it again when that program has closed it"
    )]
    Beside,
    /// The time between two fetches.
    #[error("expected a time between fetches of at least 0.001 seconds, found {0}")]
    Period(f64),
    /// Canaries of a day.
    #[error("expected a number of canaries a day above 0 and at most 10000000, found {0}")]
    Canaries(f64),
    /// Parameters of private queries.
    #[error(transparent)]
    PdqParams(#[from] omr_pdq::ParamsError),
    /// A query that cannot be planned, or a schema that cannot be used.
    #[error(transparent)]
    PdqPlan(#[from] omr_pdq::PlanError),
    /// A question that is none, or is not one for the table.
    #[error(transparent)]
    Query(#[from] omr_table::QueryError),
    /// A key of private queries.
    #[error(transparent)]
    PdqKey(#[from] omr_pdq::KeyError),
    /// A query's file.
    #[error(transparent)]
    QueryFile(#[from] omr_pdq::QueryFileError),
    /// An answer's file.
    #[error(transparent)]
    Answer(#[from] omr_pdq::AnswerError),
    /// An answer that was not made.
    #[error(transparent)]
    PdqServer(#[from] omr_pdq::ServerError),
    /// An answer that does not decode.
    #[error(transparent)]
    Rows(#[from] omr_pdq::DecodeError),
    /// A table's file.
    #[error(transparent)]
    TableFile(#[from] omr_pdq::TableFileError),
    /// A table's file that was not written.
    #[error(transparent)]
    ClearTable(#[from] omr_table::FileError),
    /// Data that make no table.
    #[error(transparent)]
    Import(#[from] omr_table::ImportError),
    /// Types that there are not.
    #[error(transparent)]
    Schema(#[from] omr_table::SchemaError),
    /// Rows that were not written.
    #[error(transparent)]
    Output(#[from] omr_table::OutputError),
    /// Data of another library.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
    /// What is no table in the clear.
    #[error("expected a table, found {0}")]
    NoTable(String),
    /// What separates fields of CSV.
    #[error("{0}")]
    Delimiter(String),
    /// What Python raised.
    #[error(transparent)]
    Python(pyo3::PyErr),
    /// A server that may answer again.
    #[error(transparent)]
    Passing(omr_remote::RemoteError),
    /// A server that takes no such worker.
    #[error(transparent)]
    Worker(omr_worker::WorkerError),
    /// Bytes that are no unit of work.
    #[error("expected a unit of work, found other bytes")]
    Unit,
    /// Batches that a unit does not have.
    #[error("expected some of a unit's {all} batches, found {}..{}", found.start, found.end)]
    Batches {
        /// All of them; none where the unit must be done whole.
        all: usize,
        /// What was asked for.
        found: std::ops::Range<usize>,
    },
    /// A step of a range or a slice.
    #[error("expected a step of 1, found {0}")]
    Step(isize),
    /// An index beyond the board, or of a message that has expired.
    #[error("expected an index of {} to {}, found {found}", expected.start, expected.end.saturating_sub(1))]
    Index {
        /// The messages that are there.
        expected: std::ops::Range<u64>,
        /// What was asked for.
        found: i64,
    },
    /// No threads.
    #[error("expected at least 1 thread, found 0")]
    Threads,
    /// The system gave no threads.
    #[error("starting threads")]
    Pool(#[from] rayon::ThreadPoolBuildError),
    /// The caller wanted no more.
    #[error("stopped")]
    Stopped,
    /// The system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

// Not a source, since the text holds it already.
impl From<OtherHistory> for Fault {
    fn from(error: OtherHistory) -> Self {
        Self::OtherHistory(error)
    }
}

impl From<omr_worker::WorkerError> for Fault {
    fn from(error: omr_worker::WorkerError) -> Self {
        match error {
            omr_worker::WorkerError::Remote(error) if error.is_passing() => Self::Passing(error),
            omr_worker::WorkerError::Remote(error) => Self::Remote(error),
            other => Self::Worker(other),
        }
    }
}

impl From<MakeKeyError> for Fault {
    fn from(error: MakeKeyError) -> Self {
        match error {
            MakeKeyError::Secret(error) => Self::Secret(error),
            MakeKeyError::Key(error) => Self::Key(error),
            _ => Self::Stopped,
        }
    }
}

/// Errors: `OtherParams` unless both names are the same.
pub(crate) fn check_params(expected: &str, found: &str) -> Result<(), Fault> {
    if expected == found {
        Ok(())
    } else {
        Err(Fault::OtherParams(Mismatch::new(
            expected.to_owned(),
            found.to_owned(),
        )))
    }
}

/// The header of a file of one of these kinds.
///
/// Errors: `Frame`.
pub(crate) fn header_of(
    bytes: &[u8],
    kinds: &[omr_protocol::frame::Kind],
) -> Result<FrameHeader, Fault> {
    let opened = omr_protocol::frame::Opened::new::<FrameError>(bytes, kinds)?;
    Ok(opened.header)
}
