//! Why a server did not start or go on.

use omr_protocol::Mismatch;
use std::io;
use std::path::{Path, PathBuf};

/// An error of starting, configuring or running a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A file could not be read.
    #[error("{}: {}", .0.display(), .1)]
    Read(PathBuf, #[source] io::Error),
    /// A file could not be written.
    #[error("writing {}: {}", .0.display(), .1)]
    Write(PathBuf, #[source] io::Error),
    /// A file is no configuration.
    #[error("{}: {}", .0.display(), .1)]
    Config(PathBuf, #[source] toml::de::Error),
    /// No card, where one is asked for.
    #[error("configuration, detector.engine: {0}")]
    Card(#[from] omr_cuda::MachineError),
    /// A value of the configuration is out of range.
    #[error("configuration, {0}: {1}")]
    Setting(&'static str, Mismatch<String>),
    /// Not an address to listen at.
    #[error("expected an address and a port such as 127.0.0.1:7600 or localhost:7600, found {0:?}")]
    Address(String),
    /// The data folder holds another board than the configuration asks for.
    #[error("{}: expected a board of {}, found one of {}", .0.display(), .1.expected, .1.found)]
    OtherBoard(PathBuf, Mismatch<String>),
    /// A second token of this name.
    #[error(
        "expected a new name, found the token {0:?} already: remove that one first, or choose another name"
    )]
    TokenName(String),
    /// No token of this name.
    #[error("expected the name of a token, found {0:?}")]
    NoToken(String),
    /// Tokens that TOML cannot hold.
    #[error("the tokens cannot be written as TOML")]
    TokenText,
    /// A file is no table.
    #[error("{}: {}", .0.display(), .1)]
    Table(PathBuf, #[source] Box<omr_pdq::TableFileError>),
    /// Two tables of this name.
    #[error("expected tables of different names, found {0:?} twice")]
    TableTwice(String),
    /// The parameter set of private database queries.
    #[error(transparent)]
    PdqParams(#[from] omr_pdq::ParamsError),
    /// Not even posting and reading fit into the memory that there is.
    #[error(
        "memory: a server of set {set} takes at least {needed} without digests, there is {has} (by machine, control groups, \
         ulimit -v and -d): expected a larger machine or limit, or a smaller set"
    )]
    Memory {
        /// The board's parameter set.
        set: &'static str,
        /// What the server takes.
        needed: String,
        /// What there is.
        has: String,
    },
    /// The operating system has no randomness.
    #[error("the operating system gave no randomness")]
    NoRandomness,
    /// The parameter set of the board.
    #[error(transparent)]
    Params(#[from] omr_protocol::ParamsError),
    /// The sealing of the board.
    #[error(transparent)]
    Sealing(#[from] omr_protocol::sealing::SealingError),
    /// The clues of the board.
    #[error(transparent)]
    Clues(#[from] omr_protocol::clue::ClueKindError),
    /// The data folder.
    #[error("the data folder {}: {}", .0.display(), .1)]
    Data(PathBuf, #[source] omr_store::StoreError),
    /// What the server keeps.
    #[error(transparent)]
    Store(#[from] omr_store::StoreError),
    /// Nothing could listen.
    #[error(
        "listening on {address}: expected an address of this machine that no other program uses, such as 127.0.0.1 with \
         another port, or port 0 for any (`listen` names it): {source}"
    )]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The network.
    #[error("serving: {0}")]
    Transport(#[from] tonic::transport::Error),
    /// Threads could not be started.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// What the server keeps could not be opened: a bug.
    #[error("opening the store died; please report it")]
    Opening,
    /// The protocol's descriptors do not fit together: a bug.
    #[error("the protocol's descriptors cannot be served; please report it")]
    Reflection,
    /// A record of the server's own that it cannot read.
    #[error("{table} record: {source}")]
    Record {
        /// Its table.
        table: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl ServerError {
    /// The error of a value of the configuration that is out of range.
    pub(crate) fn setting(
        key: &'static str,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> Self {
        Self::Setting(key, Mismatch::new(expected.into(), found.to_string()))
    }

    pub(crate) fn data(path: &Path) -> impl FnOnce(omr_store::StoreError) -> Self {
        let path = path.to_owned();
        |source| Self::Data(path, source)
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Read(path, source)
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Write(path, source)
    }
}
