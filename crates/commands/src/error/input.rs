//! The errors of input files.

use omr_board::LocalError;
use omr_client::letter::LetterError;
use omr_client::locked::LockError;
use omr_client::{MakeKeyError, SecretKeyError, WordsError};
use omr_console::ReadError;
use omr_detector::instantomr::CutError;
use omr_protocol::Mismatch;
use omr_protocol::frame::FrameError;
use omr_protocol::instantomr::{OtherHistory, SessionError};
use omr_protocol::periods::PeriodError;
use omr_protocol::sealing::SealingError;
use omr_protocol::{ClueError, ClueKind, DetectionKeyError, DigestError, ParamsError, Sealing};
use omr_store::StoreError;
use std::io;

/// An error of an input file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum InputError {
    /// The file was not read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is longer than allowed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The secrets of periods are not those of the secret key.
    #[error(transparent)]
    Periods(#[from] PeriodError),
    /// A table or another file of a private database query is invalid.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Pdq(#[from] crate::commands::full::PdqError),
    /// A line does not contain a block of a ledger.
    #[cfg(feature = "full")]
    #[error("line {number}: {reason}")]
    Block {
        /// The number of the line, from 1.
        number: u64,
        /// The reason why it does not.
        reason: String,
    },
    /// The file has no valid frame, or is damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The argument does not stand for a recipient.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Recipient(#[from] crate::commands::full::RecipientError),
    /// The address is invalid.
    #[error(transparent)]
    ClueKey(#[from] ClueError),
    /// The detection key is invalid.
    #[error(transparent)]
    DetectionKey(#[from] DetectionKeyError),
    /// The secret key is invalid.
    #[error(transparent)]
    SecretKey(#[from] SecretKeyError),
    /// A detection key was not made.
    #[error(transparent)]
    MakeKey(#[from] MakeKeyError),
    /// The file is under a passphrase, and was not opened.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The words make no keys.
    #[error(transparent)]
    Words(#[from] WordsError),
    /// The digest is invalid.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// A file of two rounds is invalid.
    #[error(transparent)]
    Rounds(#[from] omr_protocol::rounds::RoundsError),
    /// The scan contains all payloads.
    #[error("expected a scan without payloads, found one with all of them: `omr decode` reads it")]
    WholeScan,
    /// The scan contains no payloads.
    #[error("expected a scan with payloads, found one without: `omr ask` makes the query for them")]
    PlainScan,
    /// An answer stands alone.
    #[error(
        "expected an answer with --scan and --query, the files that it answers, found it alone"
    )]
    LoneAnswer,
    /// The parameters are not published.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A letter was not split or not sealed.
    #[error(transparent)]
    Letter(#[from] LetterError),
    /// A board or one of its messages is invalid.
    #[error(transparent)]
    Board(#[from] StoreError),
    /// The session is invalid.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// No digest was made.
    #[error(transparent)]
    Cut(#[from] CutError),
    /// The key is for another engine.
    #[error("expected an instant.key, found a key for SophOMR")]
    NoInstant,
    /// There is no session in this file.
    #[error("expected a session, found no file: begin one with `omr stream run`")]
    NoSession,
    /// The session was started with other options.
    #[error(
        "expected the session's board, its bound {bound} and {}{}, found others: begin a new session \
         in another file",
        if *indices { "indices only" } else { "payloads" },
        room.map_or(String::new(), |room| format!(", room for {room} messages"))
    )]
    OtherSession {
        /// The session's bound.
        bound: usize,
        /// Whether it has indices alone.
        indices: bool,
        /// The highest number of messages of a digest.
        room: Option<u64>,
    },
    /// The board is not the one that the session has processed.
    #[error(
        "{}; nothing was changed: `omr stream cut` gives the letters that the session holds, then begin a new session in \
         another file{}", .0, begin(.0.common)
    )]
    OtherHistory(OtherHistory),
    /// The file is not the output of `omr-lab bench crossover --json`.
    #[error("expected the object that `omr-lab bench crossover --json` prints")]
    Costs(#[source] serde_json::Error),
    /// The costs are impossible.
    #[error("expected costs above 0 seconds, found others")]
    CostsRange,
    /// The board has an unknown sealing.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// The file is too long for one post.
    #[error(
        "expected at most {limit} messages a file (some {} bytes here), found {bytes} bytes, which are {found}: post it \
         in pieces, or on a board with larger payloads",
        limit * each
    )]
    TooManyParts {
        /// The highest number of messages of a file.
        limit: u64,
        /// The number of messages that it would take.
        found: u64,
        /// The number of its bytes.
        bytes: u64,
        /// The number of its bytes in each message.
        each: u64,
    },
    /// The board was replaced while it was read or written.
    #[error("another board is in its place now: start again")]
    OtherBoard,
    /// Other processes have had the board open for this number of seconds.
    #[error("other commands have had the board open for {0} seconds: try again when they are done")]
    BoardBusy(u64),
    /// The kept parts of earlier digests are invalid.
    #[error(transparent)]
    Kept(#[from] omr_client::kept::KeptError),
    /// The configuration of a board is invalid, or a bound clue is refused.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The raw payload has another size.
    #[error("expected a payload of {} bytes, found {}", .0.expected, .0.found)]
    RawSize(Mismatch<usize>),
    /// The address has other clues than the board.
    #[error("expected an address for {} clues, which the board takes, found one for {} clues: its owner \
         makes another one{}", .0.expected, .0.found, match .0.found { ClueKind::Plain => "", ClueKind::Bound => " with --plain-clues" })]
    ClueKind(Mismatch<ClueKind>),
    /// The board has no message for a digest.
    #[error("the board is empty: there is nothing to digest")]
    EmptyBoard,
    /// The range ends after the board.
    #[error(
        "expected a range within 0..{messages}, the messages on the board, found {start}..{end}"
    )]
    Range {
        /// The number of messages on the board.
        messages: u64,
        /// The first requested message.
        start: u64,
        /// The index after the last requested message.
        end: u64,
    },
    /// The board is damaged.
    #[error("the board is damaged: {}", damage(*bad, *messages))]
    Unsound {
        /// The number of damaged messages.
        bad: u64,
        /// The number of all messages.
        messages: u64,
    },
    /// The board has messages that should have been refused.
    #[error(
        "expected clues that their one-time keys signed and hashes that are theirs, found others in {bad} of {messages} \
         messages"
    )]
    Unsigned {
        /// The number of these messages.
        bad: u64,
        /// The number of all messages.
        messages: u64,
    },
    /// Payloads that are to be sealed, as this board's are, cannot be posted raw.
    #[error("expected a board with sealing none for --raw, found {0}")]
    RawSealed(Sealing),
    /// The digest comes from a board with another sealing than the caller expects.
    #[error("expected a digest of a board with sealing {}, found {}", .0.expected, .0.found)]
    OtherSealing(Mismatch<Sealing>),
}

// The error is not a source, since the message contains its text.
impl From<OtherHistory> for InputError {
    fn from(error: OtherHistory) -> Self {
        Self::OtherHistory(error)
    }
}

/// Returns the advice on where to start a new session.
fn begin(common: Option<u64>) -> String {
    match common {
        Some(from) => {
            format!(", with `--from {from}`: up to there the board has what the session has seen")
        }
        None => ", which reads the board from its first message".to_owned(),
    }
}

fn damage(bad: u64, messages: u64) -> String {
    match bad {
        0 => format!(
            "all {messages} messages can be read, but the database under them is at fault and may lose the next \
             ones: copy it, and post no more to it"
        ),
        _ => format!("{bad} of {messages} messages cannot be read"),
    }
}
