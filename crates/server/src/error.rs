//! The errors of a server.

use omr_protocol::{Mismatch, hex};
use std::io;
use std::path::{Path, PathBuf};

/// An error of the start, the configuration or the run of a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A file could not be read.
    #[error("{}: {}", .0.display(), .1)]
    Read(PathBuf, #[source] io::Error),
    /// A file could not be written.
    #[error("writing {}: {}", .0.display(), .1)]
    Write(PathBuf, #[source] io::Error),
    /// A file is not a valid configuration.
    #[error("{}: {}", .0.display(), .1)]
    Config(PathBuf, #[source] toml::de::Error),
    /// A variable of the environment is no setting, or its value is none of that setting.
    #[error("environment variable {0}: {1}")]
    Variable(String, String),
    /// A file of TLS does not contain what it should.
    #[error("{}: {}", .0.display(), .1)]
    Certificate(PathBuf, String),
    /// The configuration requires a card, and there is none.
    #[error("configuration, detector.engine: {0}")]
    Card(#[from] omr_cuda::MachineError),
    /// A value of the configuration is out of range.
    #[error("configuration, {0}: {1}")]
    Setting(&'static str, Mismatch<String>),
    /// The text is not an address to listen at.
    #[error("expected an address and a port such as 127.0.0.1:7600 or localhost:7600, found {0:?}")]
    Address(String),
    /// The data folder contains another board than the configuration describes.
    #[error("{}: expected a board of {}, found one of {}", .0.display(), .1.expected, .1.found)]
    OtherBoard(PathBuf, Mismatch<String>),
    /// The data folder contains the board of another ledger than the configuration names.
    #[error(
        "{}: expected the board {} of the ledger in board.ledger, found board {}: check the name, or choose another data folder",
        .0.display(), hex(&.1.expected), hex(&.1.found)
    )]
    OtherLedger(PathBuf, Mismatch<[u8; 16]>),
    /// Another token has this name.
    #[error(
        "expected a new name, found the token {0:?} already: remove that one first, or choose another name"
    )]
    TokenName(String),
    /// There is no token with this name.
    #[error("expected the name of a token, found {0:?}")]
    NoToken(String),
    /// The tokens cannot be written as TOML.
    #[error("the tokens cannot be written as TOML")]
    TokenText,
    /// A file is not a table.
    #[error("{}: {}", .0.display(), .1)]
    Table(PathBuf, #[source] Box<omr_pdq::TableFileError>),
    /// Two tables have this name.
    #[error("expected tables of different names, found {0:?} twice")]
    TableTwice(String),
    /// A parameter set of private database queries is unknown.
    #[error(transparent)]
    PdqParams(#[from] omr_pdq::ParamsError),
    /// The memory is too small even for posting and reading.
    #[error(
        "memory: a server of set {set} takes at least {needed} without digests, there is {has} (by machine, control groups, \
         ulimit -v and -d): expected a larger machine or limit, or a smaller set"
    )]
    Memory {
        /// The board's parameter set.
        set: &'static str,
        /// The memory that the server needs.
        needed: String,
        /// The memory that the process has.
        has: String,
    },
    /// The operating system has no randomness.
    #[error("the operating system gave no randomness")]
    NoRandomness,
    /// The parameter set of the board is unknown.
    #[error(transparent)]
    Params(#[from] omr_protocol::ParamsError),
    /// The sealing of the board is unknown.
    #[error(transparent)]
    Sealing(#[from] omr_protocol::sealing::SealingError),
    /// The kind of clues of the board is unknown.
    #[error(transparent)]
    Clues(#[from] omr_protocol::clue::ClueKindError),
    /// The store in the data folder returned an error.
    #[error("the data folder {}: {}", .0.display(), .1)]
    Data(PathBuf, #[source] omr_store::StoreError),
    /// The store returned an error.
    #[error(transparent)]
    Store(#[from] omr_store::StoreError),
    /// The server cannot listen at the address.
    #[error(
        "listening on {address}: expected an address of this machine that no other program uses, such as 127.0.0.1 with \
         another port, or port 0 for any (`listen` names it): {source}"
    )]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The network returned an error.
    #[error("serving: {0}")]
    Transport(#[from] tonic::transport::Error),
    /// Threads could not be started.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The data could not be opened because of a bug.
    #[error("opening the store died; please report it")]
    Opening,
    /// The protocol's descriptors are inconsistent because of a bug.
    #[error("the protocol's descriptors cannot be served; please report it")]
    Reflection,
    /// A record of the server in the store cannot be read.
    #[error("{table} record: {source}")]
    Record {
        /// The table of the record.
        table: &'static str,
        /// The error of the parser.
        source: serde_json::Error,
    },
}

impl ServerError {
    /// Returns the error of a configuration's value that is out of range.
    pub(crate) fn setting(
        key: &'static str,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> Self {
        Self::Setting(key, Mismatch::new(expected.into(), found.to_string()))
    }

    pub(crate) fn data(path: &Path) -> impl FnOnce(omr_store::StoreError) -> Self {
        let named = path.to_owned();
        |source| Self::Data(named, source)
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let named = path.to_owned();
        |source| Self::Read(named, source)
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let named = path.to_owned();
        |source| Self::Write(named, source)
    }
}
