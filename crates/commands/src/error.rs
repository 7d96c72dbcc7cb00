//! The errors of commands, and their exit codes.

pub(crate) mod code;
mod input;

pub(crate) use input::InputError;

use omr_board::LocalError;
use omr_client::DecodeError;
use omr_client::locked::LockError;
use omr_console::{ConsoleError, chain};
use omr_detector::DetectorError;
use omr_protocol::Mismatch;
use omr_protocol::{ParamsError, PlanError, Scheme, Sealing};
use std::io;
use std::path::PathBuf;

/// An error of a command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CliError {
    /// A file or board could not be used.
    #[error("{}", .0.display())]
    Input(PathBuf, #[source] InputError),
    /// A file, standard output or the threads failed.
    #[error(transparent)]
    Console(#[from] ConsoleError),
    /// The program of measurements is not beside this one, or did not start.
    #[error(
        "expected the program omr-lab at {}: `cargo build --release -p omr-lab` builds it",
        path.display()
    )]
    NoLab {
        /// The path where it was expected.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("writing {}", .0.display())]
    Write(PathBuf, #[source] InputError),
    /// Two files or boards that are used together have different parameters.
    #[error("parameter sets differ: {} is of {expected}, {} is of {found}", first.display(), second.display())]
    OtherParams {
        /// The first file or board.
        first: PathBuf,
        /// The parameter set of the first.
        expected: String,
        /// The second file or board.
        second: PathBuf,
        /// The parameter set of the second.
        found: String,
    },
    /// No detection key was given.
    #[error("expected a detection key, found none")]
    NoKey,
    /// Two detection keys for one engine were given; this is the second.
    #[error("expected one detection.key and one instant.key, found a second one of a kind: {}", .0.display())]
    TwoKeys(PathBuf),
    /// The parameters are unknown or impossible.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A digest with this bound and these payloads cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The payload size leaves no room for content.
    #[error("sealing {sealing} adds {} bytes: expected --payload-bytes of at least {least}, found {found}", sealing.overhead())]
    PayloadBytes {
        /// The sealing.
        sealing: Sealing,
        /// The smallest size.
        least: usize,
        /// The given size.
        found: usize,
    },
    /// Another error of a board.
    #[error(transparent)]
    Local(LocalError),
    /// The detector failed.
    #[error("making the digest")]
    Detector(#[from] DetectorError),
    /// The digest did not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// One of several digests, in this file, did not decode.
    #[error("{}", .0.display())]
    Digest(PathBuf, #[source] DecodeError),
    /// The digests are of several boards, or for several recipients.
    #[error("expected digests of one board and one sealing, found {} of another than {}", second.display(), first.display())]
    OtherDigest {
        /// The first digest.
        first: PathBuf,
        /// A digest that does not belong to it.
        second: PathBuf,
    },
    /// With `--strict`: this number of letters has missing parts.
    #[error("expected whole letters, found {0} with missing parts")]
    NotWhole(usize),
    /// No pertinent message could be opened, or with `--strict` one could not.
    #[error("{left_out} of {pertinent} pertinent messages could not be opened")]
    LeftOut {
        /// The number of messages without a file.
        left_out: usize,
        /// The number of messages in the digest.
        pertinent: usize,
    },
    /// The demonstration retrieved other messages than it sent.
    #[error(
        "retrieved {exact} of {expected} messages bit for bit, with {false_positives} false positives"
    )]
    Inexact {
        /// The number of messages sent.
        expected: usize,
        /// The number of messages retrieved bit for bit.
        exact: usize,
        /// The number of retrieved messages of other recipients.
        false_positives: usize,
    },
    /// A session needs a scheme that processes single messages.
    #[error("expected a scheme of InstantOMR for a session, found {0}")]
    StreamScheme(Scheme),
    /// More pertinent messages were requested than messages.
    #[error("expected at most {} pertinent messages, as many as messages, found {}", .0.expected, .0.found)]
    Pertinent(Mismatch<u64, usize>),
    /// A part of the secret key was found where it must not be.
    #[error("{place} holds the {secret} of the secret key")]
    Leak {
        /// The place.
        place: &'static str,
        /// The part of the key.
        secret: &'static str,
    },
    /// The payloads of the demonstration are damaged.
    #[error(transparent)]
    Transactions(#[from] omr_transactions::TransactionsError),
    /// A passphrase cannot be used, or there is no secret for it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No passphrase was given.
    #[error(
        "{}: expected its passphrase: give it with {option} FILE or in {variable}, as there is no terminal to ask at",
        path.display()
    )]
    NoPassphrase {
        /// The file under the passphrase.
        path: PathBuf,
        /// The option that names a file.
        option: &'static str,
        /// The environment variable.
        variable: &'static str,
        /// The error of reading from the terminal.
        source: Option<io::Error>,
    },
    /// The two entries of a new passphrase differ.
    #[error("expected the same passphrase twice, found two: nothing was changed")]
    OtherPassphrase,
    /// There is no card, or it does not serve the request.
    #[error(transparent)]
    Cards(#[from] omr_cuda::CardsError),
    /// A command of mail, servers or private queries failed.
    #[cfg(feature = "full")]
    #[error(transparent)]
    Full(#[from] crate::commands::full::FullError),
}

impl CliError {
    /// Returns the message of the error, its causes, and advice.
    pub(crate) fn text(&self) -> String {
        #[cfg(feature = "full")]
        if let Self::Full(error) = self
            && let Some(advice) = error.advice()
        {
            return format!("{}: {advice}", chain(error));
        }
        chain(self)
    }

    /// Returns the error of an input file.
    pub(crate) fn input(path: impl Into<PathBuf>) -> impl FnOnce(InputError) -> Self {
        let file = path.into();
        |source| Self::Input(file, source)
    }

    /// Returns the error of a failed write.
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
