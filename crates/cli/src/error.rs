//! Why a command failed, and the exit code that tells.

mod code;
mod pdq;

pub(crate) use code::Code;
pub(crate) use pdq::PdqError;

use omr_bench::BenchError;
use omr_board::BoardError;
use omr_client::letter::LetterError;
use omr_client::locked::LockError;
use omr_client::{DecodeError, SecretKeyError};
use omr_detector::DetectorError;
use omr_detector::instantomr::CutError;
use omr_mail::MailError;
use omr_protocol::frame::FrameError;
use omr_protocol::instantomr::SessionError;
use omr_protocol::sealing::SealingError;
use omr_protocol::{
    ClueError, ClueKind, DetectionKeyError, DigestError, ParamsError, PlanError, Scheme, Sealing,
};
use std::io;
use std::path::PathBuf;

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum InputError {
    /// Not read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A table, or a file of a private database query.
    #[error(transparent)]
    Pdq(#[from] PdqError),
    /// Not a file of ours, or damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Not an address.
    #[error(transparent)]
    ClueKey(#[from] ClueError),
    /// Not a detection key.
    #[error(transparent)]
    DetectionKey(#[from] DetectionKeyError),
    /// Not a secret key.
    #[error(transparent)]
    SecretKey(#[from] SecretKeyError),
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
    Board(#[from] BoardError),
    /// Not a document of `omr bench all`.
    #[error("expected a document of `omr bench all --json`")]
    Report(#[from] serde_json::Error),
    /// Not questions that another database answered.
    #[error("expected questions as reference/pdq_oracle.py answers them")]
    Questions(#[source] serde_json::Error),
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
        "expected the session's board, its bound {bound} and {}, found others: begin a new session \
         in another file",
        if *indices { "indices only" } else { "payloads" }
    )]
    OtherSession {
        /// The session's bound.
        bound: usize,
        /// Whether it has indices alone.
        indices: bool,
    },
    /// Not what `omr bench crossover --json` prints.
    #[error("expected the object that `omr bench crossover --json` prints")]
    Costs(#[source] serde_json::Error),
    /// Costs that no machine has.
    #[error("expected costs above 0 seconds, found others")]
    CostsRange,
    /// Not what `omr bench sizing --save` writes.
    #[error(
        "expected costs of {expected:?} as `omr bench sizing --save` writes them, found others"
    )]
    Sizing {
        /// The parameter set asked about.
        expected: String,
    },
    /// No yardstick to scale by.
    #[error(
        "expected costs with a yardstick, and one above 0 for the machine asked about: measure with a \
         build that has the feature `yardstick`"
    )]
    NoYardstick,
    /// A board with an unknown sealing.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// A folder where a file is to go.
    #[error("expected a file's name, found a folder: name a file in it")]
    IsFolder,
    /// A file where a folder is to be.
    #[error("expected a folder, found a file in its place")]
    NoFolder,
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
    /// Others did not let go of a board.
    #[error(
        "other commands have had the board open for {seconds} seconds: try again when they are done"
    )]
    BoardBusy {
        /// How long it was waited for.
        seconds: u64,
    },
    /// Parts kept from earlier digests.
    #[error(transparent)]
    Kept(#[from] omr_client::kept::KeptError),
    /// More bytes than such a file may have.
    #[error("expected a file of at most {limit} bytes, found more")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// A bound clue that a board must not take.
    #[error("message {position} of the post: {source}")]
    BadClue {
        /// Its place among the messages posted together, from 0.
        position: u64,
        /// What is wrong with it.
        source: ClueError,
    },
    /// A raw payload of another size.
    #[error("expected a payload of {expected} bytes, found {found}")]
    RawSize {
        /// The board's payload size.
        expected: usize,
        /// Bytes of the file.
        found: usize,
    },
    /// Clues of another size than the parameter set makes.
    #[error("expected a board with clues of {} (plain) or {} bytes (bound), found {found}", expected[0], expected[1])]
    ClueSize {
        /// The parameter set's.
        expected: [usize; 2],
        /// The board's.
        found: usize,
    },
    /// An address for other clues than the board takes.
    #[error(
        "expected an address for {expected} clues, which the board takes, found one for {found} clues: its owner \
         makes another one{}",
        match found { ClueKind::Plain => "", ClueKind::Bound => " with --plain-clues" }
    )]
    ClueKind {
        /// The board's.
        expected: ClueKind,
        /// The address's.
        found: ClueKind,
    },
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
        "expected clues that their one-time keys signed, found others in {bad} of {messages} messages"
    )]
    Unsigned {
        /// Messages at fault.
        bad: u64,
        /// Messages in all.
        messages: u64,
    },
    /// Payloads that are to be sealed cannot be posted raw.
    #[error("expected a board with sealing none for --raw, found {found}")]
    RawSealed {
        /// The board's.
        found: Sealing,
    },
    /// The digest comes from a board with another sealing than the caller expects.
    #[error("expected a digest of a board with sealing {expected}, found {found}")]
    OtherSealing {
        /// The caller's.
        expected: Sealing,
        /// The digest's.
        found: Sealing,
    },
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

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CliError {
    /// A file or board could not be used.
    #[error("{}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// Why.
        source: InputError,
    },
    /// A file could not be written.
    #[error("writing {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: InputError,
    },
    /// A file is in the way.
    #[error("{} exists: pass --force to replace it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Two things that are used together were made under different parameters.
    #[error("parameter sets differ: {} is of {expected}, {} is of {found}", first.display(), second.display())]
    OtherParams {
        /// One file or board.
        first: PathBuf,
        /// Its parameter set.
        expected: String,
        /// The other.
        second: PathBuf,
        /// Its parameter set.
        found: String,
    },
    /// No detection key given.
    #[error("expected a detection key, found none")]
    NoKey,
    /// Two detection keys for one engine.
    #[error("expected one detection.key and one instant.key, found a second one of a kind: {}", path.display())]
    TwoKeys {
        /// The second.
        path: PathBuf,
    },
    /// Standard output failed.
    #[error("standard output")]
    Output(#[source] io::Error),
    /// Unknown or impossible parameters.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A digest of this shape cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The payload size leaves no room for content.
    #[error("sealing {sealing} adds {} bytes: expected --payload-bytes of at least {least}, found {found}", sealing.overhead())]
    PayloadBytes {
        /// The sealing.
        sealing: Sealing,
        /// The least size.
        least: usize,
        /// The size asked for.
        found: usize,
    },
    /// The detector failed.
    #[error("making the digest")]
    Detector(#[from] DetectorError),
    /// The digest did not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The same of one of several.
    #[error("{}", path.display())]
    Digest {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: DecodeError,
    },
    /// Digests of several boards, or for several recipients.
    #[error("expected digests of one board and one sealing, found {} of another than {}", second.display(), first.display())]
    OtherDigest {
        /// One.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Letters of which parts are missing, where the caller is strict.
    #[error("expected whole letters, found {letters} of which parts are missing")]
    NotWhole {
        /// How many.
        letters: usize,
    },
    /// No pertinent message could be opened, or one could not and the caller is strict.
    #[error("{left_out} of {pertinent} pertinent messages could not be opened")]
    LeftOut {
        /// Messages that gave no file.
        left_out: usize,
        /// Messages in the digest.
        pertinent: usize,
    },
    /// A benchmark failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A benchmark or the demonstration retrieved other messages than were sent.
    #[error(
        "retrieved {exact} of {expected} messages bit for bit, with {false_positives} false positives"
    )]
    Inexact {
        /// Messages sent.
        expected: usize,
        /// Messages that came out bit for bit.
        exact: usize,
        /// Messages of others.
        false_positives: usize,
    },
    /// Digests of a benchmark held other messages than they should.
    #[error("{exact} of {digests} digests are exact")]
    InexactDigests {
        /// Exact digests.
        exact: u64,
        /// All digests.
        digests: u64,
    },
    /// A benchmark of private queries failed.
    #[error(transparent)]
    PdqBench(#[from] omr_bench::pdq::PdqBenchError),
    /// Private queries with other answers than another database's.
    #[error("{different} of {questions} questions have other rows or values")]
    Differs {
        /// How many.
        different: usize,
        /// Of so many.
        questions: usize,
    },
    /// Schemes that did not run.
    #[error("{failed} schemes did not run")]
    NotCompared {
        /// How many.
        failed: usize,
    },
    /// A shared cache for a scheme that has none.
    #[error(
        "--recipients is for sophomr and sophomd: InstantOMR shares no work between recipients"
    )]
    Recipients,
    /// A session of a scheme that takes whole batches.
    #[error("expected a scheme of InstantOMR for a session, found {found}")]
    StreamScheme {
        /// The scheme.
        found: Scheme,
    },
    /// A replay of no or too many messages.
    #[error("expected --rate and --seconds above 0, and at most 100 million messages")]
    Rate,
    /// A soak with more pertinent messages than its bound.
    #[error("expected at most {bound} pertinent messages, the bound, found {found}")]
    SoakBound {
        /// The bound.
        bound: u32,
        /// Pertinent messages asked for.
        found: u32,
    },
    /// Two documents of benchmarks do not compare.
    #[error(transparent)]
    Incomparable(#[from] omr_bench::Incomparable),
    /// More pertinent messages than messages.
    #[error("expected at most {messages} pertinent messages, as many as messages, found {found}")]
    Pertinent {
        /// Messages in all.
        messages: u64,
        /// Pertinent ones asked for.
        found: usize,
    },
    /// A part of the secret key lies open.
    #[error("{place} holds the {secret} of the secret key")]
    Leak {
        /// Where.
        place: &'static str,
        /// Which part.
        secret: &'static str,
    },
    /// The payloads of the demonstration are damaged.
    #[error(transparent)]
    Testkit(#[from] omr_testkit::TestkitError),
    /// Letters to a retired identity could not be fetched.
    #[error("the retired identity {name}")]
    Retired {
        /// Its name.
        name: String,
        /// Why.
        source: MailError,
    },
    /// A passphrase that cannot be used, or nothing to put under one.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A passphrase that nobody gave.
    #[error(
        "{}: expected its passphrase: give it with {option} FILE or in {variable}, as there is no terminal to ask at",
        path.display()
    )]
    NoPassphrase {
        /// What is under it.
        path: PathBuf,
        /// The option that names a file.
        option: &'static str,
        /// The variable of the environment.
        variable: &'static str,
        /// What happened to the terminal.
        source: Option<io::Error>,
    },
    /// Two passphrases where one was to be typed twice.
    #[error("expected the same passphrase twice, found two: nothing was changed")]
    OtherPassphrase,
    /// Nothing to take away.
    #[error("{}: expected a secret under a passphrase, found one without", path.display())]
    NotLocked {
        /// The secret.
        path: PathBuf,
    },
    /// Identities, letters, the inbox.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// A fetch met more messages than its bound.
    #[error(
        "overflow: {groups} of the ranges asked for hold more messages for you than the bound, up to {most} \
         with a bound of {bound}; they are kept. `omr inbox kept` says what came of them since"
    )]
    Overflowed {
        /// Ranges that overflowed.
        groups: usize,
        /// Most messages of a group.
        most: u64,
        /// The bound.
        bound: u32,
    },
    /// Digests that did not decode.
    #[error(
        "{ranges} digests did not decode and are kept as damaged: {reason}. `omr inbox --retry-damaged` asks \
         for them again"
    )]
    Damaged {
        /// How many.
        ranges: usize,
        /// Why the first one did not.
        reason: String,
    },
    /// Canaries that a digest should have held.
    #[error("{missing} canaries are missing: the detector left messages out")]
    CanariesMissing {
        /// How many.
        missing: usize,
    },
    /// A thread of ours broke off.
    #[error("decoding broke off")]
    Interrupted,
    /// Content that could steer a terminal.
    #[error("message {number} is not plain text: save it with --out")]
    NotText {
        /// The message.
        number: u64,
    },
    /// The server.
    #[error(transparent)]
    Server(#[from] omr_server::ServerError),
    /// Logs or traces.
    #[error(transparent)]
    Ops(#[from] omr_ops::OpsError),
    /// What a server keeps.
    #[error(transparent)]
    Store(#[from] omr_store::StoreError),
    /// A private database query.
    #[error(transparent)]
    Pdq(#[from] PdqError),
    /// A server did not answer as hoped.
    #[error(transparent)]
    Remote(#[from] omr_remote::RemoteError),
    /// A trial failed, or found what should not be.
    #[error(transparent)]
    Trial(#[from] omr_trials::TrialError),
    /// What a server keeps is damaged.
    #[error(
        "expected no damage, found {faults} faults: repair them from a backup (omr data repair)"
    )]
    Faults {
        /// How many.
        faults: u64,
    },
    /// A server that answers but does not serve.
    #[error("{url} does not serve")]
    NotServing {
        /// The server.
        url: String,
    },
    /// No runtime for the network.
    #[error("starting the network: {0}")]
    Runtime(#[source] io::Error),
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

impl CliError {
    /// An input error with the file it is about.
    pub(crate) fn input(path: impl Into<PathBuf>) -> impl FnOnce(InputError) -> Self {
        let path = path.into();
        |source| Self::Input { path, source }
    }

    /// A failed write with the file it is about.
    pub(crate) fn write(path: impl Into<PathBuf>, source: impl Into<InputError>) -> Self {
        Self::Write {
            path: path.into(),
            source: source.into(),
        }
    }
}

/// An error with the chain of its causes, each told once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
