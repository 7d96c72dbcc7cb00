//! The errors of the demonstration.

use omr_client::letter::LetterError;
use omr_mail::MailError;
use omr_remote::RemoteError;
use std::path::PathBuf;

/// An error of the node, the bridge, a sender or a recipient.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ZcashError {
    /// The bytes are not a transaction that is read here.
    #[error("a transaction: expected {expected}, found {found}")]
    Transaction {
        /// The expected content.
        expected: String,
        /// The content that was found.
        found: String,
    },
    /// A transaction cannot be made.
    #[error("making a transaction: {0}")]
    Orchard(String),
    /// The chain data of the demonstration cannot be read.
    #[error("the blocks of the main chain: {0}")]
    Data(#[from] omr_transactions::TransactionsError),
    /// The board belongs to another ledger than the node's.
    #[error(
        "the board is of the ledger {found:?}, the node's chain is {expected:?}: check the URLs of both, which must be of \
         one network"
    )]
    Network {
        /// The name of the node's chain.
        expected: String,
        /// The name of the board's ledger.
        found: String,
    },
    /// The node cannot be reached.
    #[error("the node or the bridge at {url}: {source}; check the URL and whether it runs")]
    Connect {
        /// The URL.
        url: String,
        /// The reason.
        source: tonic::transport::Error,
    },
    /// The node or the bridge refused a call.
    #[error("{call}: {}", .status.message())]
    Call {
        /// The name of the call.
        call: &'static str,
        /// The refusal.
        status: Box<tonic::Status>,
    },
    /// The node answered with something that is no block of a chain.
    #[error("the node's block {height}: expected {expected}, found {found}")]
    Block {
        /// The height.
        height: u64,
        /// The expected content.
        expected: &'static str,
        /// The content that was found.
        found: String,
    },
    /// An address of a recipient has no line for Orchard.
    #[error(
        "expected a line `Orchard: ` with 86 hexadecimal digits in front of the address, found {0}"
    )]
    Address(&'static str),
    /// A memo does not fit.
    #[error("expected a memo of at most {most} bytes, found {found}")]
    Memo {
        /// The greatest number of bytes.
        most: usize,
        /// The number that was found.
        found: usize,
    },
    /// A measurement found other payments than were made.
    #[error("a measurement: expected {expected} payments to the recipient, found {found}")]
    Measure {
        /// The number of payments that were made.
        expected: u64,
        /// The number of payments that were found.
        found: u64,
    },
    /// The figures of a measurement cannot be written.
    #[error("figures: {0}")]
    Figures(serde_json::Error),
    /// The words of a recipient have no key of Orchard.
    #[error("the words have no key of Orchard: make others")]
    Seed,
    /// The folder of a recipient has a damaged record of notes.
    #[error("{}: {source}", .path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: serde_json::Error,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The server's folder exists: its board may be of another chain.
    #[error("{}: expected a new folder, found one that exists", .0.display())]
    Folder(PathBuf),
    /// A part cannot listen at its address.
    #[error("listening at {address}: {source}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The reason.
        source: std::io::Error,
    },
    /// The system refused a socket, a thread or a temporary folder.
    #[error("the system: {0}")]
    Io(#[from] std::io::Error),
    /// The words cannot be read.
    #[error(transparent)]
    Words(#[from] omr_client::WordsError),
    /// The board's server.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The recipient's inbox or address.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// A message cannot be made.
    #[error(transparent)]
    Letter(#[from] LetterError),
    /// The server of the demonstration.
    #[error(transparent)]
    Server(#[from] omr_server::ServerError),
}

impl ZcashError {
    /// Returns a function that names the call to which a refusal belongs.
    pub(crate) fn call(call: &'static str) -> impl Fn(tonic::Status) -> Self {
        move |status| {
            let status = Box::new(status);
            Self::Call { call, status }
        }
    }
}
