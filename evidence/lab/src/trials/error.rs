//! Errors of trials.

use std::io;
use std::path::PathBuf;

/// A trial failed or could not be completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// Starting or stopping a process, or reading or writing a file, failed.
    #[error("{what}: {source}")]
    Io {
        /// The operation.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no program `omr` beside `omr-lab`.
    #[error(
        "expected the program omr at {}, found none: `cargo build --release --features full` builds it",
        .0.display()
    )]
    NoProgram(PathBuf),
    /// A server did not start; the end of its log.
    #[error("expected a server that listens, found one that ended or was silent: {0}")]
    Start(String),
    /// A client's call failed.
    #[error(transparent)]
    Remote(#[from] omr_remote::RemoteError),
    /// The trial's own work failed: keys, clues, decoding of digests.
    #[error("the trial's own keys and messages")]
    Own(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A command failed that should have succeeded.
    #[error("{what} ended with {status}: {stderr_end}")]
    Command {
        /// The command.
        what: &'static str,
        /// The exit status.
        status: std::process::ExitStatus,
        /// The end of its standard error.
        stderr_end: String,
    },
    /// A promise of the service does not hold.
    #[error("{0}")]
    Broken(String),
}

impl TrialError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    /// Returns an error if there are faults.
    ///
    /// Errors: `Broken` with all faults.
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
