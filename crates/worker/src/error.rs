//! Why a worker does not work.

use omr_protocol::{EngineKind, Mismatch};

/// Why a worker did not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The server, or the way there.
    #[error(transparent)]
    Remote(#[from] omr_remote::RemoteError),
    /// The server's software is of another version, whose digests might be others.
    #[error("the server: expected version {}, that of this worker, found {}", .0.expected, .0.found)]
    Version(Mismatch<String>),
    /// No card, where one is asked for.
    #[error(transparent)]
    Card(#[from] omr_cuda::MachineError),
    /// The board's parameter set is not known here.
    #[error("the server's board: {0}")]
    Params(#[from] omr_protocol::ParamsError),
    /// The board's parameter set, by its name, has no such engine.
    #[error("expected an engine of the board's set {1}, found {0}")]
    Engine(EngineKind, &'static str),
    /// Not even one recipient's digest fits into the memory: what it takes, and what there is.
    #[error(
        "memory: a digest of set {set} takes {needed}, there is {has} for it: expected a larger machine, another \
         --engine or fewer --threads"
    )]
    Memory {
        /// The board's parameter set.
        set: &'static str,
        /// What a digest takes.
        needed: String,
        /// What there is.
        has: String,
    },
    /// The token does not allow to work.
    #[error("expected a token with the right `work` (omr token add --may work), found none")]
    NoRight,
    /// Threads could not be started.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The thread that worked died: a bug.
    #[error("the worker's thread died; please report it")]
    Died,
}
