//! Why a command of mail, servers or private queries failed.

use super::pdq::PdqError;
use crate::error::CliError;
use crate::error::code::of_decode;
use omr_console::Code;
use omr_mail::MailError;
use omr_remote::RemoteError;
use omr_store::StoreError;
use std::io;
use std::path::PathBuf;

/// Why a command of mail, servers or private queries failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FullError {
    /// Letters to a retired identity could not be fetched.
    #[error("the retired identity {name}")]
    Retired {
        /// The name of the retired identity.
        name: String,
        /// Why the fetch failed.
        source: MailError,
    },
    /// The last fetch of letters to an identity that is to be forgotten failed.
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
    #[error("expected the name of a retired identity, or --all: there are {}", .0.join(", "))]
    WhichRetired(Vec<String>),
    /// Backups where a server's data would be.
    #[error(
        "{folder}: expected a server's data, found backups of it: `omr data verify --from {folder}` checks them",
        folder = .0.display()
    )]
    Backups(PathBuf),
    /// An identity that was to be forgotten while letters to it are coming.
    #[error(
        "{whose}: expected all letters to it here, found {} ranges and {} letters of which a part is missing: `omr inbox` \
         fetches it (`omr inbox kept --home {}` lists the ranges), {instead}",
        unfinished.ranges,
        unfinished.letters,
        home.display()
    )]
    Unfinished {
        /// The identity, as the message names it.
        whose: String,
        /// The ranges and letters that are still to be fetched.
        unfinished: omr_mail::Unfinished,
        /// The folder that holds the identity.
        home: PathBuf,
        /// The other way out, as the end of the message.
        instead: String,
    },
    /// This secret has no passphrase to take away.
    #[error("{}: expected a secret under a passphrase, found one without", .0.display())]
    NotLocked(PathBuf),
    /// Identities, letters, the inbox.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// A fetch met more messages than its bound.
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
    #[error(
        "{ranges} digests did not decode and are kept as damaged: {reason}. `omr inbox --retry-damaged` asks \
         for them again"
    )]
    Damaged {
        /// The number of ranges whose digests did not decode.
        ranges: usize,
        /// The reason why the first digest did not decode.
        reason: String,
    },
    /// The running hashes of two histories of one board.
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
    /// A digest lacks this many of the canaries that it should contain.
    #[error("{0} canaries are missing: the detector left messages out")]
    CanariesMissing(usize),
    /// A thread of ours broke off.
    #[error("decoding broke off")]
    Interrupted,
    /// The content of this message could steer a terminal.
    #[error("message {0} is not plain text: save it with --out")]
    NotText(u64),
    /// The server.
    #[error(transparent)]
    Server(#[from] omr_server::ServerError),
    /// A worker.
    #[error(transparent)]
    Worker(omr_worker::WorkerError),
    /// Logs or traces.
    #[error(transparent)]
    Ops(#[from] omr_ops::OpsError),
    /// What a server keeps.
    #[error(transparent)]
    Store(#[from] omr_store::StoreError),
    /// A private database query.
    #[error(transparent)]
    Pdq(#[from] PdqError),
    /// A server did not answer as hoped.
    #[error(transparent)]
    Remote(#[from] omr_remote::RemoteError),
    /// A check found this many faults in the data that a server keeps.
    #[error("expected no damage, found {0} faults: a warning names each")]
    Faults(u64),
    /// A stopped server has no job of this id.
    #[error("expected `all` or the id of a job that `omr data jobs` lists, found {0:?}")]
    NoJob(String),
    /// This server answers but does not serve.
    #[error("{0} does not serve")]
    NotServing(String),
    /// No runtime for the network.
    #[error("starting the network: {0}")]
    Runtime(#[source] io::Error),
}

/// Why what a command was given as a recipient is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RecipientError {
    /// Not an address.
    #[error(transparent)]
    Address(#[from] MailError),
    /// A folder where an address is to be, and where a key in it would be.
    #[error("expected an address, found a folder: name a file in it, such as {}", .0.display())]
    Folder(PathBuf),
    /// Nothing that names a recipient.
    #[error(
        "expected somebody to write to, found no file and no contact of this name: `omr contact list` shows contacts"
    )]
    Nobody,
}

/// Errors of libraries that commands pass on.
macro_rules! passed_on {
    ($($error:ty),*) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                FullError::from(error).into()
            }
        })*
    };
}

passed_on!(
    MailError,
    omr_server::ServerError,
    omr_worker::WorkerError,
    omr_ops::OpsError,
    StoreError,
    PdqError,
    RemoteError
);

impl From<omr_worker::WorkerError> for FullError {
    fn from(error: omr_worker::WorkerError) -> Self {
        match error {
            omr_worker::WorkerError::Remote(error) => Self::Remote(error),
            error => Self::Worker(error),
        }
    }
}

impl FullError {
    /// What kind of error it is.
    pub(crate) fn code(&self) -> Code {
        match self {
            FullError::Overflowed { .. } | FullError::Pdq(PdqError::Overflow { .. }) => {
                Code::Overflow
            }
            FullError::Mail(error) => of_mail(error),
            FullError::Damaged { .. } | FullError::CanariesMissing(_) | FullError::Faults(_) => {
                Code::Damaged
            }
            FullError::Remote(error)
            | FullError::Retired {
                source: MailError::Remote(error),
                ..
            }
            | FullError::LastFetch {
                source: MailError::Remote(error),
                ..
            } => of_remote(error),
            FullError::NotServing(_) => Code::Unreachable,
            FullError::NoJob(_) => Code::Input,
            FullError::Worker(omr_worker::WorkerError::NoRight) => Code::Access,
            _ => Code::Failure,
        }
    }
}

fn of_mail(error: &MailError) -> Code {
    match error {
        MailError::Decode(error) => of_decode(error),
        MailError::Locked(_) | MailError::Unlock(..) => Code::Input,
        MailError::Exists(_) | MailError::NotEmpty(_) => Code::Exists,
        MailError::Remote(error) => of_remote(error),
        _ => Code::Failure,
    }
}

fn of_remote(error: &RemoteError) -> Code {
    match error {
        RemoteError::Unreachable { .. } | RemoteError::Tls(..) => Code::Unreachable,
        RemoteError::Exhausted(..) => Code::Busy,
        RemoteError::Unauthenticated(..) | RemoteError::Denied(..) => Code::Access,
        RemoteError::File(..) => Code::Input,
        _ => Code::Failure,
    }
}
