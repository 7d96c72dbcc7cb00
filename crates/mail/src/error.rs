//! The error of this crate.

use omr_client::letter::LetterError;
use omr_client::locked::LockError;
use omr_client::{DecodeError, MakeKeyError, SecretKeyError};
use omr_protocol::frame::FrameError;
use omr_protocol::{
    ClueError, ClueKind, DetectionKeyError, DigestError, ParamsError, PlanError, Scheme, Sealing,
};
use omr_remote::RemoteError;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why mail failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MailError {
    /// No place for an identity.
    #[error("expected --home, OMR_HOME, XDG_DATA_HOME or HOME to say where the identity lives")]
    NoHome,
    /// No identity in the folder.
    #[error("{}: no identity here: make one with `omr id new`", path.display())]
    NoIdentity {
        /// The folder.
        path: PathBuf,
    },
    /// An identity is in the way.
    #[error(
        "{}: an identity is here already: `omr id register` goes on with it, another --home makes another",
        path.display()
    )]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// Keys in the way that cannot be taken over as an identity.
    #[error(
        "{}: {found}, expected {expected}: these keys cannot become the identity, and nothing replaces them: \
         choose another --home",
        path.display()
    )]
    Keys {
        /// The file.
        path: PathBuf,
        /// What the identity needs.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A bound that the server does not serve.
    #[error("the server makes digests of a bound of at most {most}, found {found}: {}", match fixed {
        true => "make an identity with a smaller --bound in another --home",
        false => "give a smaller --bound",
    })]
    ServerBound {
        /// The server's limit.
        most: u32,
        /// The bound.
        found: u32,
        /// Whether the identity is made already.
        fixed: bool,
    },
    /// A secret under a passphrase that was not given.
    #[error("{}: expected the passphrase that this secret is under, found none", path.display())]
    Locked {
        /// The secret's file.
        path: PathBuf,
    },
    /// A secret that the passphrase does not open, or that could not be put under one.
    #[error("{}", path.display())]
    Unlock {
        /// The secret's file.
        path: PathBuf,
        /// Why.
        source: LockError,
    },
    /// Something in the way of an identity that is to be restored.
    #[error(
        "{}: expected no folder or an empty one to restore an identity in: choose another --home, or empty it if an \
         import was interrupted there",
        path.display()
    )]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// Not what an export holds.
    #[error("the exported identity: expected {expected}, found {found}")]
    Export {
        /// What was expected.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// No identity was retired under that name.
    #[error("no retired identity {name:?}: `omr id show` lists them")]
    NoRetired {
        /// The name.
        name: String,
    },
    /// A file could not be read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of ours that is not as it was written.
    #[error("{}: damaged", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// No server is known.
    #[error("no server is set: give one with `omr id register --server URL`")]
    NoServer,
    /// A token, and nobody to show it to.
    #[error("--token goes to a server: name it with --server")]
    TokenWithoutServer,
    /// The server's board has other parameters than the identity.
    #[error(
        "the identity's keys are of {expected}, the server's board is of {found}: make an identity for it in \
         another --home"
    )]
    OtherParams {
        /// The identity's.
        expected: String,
        /// The board's.
        found: String,
    },
    /// An address of another parameter set than the board of the server that letters would go to.
    #[error(
        "the recipient's address is of {expected}, the board of this server is of {found}: she does not read \
         there; ask her for the address that names her server, or name it with --server"
    )]
    AddressParams {
        /// The address's.
        expected: String,
        /// The board's.
        found: String,
    },
    /// A server that would have letters sealed otherwise than agreed.
    #[error(
        "expected letters sealed with {expected}, found {found}: refused; a server that changes how letters are \
         sealed may want to read them, or to make them up"
    )]
    OtherSealing {
        /// What was agreed on.
        expected: Sealing,
        /// What the server says.
        found: Sealing,
    },
    /// Letters that the server, and everybody, could read.
    #[error(
        "the {whose} says that letters are not sealed: refused, as everybody could read them or make them up; \
         where that is meant, say `--sealing none`"
    )]
    Unsealed {
        /// Server or address.
        whose: &'static str,
    },
    /// A letter that takes more messages than its address takes.
    #[error(
        "letter {} of this call takes {found} messages, its recipient takes letters of at most {most}, which is \
         {bytes} bytes: nothing was posted; send it in smaller pieces, or all the same with --large, and it \
         arrives over many fetches or not at all",
        number + 1
    )]
    LongLetter {
        /// The letter, from 0 on.
        number: usize,
        /// Messages that it takes.
        found: u64,
        /// What the address says.
        most: u32,
        /// Bytes of so many messages.
        bytes: u64,
    },
    /// An address for other clues than the board's.
    #[error(
        "the address takes {expected} clues, the server's board {found} ones: an identity for it is made with \
         `omr id new`{}",
        match found { ClueKind::Plain => " --plain-clues", ClueKind::Bound => "" }
    )]
    OtherClues {
        /// The address's.
        expected: ClueKind,
        /// The board's.
        found: ClueKind,
    },
    /// The server shows another board than the identity was registered for.
    #[error(
        "expected board {}, found {}: the server was set up anew, or is another one; what is in the inbox \
         belongs to the first",
        omr_protocol::hex(expected),
        omr_protocol::hex(found)
    )]
    OtherBoard {
        /// The identity's.
        expected: [u8; 16],
        /// The server's.
        found: [u8; 16],
    },
    /// A board whose description cannot be used.
    #[error("the server's board: expected {expected}, found {found}")]
    Board {
        /// What was expected.
        expected: &'static str,
        /// What came.
        found: String,
    },
    /// A board that became shorter.
    #[error(
        "the board has {found} messages, {expected} were there before: the server lost some; ask its operator"
    )]
    Shorter {
        /// Messages before.
        expected: u64,
        /// Messages now.
        found: u64,
    },
    /// Not an armoured address.
    #[error("not an address: expected {expected}, found {found}")]
    Armour {
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// An address whose text was changed.
    #[error("the address is damaged: its fingerprint should be {expected}, its text gives {found}")]
    Fingerprint {
        /// What the text says.
        expected: String,
        /// What it comes to.
        found: String,
    },
    /// Not a short address.
    #[error(
        "expected a short address such as omr1.. or omr1..@https://host, found {found:?}: {why}; was it copied whole?"
    )]
    ShortAddress {
        /// The text.
        found: String,
        /// What is wrong with it.
        why: String,
    },
    /// No server is known that could resolve a short address.
    #[error("no server is known that has {short}: name one with --server, or write {short}@URL")]
    NoResolver {
        /// The short address.
        short: String,
    },
    /// A server has no address of a fingerprint.
    #[error(
        "the server has no address {short}: ask its owner whether she published it there and did so again in time \
         (`omr id publish`), or for what `omr address` prints"
    )]
    NotPublished {
        /// The short address.
        short: String,
    },
    /// A server answered with another address than it was asked for.
    #[error(
        "the server answered with an address of fingerprint {found}, expected {expected}: refused; a server that \
         exchanges addresses wants to read the letters"
    )]
    OtherAddress {
        /// The fingerprint asked for.
        expected: String,
        /// The fingerprint of the address in the answer.
        found: String,
    },
    /// A name that cannot be a file's.
    #[error("expected a name of letters, digits, '-', '_' and '.', at most 64, found {found:?}")]
    Name {
        /// The name.
        found: String,
    },
    /// No such contact.
    #[error("no contact {name:?}: `omr contact list` shows all")]
    NoContact {
        /// The name.
        name: String,
    },
    /// A contact is in the way.
    #[error("contact {name:?} exists: remove it first")]
    ContactExists {
        /// The name.
        name: String,
    },
    /// The identity's keys are not registered.
    #[error("the detection keys are not registered: run `omr id register`")]
    NotRegistered,
    /// A scheme that carries no payloads.
    #[error("expected a scheme with payloads, found {found}")]
    Scheme {
        /// The scheme.
        found: Scheme,
    },
    /// No key for sessions.
    #[error("--session needs an instant.key: make an identity with --scheme instantomr or hybrid")]
    NoInstant,
    /// No such message.
    #[error("no message {number}: `omr inbox --all` lists them")]
    NoMessage {
        /// The number.
        number: u64,
    },
    /// Another process has the inbox.
    #[error("the inbox is in use by another omr (a running `omr watch`?)")]
    Busy,
    /// The inbox's database.
    #[error("the inbox: {0}")]
    Database(#[source] Box<redb::Error>),
    /// The inbox's file is not as it was written.
    #[error(
        "the inbox is damaged: `omr inbox rebuild` fetches it anew from the server and keeps the damaged file \
         under another name"
    )]
    Damaged {
        /// What the database found, if it says.
        source: Option<Box<redb::Error>>,
    },
    /// A record of the inbox.
    #[error(
        "the inbox holds a damaged record: `omr inbox rebuild` fetches it anew from the server and keeps the \
         damaged file under another name"
    )]
    Record(#[source] serde_json::Error),
    /// A range that was never fetched.
    #[error(
        "expected messages within 0..{expected}, those fetched so far, at least one, found {}..{}",
        found.start, found.end
    )]
    Range {
        /// The first message that was not fetched.
        expected: u64,
        /// The range.
        found: Range<u64>,
    },
    /// Nothing to forget.
    #[error(
        "no range is kept within {}..{} and no request waits there: `omr inbox kept` lists them",
        found.start, found.end
    )]
    NotKept {
        /// The range.
        found: Range<u64>,
    },
    /// The server, or the way to it.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A letter that cannot be written.
    #[error(transparent)]
    Letter(#[from] LetterError),
    /// Parameters.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A request that no digest serves.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Not an address.
    #[error(transparent)]
    Clue(#[from] ClueError),
    /// A file's frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A secret key.
    #[error(transparent)]
    Secret(#[from] SecretKeyError),
    /// A detection key was not made.
    #[error(transparent)]
    MakeKey(#[from] MakeKeyError),
    /// A detection key.
    #[error(transparent)]
    DetectionKey(#[from] DetectionKeyError),
    /// A digest's file.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// A digest's content.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl MailError {
    pub(crate) fn file(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        |source| Self::File { path, source }
    }

    /// Whether the same may do later, without changing anything.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Remote(error) => {
                error.is_passing() || matches!(error, RemoteError::JobFailed { .. })
            }
            _ => false,
        }
    }
}

macro_rules! from_database {
    ($($error:ident),*) => {$(
        impl From<redb::$error> for MailError {
            fn from(error: redb::$error) -> Self {
                Self::database(error.into())
            }
        }
    )*};
}

from_database!(TransactionError, TableError, StorageError, CommitError);

impl From<redb::DatabaseError> for MailError {
    fn from(error: redb::DatabaseError) -> Self {
        match error {
            redb::DatabaseError::DatabaseAlreadyOpen => Self::Busy,
            error => Self::database(error.into()),
        }
    }
}

impl From<omr_guard::Panicked> for MailError {
    fn from(_: omr_guard::Panicked) -> Self {
        Self::Damaged { source: None }
    }
}

impl From<omr_guard::Gone> for MailError {
    fn from(_: omr_guard::Gone) -> Self {
        Self::Damaged { source: None }
    }
}

impl MailError {
    fn database(error: redb::Error) -> Self {
        let source = Box::new(error);
        match is_damage(&source) {
            true => Self::Damaged {
                source: Some(source),
            },
            false => Self::Database(source),
        }
    }
}

/// Whether the file is at fault, not the disk or the system.
fn is_damage(error: &redb::Error) -> bool {
    match error {
        redb::Error::Io(source) => matches!(
            source.kind(),
            // A header that is none; a page beyond the end of a file that was cut.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
        ),
        redb::Error::Corrupted(_)
        | redb::Error::UpgradeRequired(_)
        | redb::Error::TableDoesNotExist(_)
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. } => true,
        _ => false,
    }
}
