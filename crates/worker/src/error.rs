//! Errors of a worker.

use omr_protocol::{EngineKind, Mismatch};

/// An error that keeps a worker from starting or ends it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// Calling the server failed.
    #[error(transparent)]
    Remote(#[from] omr_remote::RemoteError),
    /// The server is of another version, whose digests might differ.
    #[error("the server: expected version {}, that of this worker, found {}", .0.expected, .0.found)]
    Version(Mismatch<String>),
    /// A card is required, but there is none.
    #[error(transparent)]
    Card(#[from] omr_cuda::MachineError),
    /// The board's parameter set is unknown.
    #[error("the server's board: {0}")]
    Params(#[from] omr_protocol::ParamsError),
    /// The board's parameter set, with this name, lacks the engine.
    #[error("expected an engine of the board's set {1}, found {0}")]
    Engine(EngineKind, &'static str),
    /// The memory is too small for the digest of even one recipient.
    #[error(
        "memory: a digest of set {set} takes {needed}, there is {has} for it: expected a larger machine, another \
         --engine or fewer --threads"
    )]
    Memory {
        /// The board's parameter set.
        set: &'static str,
        /// The memory that a digest takes.
        needed: String,
        /// The memory that there is.
        has: String,
    },
    /// The token does not include the right to work.
    #[error("expected a token with the right `work` (omr token add --may work), found none")]
    NoRight,
    /// Threads could not be started.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The thread that runs units panicked.
    #[error("the worker's thread died; please report it")]
    Died,
}
