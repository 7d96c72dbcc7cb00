//! Why a command failed, and the exit code that tells.

mod code;
mod input;
#[cfg(feature = "full")]
mod pdq;

pub(crate) use input::InputError;
#[cfg(feature = "full")]
pub(crate) use pdq::PdqError;

use omr_board::LocalError;
use omr_client::DecodeError;
use omr_client::locked::LockError;
use omr_console::ConsoleError;
use omr_detector::DetectorError;
#[cfg(feature = "full")]
use omr_mail::MailError;
use omr_protocol::Mismatch;
use omr_protocol::{ParamsError, PlanError, Scheme, Sealing};
use std::io;
use std::path::PathBuf;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CliError {
    /// A file or board could not be used.
    #[error("{}", .0.display())]
    Input(PathBuf, #[source] InputError),
    /// A file, standard output or the threads.
    #[error(transparent)]
    Console(#[from] ConsoleError),
    /// The program of measurements is not beside this one, or did not start.
    #[error(
        "expected the program omr-lab at {}: `cargo build --release -p omr-lab` builds it",
        path.display()
    )]
    NoLab {
        /// Where it would be.
        path: PathBuf,
        /// Why it did not start.
        source: io::Error,
    },
    /// No card, or one that does not serve what it is asked.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Cards(#[from] omr_cuda::CardsError),
    /// A file could not be written.
    #[error("writing {}", .0.display())]
    Write(PathBuf, #[source] InputError),
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
    /// Two detection keys for one engine; this is the second.
    #[error("expected one detection.key and one instant.key, found a second one of a kind: {}", .0.display())]
    TwoKeys(PathBuf),
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
    /// What else is wrong with a board.
    #[error(transparent)]
    Local(LocalError),
    /// The detector failed.
    #[error("making the digest")]
    Detector(#[from] DetectorError),
    /// The digest did not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The same of one of several.
    #[error("{}", .0.display())]
    Digest(PathBuf, #[source] DecodeError),
    /// Digests of several boards, or for several recipients.
    #[error("expected digests of one board and one sealing, found {} of another than {}", second.display(), first.display())]
    OtherDigest {
        /// One.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// How many letters lack parts, where the caller is strict.
    #[error("expected whole letters, found {0} of which parts are missing")]
    NotWhole(usize),
    /// No pertinent message could be opened, or one could not and the caller is strict.
    #[error("{left_out} of {pertinent} pertinent messages could not be opened")]
    LeftOut {
        /// Messages that gave no file.
        left_out: usize,
        /// Messages in the digest.
        pertinent: usize,
    },
    /// The demonstration retrieved other messages than were sent.
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
    /// A session of a scheme that takes whole batches.
    #[error("expected a scheme of InstantOMR for a session, found {0}")]
    StreamScheme(Scheme),
    /// More pertinent messages than messages.
    #[error("expected at most {} pertinent messages, as many as messages, found {}", .0.expected, .0.found)]
    Pertinent(Mismatch<u64, usize>),
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
    Transactions(#[from] omr_transactions::TransactionsError),
    /// Letters to a retired identity could not be fetched.
    #[cfg(feature = "full")]
    #[error("the retired identity {name}")]
    Retired {
        /// Its name.
        name: String,
        /// Why.
        source: MailError,
    },
    /// The last fetch of letters to an identity that is to be forgotten failed.
    #[cfg(feature = "full")]
    #[error(
        "letters to {name} that were not fetched yet would be lost, so it is not forgotten: try again when the server \
         answers; `omr id forget {name} --force` loses them"
    )]
    LastFetch {
        /// The name of the retired identity.
        name: String,
        /// Why the fetch failed.
        source: MailError,
    },
    /// Several identities that one may mean.
    #[cfg(feature = "full")]
    #[error("expected the name of a retired identity, or --all: there are {}", .0.join(", "))]
    WhichRetired(Vec<String>),
    /// Backups where a server's data would be.
    #[cfg(feature = "full")]
    #[error(
        "{folder}: expected a server's data, found backups of it: `omr data verify --from {folder}` checks them",
        folder = .0.display()
    )]
    Backups(PathBuf),
    /// An identity that was to be forgotten while letters to it are coming.
    #[cfg(feature = "full")]
    #[error(
        "{whose}: expected all letters to it here, found {} ranges and {} letters of which a part is missing: `omr inbox` \
         fetches it (`omr inbox kept --home {}` lists the ranges), {instead}",
        unfinished.ranges,
        unfinished.letters,
        home.display()
    )]
    Unfinished {
        /// Which identity.
        whose: String,
        /// What is missing.
        unfinished: omr_mail::Unfinished,
        /// Its folder.
        home: PathBuf,
        /// What else can be done.
        instead: String,
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
    /// This secret has no passphrase to take away.
    #[cfg(feature = "full")]
    #[error("{}: expected a secret under a passphrase, found one without", .0.display())]
    NotLocked(PathBuf),
    /// Identities, letters, the inbox.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Mail(#[from] MailError),
    /// A fetch met more messages than its bound.
    #[cfg(feature = "full")]
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
    #[cfg(feature = "full")]
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
    /// The running hashes of two histories of one board.
    #[cfg(feature = "full")]
    #[error(
        "expected the board's running hash {expected} at length {length}, found {found}: not the same first {length} \
         messages were seen. The server went back to an older state in between (the next `omr inbox` finds that), or \
         shows different boards to different people"
    )]
    OtherHistory {
        /// The length.
        length: u64,
        /// The one running hash, in hexadecimal digits.
        expected: String,
        /// The other one.
        found: String,
    },
    /// A length at which the server shows no running hash.
    #[cfg(feature = "full")]
    #[error(
        "expected a length from {first} to {messages}, where the server knows the running hash, found {length}"
    )]
    NoHash {
        /// The length.
        length: u64,
        /// The first message that the board keeps.
        first: u64,
        /// The board's length.
        messages: u64,
    },
    /// How many canaries are missing that a digest should have held.
    #[cfg(feature = "full")]
    #[error("{0} canaries are missing: the detector left messages out")]
    CanariesMissing(usize),
    /// A thread of ours broke off.
    #[cfg(feature = "full")]
    #[error("decoding broke off")]
    Interrupted,
    /// The content of this message could steer a terminal.
    #[cfg(feature = "full")]
    #[error("message {0} is not plain text: save it with --out")]
    NotText(u64),
    /// The server.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Server(#[from] omr_server::ServerError),
    /// A worker.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Worker(omr_worker::WorkerError),
    /// Logs or traces.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Ops(#[from] omr_ops::OpsError),
    /// What a server keeps.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Store(#[from] omr_store::StoreError),
    /// A private database query.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Pdq(#[from] PdqError),
    /// A server did not answer as hoped.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Remote(#[from] omr_remote::RemoteError),
    /// How much of what a server keeps is damaged.
    #[cfg(feature = "full")]
    #[error("expected no damage, found {0} faults: a warning names each")]
    Faults(u64),
    /// A stopped server has no job of this id.
    #[cfg(feature = "full")]
    #[error("expected `all` or the id of a job that `omr data jobs` lists, found {0:?}")]
    NoJob(String),
    /// This server answers but does not serve.
    #[cfg(feature = "full")]
    #[error("{0} does not serve")]
    NotServing(String),
    /// No runtime for the network.
    #[cfg(feature = "full")]
    #[error("starting the network: {0}")]
    Runtime(#[source] io::Error),
}

impl CliError {
    /// An input error with the file it is about.
    pub(crate) fn input(path: impl Into<PathBuf>) -> impl FnOnce(InputError) -> Self {
        let path = path.into();
        |source| Self::Input(path, source)
    }

    /// A failed write with the file it is about.
    pub(crate) fn write(path: impl Into<PathBuf>, source: impl Into<InputError>) -> Self {
        Self::Write(path.into(), source.into())
    }
}

impl From<LocalError> for CliError {
    fn from(error: LocalError) -> Self {
        match error {
            LocalError::Plan(error) => error.into(),
            LocalError::PayloadBytes { sealing, bytes } => Self::PayloadBytes {
                sealing,
                least: bytes.expected,
                found: bytes.found,
            },
            other => Self::Local(other),
        }
    }
}

#[cfg(feature = "full")]
impl From<omr_worker::WorkerError> for CliError {
    fn from(error: omr_worker::WorkerError) -> Self {
        match error {
            omr_worker::WorkerError::Remote(error) => Self::Remote(error),
            error => Self::Worker(error),
        }
    }
}
