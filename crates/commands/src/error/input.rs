//! Why a file could not be used.

use omr_board::LocalError;
use omr_client::letter::LetterError;
use omr_client::locked::LockError;
use omr_client::{MakeKeyError, SecretKeyError};
use omr_console::ReadError;
use omr_detector::instantomr::CutError;
use omr_protocol::Mismatch;
use omr_protocol::frame::FrameError;
use omr_protocol::instantomr::{OtherHistory, SessionError};
use omr_protocol::sealing::SealingError;
use omr_protocol::{ClueError, ClueKind, DetectionKeyError, DigestError, ParamsError, Sealing};
use omr_store::StoreError;
use std::io;

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum InputError {
    /// Not read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Longer than such a file may be.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A table, or a file of a private database query.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Pdq(#[from] crate::commands::full::PdqError),
    /// Not a file of ours, or damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Nothing that names a recipient.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Recipient(#[from] crate::commands::full::RecipientError),
    /// Not an address.
    #[error(transparent)]
    ClueKey(#[from] ClueError),
    /// Not a detection key.
    #[error(transparent)]
    DetectionKey(#[from] DetectionKeyError),
    /// Not a secret key.
    #[error(transparent)]
    SecretKey(#[from] SecretKeyError),
    /// A detection key was not made.
    #[error(transparent)]
    MakeKey(#[from] MakeKeyError),
    /// Under a passphrase, and not opened.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Not a digest.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// Of parameters that are not published.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// Not split or not sealed.
    #[error(transparent)]
    Letter(#[from] LetterError),
    /// A board, or a message of one.
    #[error(transparent)]
    Board(#[from] StoreError),
    /// Not a session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// No digest was cut off.
    #[error(transparent)]
    Cut(#[from] CutError),
    /// A key for another engine.
    #[error("expected an instant.key, found a key for SophOMR")]
    NoInstant,
    /// No session in the file's place.
    #[error("expected a session, found no file: begin one with `omr stream run`")]
    NoSession,
    /// A session that was begun otherwise.
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
        /// The most messages until it is cut.
        room: Option<u64>,
    },
    /// A board that is not the one that the session has seen.
    #[error(
        "{}; nothing was changed: `omr stream cut` gives the letters that the session holds, then begin a new session in \
         another file{}", .0, begin(.0.common)
    )]
    OtherHistory(OtherHistory),
    /// Not what `omr-lab bench crossover --json` prints.
    #[error("expected the object that `omr-lab bench crossover --json` prints")]
    Costs(#[source] serde_json::Error),
    /// Costs that no machine has.
    #[error("expected costs above 0 seconds, found others")]
    CostsRange,
    /// A board with an unknown sealing.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// A file that is too long for one post.
    #[error(
        "expected at most {limit} messages a file (some {} bytes here), found {bytes} bytes, which are {found}: post it \
         in pieces, or on a board with larger payloads",
        limit * each
    )]
    TooManyParts {
        /// Most messages of a file.
        limit: u64,
        /// Messages it would take.
        found: u64,
        /// Its bytes.
        bytes: u64,
        /// Bytes of it in each message.
        each: u64,
    },
    /// The board was replaced while it was read or written.
    #[error("another board is in its place now: start again")]
    OtherBoard,
    /// Others did not let go of a board for so many seconds.
    #[error("other commands have had the board open for {0} seconds: try again when they are done")]
    BoardBusy(u64),
    /// Parts kept from earlier digests.
    #[error(transparent)]
    Kept(#[from] omr_client::kept::KeptError),
    /// What a board is made of, or a bound clue that it must not take.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// A raw payload of another size.
    #[error("expected a payload of {} bytes, found {}", .0.expected, .0.found)]
    RawSize(Mismatch<usize>),
    /// An address for other clues than the board takes.
    #[error("expected an address for {} clues, which the board takes, found one for {} clues: its owner \
         makes another one{}", .0.expected, .0.found, match .0.found { ClueKind::Plain => "", ClueKind::Bound => " with --plain-clues" })]
    ClueKind(Mismatch<ClueKind>),
    /// No message to digest.
    #[error("the board is empty: there is nothing to digest")]
    EmptyBoard,
    /// A range that ends past the board.
    #[error(
        "expected a range within 0..{messages}, the messages on the board, found {start}..{end}"
    )]
    Range {
        /// Messages on the board.
        messages: u64,
        /// First message asked for.
        start: u64,
        /// One past the last.
        end: u64,
    },
    /// A board that does not read as it was written.
    #[error("the board is damaged: {}", damage(*bad, *messages))]
    Unsound {
        /// Messages at fault.
        bad: u64,
        /// Messages in all.
        messages: u64,
    },
    /// A board with messages that should have been refused.
    #[error(
        "expected clues that their one-time keys signed and hashes that are theirs, found others in {bad} of {messages} \
         messages"
    )]
    Unsigned {
        /// Messages at fault.
        bad: u64,
        /// Messages in all.
        messages: u64,
    },
    /// Payloads that are to be sealed, as this board's are, cannot be posted raw.
    #[error("expected a board with sealing none for --raw, found {0}")]
    RawSealed(Sealing),
    /// The digest comes from a board with another sealing than the caller expects.
    #[error("expected a digest of a board with sealing {}, found {}", .0.expected, .0.found)]
    OtherSealing(Mismatch<Sealing>),
}

// Not a source, since the text holds it already.
impl From<OtherHistory> for InputError {
    fn from(error: OtherHistory) -> Self {
        Self::OtherHistory(error)
    }
}

/// Where to begin, behind the advice to begin anew.
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
