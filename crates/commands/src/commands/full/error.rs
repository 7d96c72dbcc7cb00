//! The errors of commands of mail, servers and private queries.

use super::pdq::PdqError;
use crate::error::CliError;
use crate::error::code::of_decode;
use omr_console::Code;
use omr_mail::{MailError, MailErrorKind};
use omr_protocol::Mismatch;
use omr_remote::{RemoteError, RemoteErrorKind};
use omr_store::StoreError;
use std::io;
use std::path::PathBuf;

/// An error of a command of mail, servers or private queries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FullError {
    /// Letters to a retired identity could not be fetched.
    #[error("the retired identity {name}")]
    Retired {
        /// The name of the retired identity.
        name: String,
        /// The error of the fetch.
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
        /// The error of the fetch.
        source: MailError,
    },
    /// There are several retired identities, with these names, and none was chosen.
    #[error("expected the name of a retired identity, or --all: there are {}", .0.join(", "))]
    WhichRetired(Vec<String>),
    /// The folder contains backups in place of a server's data.
    #[error(
        "{folder}: expected a server's data, found backups of it: `omr data verify --from {folder}` checks them",
        folder = .0.display()
    )]
    Backups(PathBuf),
    /// The identity is to be forgotten, but letters to it are still missing.
    #[error(
        "{identity}: expected all letters to it in the inbox, found {} ranges, {} letters with missing parts and \
         {} messages to fetch: `omr inbox` fetches them (`omr inbox kept --home {}` lists the ranges), {alternative}",
        unfinished.ranges,
        unfinished.letters,
        unfinished.waiting,
        home.display()
    )]
    Unfinished {
        /// The identity, as the subject of the message.
        identity: String,
        /// The ranges and letters that are still to be fetched.
        unfinished: omr_mail::Unfinished,
        /// The folder that holds the identity.
        home: PathBuf,
        /// The alternative, as the end of the message.
        alternative: String,
    },
    /// An identity with other devices cannot forget its old address at once.
    #[error(
        "the other devices read the old address until they have the new one: without --forget-old they get it, with \
         --unlink they lose the identity"
    )]
    ForgottenByDevices,
    /// The keys of an identity with other devices were registered before.
    #[error(
        "the keys are registered, or another device replaced or forgot them: where `omr address` prints another address \
         there, import an export of that device here; otherwise --again registers them again"
    )]
    RegisteredBefore,
    /// A token was given on the command line, but no server.
    #[error("--token goes to a server: name it with --server")]
    TokenWithoutServer,
    /// New words were wanted for the keys in this folder, which have none.
    #[error(
        "{}: expected no keys, since those of new words are made, found some: --from-words completes keys of words that \
         you have, and without --words these keys become the identity's",
        .0.display()
    )]
    KeysWithoutWords(PathBuf),
    /// A birthday was given for keys that nobody can have written to.
    #[error(
        "expected --birthday with --from-words, or with keys in the folder, found it for new keys, which begin at the \
         board's end"
    )]
    BirthdayOfNew,
    /// The ledger's board has no block of the birthday's height yet.
    #[error("expected a birthday up to the height of the board's last block, {}, found {}", .0.expected, .0.found)]
    BirthdayHeight(Mismatch<u64>),
    /// The board is shorter than the birthday.
    #[error("expected a birthday of at most {}, the messages that the board has had, found {}", .0.expected, .0.found)]
    Birthday(Mismatch<u64>),
    /// The secret has no passphrase to remove.
    #[error("{}: expected a secret under a passphrase, found one without", .0.display())]
    NotLocked(PathBuf),
    /// An identity, a letter or the inbox failed.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// More messages were found in a range than the bound.
    #[error(
        "overflow: {groups} of the requested ranges contain more messages for you than the bound, up to {most} \
         with a bound of {bound}; they are kept. `omr inbox kept` shows which of them arrived since"
    )]
    Overflowed {
        /// The number of ranges that overflowed.
        groups: usize,
        /// The highest number of messages in a range.
        most: u64,
        /// The bound.
        bound: u32,
    },
    /// Digests did not decode.
    #[error(
        "{ranges} digests did not decode and are kept as damaged: {reason}. `omr inbox --retry-damaged` requests \
         them again"
    )]
    Damaged {
        /// The number of ranges whose digests did not decode.
        ranges: usize,
        /// The reason why the first digest did not decode.
        reason: String,
    },
    /// The board had two different running hashes at one length.
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
        /// The other running hash.
        found: String,
    },
    /// The server does not know the running hash at this length.
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
    /// A thread of this program ended by a panic.
    #[error("decoding was interrupted")]
    Interrupted,
    /// The content of this message could steer a terminal.
    #[error("message {0} is not plain text: save it with --out")]
    NotText(u64),
    /// A server failed.
    #[error(transparent)]
    Server(#[from] omr_server::ServerError),
    /// A worker failed.
    #[error(transparent)]
    Worker(omr_worker::WorkerError),
    /// Logs or traces failed.
    #[error(transparent)]
    Ops(#[from] omr_ops::OpsError),
    /// The data of a server cannot be used.
    #[error(transparent)]
    Store(#[from] omr_store::StoreError),
    /// A private database query failed.
    #[error(transparent)]
    Pdq(#[from] PdqError),
    /// A call of a server failed.
    #[error(transparent)]
    Remote(#[from] omr_remote::RemoteError),
    /// A check found this many faults in the data that a server keeps.
    #[error("expected no damage, found {0} faults: a warning names each")]
    Faults(u64),
    /// A stopped server has no job of this id.
    #[error("expected `all` or the id of a job that `omr data jobs` lists, found {0:?}")]
    NoJob(String),
    /// The server answers, but is not ready.
    #[error("{0} does not serve")]
    NotServing(String),
    /// The runtime of the network did not start.
    #[error("starting the network: {0}")]
    Runtime(#[source] io::Error),
}

/// The reason why an argument does not stand for a recipient.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RecipientError {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] MailError),
    /// The argument is a folder; with the path of a key that would be in it.
    #[error("expected an address, found a folder: name a file in it, such as {}", .0.display())]
    Folder(PathBuf),
    /// There is no file and no contact of this name.
    #[error(
        "expected somebody to write to, found no file and no contact of this name: `omr contact list` shows contacts"
    )]
    Nobody,
}

/// Conversions of errors of libraries.
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
    /// Returns the command or the option that helps, for errors of libraries, which name none.
    pub(crate) fn advice(&self) -> Option<String> {
        match self {
            Self::Mail(error)
            | Self::Retired { source: error, .. }
            | Self::LastFetch { source: error, .. } => super::mail::advice(error),
            _ => None,
        }
    }

    /// Returns the kind of the error.
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
            FullError::NoJob(_) | FullError::Birthday(_) => Code::Input,
            FullError::BirthdayOfNew => Code::Usage,
            FullError::KeysWithoutWords(_) => Code::Exists,
            FullError::Worker(omr_worker::WorkerError::NoRight) => Code::Access,
            _ => Code::Failure,
        }
    }
}

fn of_mail(error: &MailError) -> Code {
    match error {
        MailError::Decode(error) => of_decode(error),
        MailError::Remote(error) => of_remote(error),
        _ => match error.kind() {
            MailErrorKind::Passphrase => Code::Input,
            MailErrorKind::Exists => Code::Exists,
            _ => Code::Failure,
        },
    }
}

fn of_remote(error: &RemoteError) -> Code {
    match error.kind() {
        RemoteErrorKind::Unreachable => Code::Unreachable,
        RemoteErrorKind::Busy => Code::Busy,
        RemoteErrorKind::Access => Code::Access,
        RemoteErrorKind::File => Code::Input,
        _ => Code::Failure,
    }
}
