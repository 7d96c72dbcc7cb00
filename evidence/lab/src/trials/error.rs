//! Why a trial failed.

use std::io;
use std::path::PathBuf;

/// Why a trial failed or could not be held.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// Starting or stopping a process, or a file.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// No program `omr` beside `omr-lab`.
    #[error(
        "expected the program omr at {}, found none: `cargo build --release --features full` builds it",
        .0.display()
    )]
    NoProgram(PathBuf),
    /// A server that did not come up; the end of its log.
    #[error("expected a server that listens, found one that ended or was silent: {0}")]
    Start(String),
    /// A client's call.
    #[error(transparent)]
    Remote(#[from] omr_remote::RemoteError),
    /// What the trial makes itself: keys, clues, digests decoded.
    #[error("the trial's own keys and messages")]
    Own(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A command that should have succeeded.
    #[error("{what} ended with {status}: {said}")]
    Command {
        /// The command.
        what: &'static str,
        /// How it ended.
        status: std::process::ExitStatus,
        /// The end of its standard error.
        said: String,
    },
    /// The trial's finding: a promise of the service does not hold.
    #[error("{0}")]
    Broken(String),
}

impl TrialError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    /// Errors: `Broken` with all faults, if there are any.
    pub(crate) fn unless_none(faults: &[String]) -> Result<(), Self> {
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Self::Broken(faults.join("; ")))
        }
    }

    pub(crate) fn own(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Own(Box::new(error))
    }
}
