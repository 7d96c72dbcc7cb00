//! Why a command failed, and the exit code that tells.

pub(crate) mod code;
mod input;

pub(crate) use input::InputError;

use omr_board::LocalError;
use omr_client::DecodeError;
use omr_client::locked::LockError;
use omr_console::ConsoleError;
use omr_detector::DetectorError;
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
    /// No card, or one that does not serve what it is asked.
    #[error(transparent)]
    Cards(#[from] omr_cuda::CardsError),
    /// Mail, servers and private queries.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Full(#[from] crate::commands::full::FullError),
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
