//! The errors of calls from Python.

use omr_binding::BindingError;
use omr_board::LocalError;
use omr_client::letter::LetterError;
use omr_client::locked::LockError;
use omr_client::{DecodeError, MakeKeyError, SecretKeyError, WordsError};
use omr_detector::DetectorError;
use omr_mail::MailError;
use omr_protocol::clue::ClueKindError;
use omr_protocol::frame::{FrameError, FrameHeader};
use omr_protocol::instantomr::{OtherHistory, SessionError};
use omr_protocol::periods::PeriodError;
use omr_protocol::rounds::RoundsError;
use omr_protocol::scheme::SchemeError;
use omr_protocol::sealing::SealingError;
use omr_protocol::{
    ClueError, ClueKind, DetectionKeyError, DigestError, EngineKind, Mismatch, ParamsError,
    PlanError, Sealing,
};
use omr_remote::RemoteError;
use omr_store::StoreError;
use std::io;

/// An error of a call from Python; the module `raise` turns it into an exception.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Fault {
    /// A parameter set is unknown or invalid.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// Two objects have different parameter sets.
    #[error("expected parameter set {}, found {}", .0.expected, .0.found)]
    OtherParams(Mismatch<String>),
    /// The frame of a file is invalid.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// An address or a clue is invalid.
    #[error(transparent)]
    Clue(#[from] ClueError),
    /// A secret key is invalid.
    #[error(transparent)]
    Secret(#[from] SecretKeyError),
    /// The secrets of periods are not those of the secret key.
    #[error(transparent)]
    Periods(#[from] PeriodError),
    /// A detection key is invalid.
    #[error(transparent)]
    Key(#[from] DetectionKeyError),
    /// A digest's file is invalid.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// A session's file is invalid.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The secret is under a passphrase that was not given.
    #[error("the secret key is under a passphrase, found none: pass passphrase=")]
    NoPassphrase,
    /// A secret's file is to be under a passphrase and in plain, or neither was chosen.
    #[error(
        "expected passphrase=, or plain=True for a secret that every reader of the file has, found {0}"
    )]
    Protection(&'static str),
    /// The secret and the address belong to two recipients.
    #[error("expected the address {}, which belongs to the secret key, found {}", .0.expected, .0.found)]
    OtherAddress(Mismatch<String>),
    /// The identity lacks its address, which is needed.
    #[error("the address does not follow from a secret key for plain clues: pass address= with it")]
    NoAddress,
    /// A local board failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The board was closed.
    #[error("the board is closed: open it again")]
    Closed,
    /// The configuration of a board is invalid, or a bound clue is refused.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The address or the key has another kind of clues than the board.
    #[error("expected {} clues, as the board has, found an address of {} clues", .0.expected, .0.found)]
    ClueKind(Mismatch<ClueKind>),
    /// The letter has more messages than allowed.
    #[error("expected a letter of at most {} messages, found {}", .0.expected, .0.found)]
    TooManyParts(Mismatch<u32>),
    /// A letter cannot be written or opened.
    #[error(transparent)]
    Letter(#[from] LetterError),
    /// No such digest can be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The detector failed.
    #[error(transparent)]
    Detector(#[from] DetectorError),
    /// Two detection keys for one engine were given.
    #[error("expected one detection key for {0}, found two")]
    TwoKeys(EngineKind),
    /// No detection key was given.
    #[error("expected a detection key, found none")]
    NoKey,
    /// A session needs InstantOMR's key.
    #[error("expected a detection key for InstantOMR, which sessions need, found none")]
    NoInstant,
    /// Scans and fetches need the key for two rounds.
    #[error("expected a detection key for two rounds, which scans and fetches need, found none")]
    NoRounds,
    /// A key for two rounds makes no digests.
    #[error(
        "expected a detection key that makes digests, found one for two rounds: it makes scans"
    )]
    OnlyScans,
    /// A file of two rounds is invalid, or about other messages.
    #[error(transparent)]
    Rounds(#[from] RoundsError),
    /// The scan contains all payloads.
    #[error(
        "expected a scan without payloads, found one that contains them all: decode it, nothing is to be fetched"
    )]
    WholeScan,
    /// The scan or the query of an answer is missing.
    #[error("expected the {0} of an answer in the same call, found none")]
    LoneAnswer(&'static str),
    /// The session was started with another board.
    #[error("expected board {}, on which the session began, found {}", .0.expected, .0.found)]
    OtherBoard(Mismatch<String>),
    /// The board has another history than the session has seen.
    #[error(
        "{}; nothing was changed: `cut` gives the letters that the session holds, then begin a new one{}",
        .0, .0.common.map_or(String::new(), |from| {
            format!(" with start={from}, up to which the board has what the session has seen")
        })
    )]
    OtherHistory(OtherHistory),
    /// The session does not have a digest of this number.
    #[error(transparent)]
    Cut(#[from] omr_detector::instantomr::CutError),
    /// The digest does not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The digests are of two boards, so that their indices mean different messages.
    #[error("expected digests of one board, {}, found one of {}", .0.expected, .0.found)]
    OtherDigest(Mismatch<String>),
    /// The digest is of a board with another sealing than expected.
    #[error("expected a digest of payloads sealed by {}, found {}", .0.expected, .0.found)]
    OtherSealing(Mismatch<Sealing>),
    /// The name of the sealing is unknown.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// The name of the kind of clues is unknown.
    #[error(transparent)]
    Kind(#[from] ClueKindError),
    /// The name of the scheme is unknown.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The name of the engine is unknown.
    #[error("expected the engine sophomr, instantomr or two-rounds, found {0:?}")]
    Engine(String),
    /// The seed has a wrong length.
    #[error("expected a seed of {} bytes, found {}", .0.expected, .0.found)]
    Seed(Mismatch<usize>),
    /// The hash has a wrong length.
    #[error("expected the hash of a key, {} bytes, found {}", .0.expected, .0.found)]
    Hash(Mismatch<usize>),
    /// A call of a server, an identity, its inbox, or the system failed.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// The client was closed.
    #[error("the client is closed: make another one")]
    ClientClosed,
    /// The interval between fetches is invalid.
    #[error("expected a time between fetches of at least 0.001 seconds, found {0}")]
    Period(f64),
    /// The number of canaries a day is invalid.
    #[error("expected a number of canaries a day above 0 and at most 10000000, found {0}")]
    Canaries(f64),
    /// The parameters of private queries are invalid.
    #[error(transparent)]
    PdqParams(#[from] omr_pdq::ParamsError),
    /// The query cannot be planned, or the schema cannot be used.
    #[error(transparent)]
    PdqPlan(#[from] omr_pdq::PlanError),
    /// The question is invalid, or not one for this table.
    #[error(transparent)]
    Query(#[from] omr_table::QueryError),
    /// A key of private queries is invalid.
    #[error(transparent)]
    PdqKey(#[from] omr_pdq::KeyError),
    /// A query's file is invalid.
    #[error(transparent)]
    QueryFile(#[from] omr_pdq::QueryFileError),
    /// An answer's file is invalid.
    #[error(transparent)]
    Answer(#[from] omr_pdq::AnswerError),
    /// An answer was not made.
    #[error(transparent)]
    PdqServer(#[from] omr_pdq::ServerError),
    /// An answer does not decode.
    #[error(transparent)]
    Rows(#[from] omr_pdq::DecodeError),
    /// An encrypted table's file is invalid.
    #[error(transparent)]
    TableFile(#[from] omr_pdq::TableFileError),
    /// A table's file was not read or written.
    #[error(transparent)]
    ClearTable(#[from] omr_table::FileError),
    /// The data make no table.
    #[error(transparent)]
    Import(#[from] omr_table::ImportError),
    /// A type of a column is unknown.
    #[error(transparent)]
    Schema(#[from] omr_table::SchemaError),
    /// Rows were not written.
    #[error(transparent)]
    Output(#[from] omr_table::OutputError),
    /// The Arrow data of another library are invalid.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
    /// The object is not a table in the clear.
    #[error("expected a table, found {0}")]
    NoTable(String),
    /// The delimiter of CSV is invalid.
    #[error("{0}")]
    Delimiter(String),
    /// Python code raised this exception.
    #[error(transparent)]
    Python(pyo3::PyErr),
    /// The server did not answer, but may answer later.
    #[error(transparent)]
    Passing(RemoteError),
    /// The server does not accept this worker.
    #[error(transparent)]
    Worker(omr_worker::WorkerError),
    /// The bytes are not a unit of work.
    #[error("expected a unit of work, found other bytes")]
    Unit,
    /// The unit does not have these batches.
    #[error("expected some of a unit's {all} batches, found {}..{}", found.start, found.end)]
    Batches {
        /// The number of batches; 0 where the unit must be done as a whole.
        all: usize,
        /// The given batches.
        found: std::ops::Range<usize>,
    },
    /// The step of a range or a slice is not 1.
    #[error("expected a step of 1, found {0}")]
    Step(isize),
    /// The index is beyond the board, or that of an expired message.
    #[error("expected an index of {} to {}, found {found}", expected.start, expected.end.saturating_sub(1))]
    Index {
        /// The messages of the board.
        expected: std::ops::Range<u64>,
        /// The given index.
        found: i64,
    },
    /// The object contains a secret or has open files, and is not pickled.
    #[error("expected an object that is plain bytes, found one with secrets or open files: {0}")]
    Pickle(&'static str),
    /// The number of threads is 0.
    #[error("expected at least 1 thread, found 0")]
    Threads,
    /// The system refused to start threads.
    #[error("starting threads")]
    Pool(#[from] rayon::ThreadPoolBuildError),
}

impl From<MailError> for Fault {
    fn from(error: MailError) -> Self {
        BindingError::from(error).into()
    }
}

impl From<RemoteError> for Fault {
    fn from(error: RemoteError) -> Self {
        BindingError::from(error).into()
    }
}

impl From<LockError> for Fault {
    fn from(error: LockError) -> Self {
        BindingError::from(error).into()
    }
}

impl From<WordsError> for Fault {
    fn from(error: WordsError) -> Self {
        BindingError::from(error).into()
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        BindingError::from(error).into()
    }
}

// The error is not a source, since the message contains its text.
impl From<OtherHistory> for Fault {
    fn from(error: OtherHistory) -> Self {
        Self::OtherHistory(error)
    }
}

impl From<omr_worker::WorkerError> for Fault {
    fn from(error: omr_worker::WorkerError) -> Self {
        match error {
            omr_worker::WorkerError::Remote(error) if error.is_passing() => Self::Passing(error),
            omr_worker::WorkerError::Remote(error) => error.into(),
            other => Self::Worker(other),
        }
    }
}

impl From<MakeKeyError> for Fault {
    fn from(error: MakeKeyError) -> Self {
        match error {
            MakeKeyError::Secret(error) => Self::Secret(error),
            MakeKeyError::Key(error) => Self::Key(error),
            _ => BindingError::Stopped.into(),
        }
    }
}

/// Checks that two names of parameter sets are equal.
///
/// Errors: `OtherParams` unless they are.
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

/// Returns the header of a file of one of these kinds.
///
/// Errors: `Frame`.
pub(crate) fn header_of(
    bytes: &[u8],
    kinds: &[omr_protocol::frame::Kind],
) -> Result<FrameHeader, Fault> {
    let opened = omr_protocol::frame::Opened::new::<FrameError>(bytes, kinds)?;
    Ok(opened.header)
}
