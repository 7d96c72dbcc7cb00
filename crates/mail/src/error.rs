//! The error of this crate.

use omr_client::letter::LetterError;
use omr_client::locked::LockError;
use omr_client::{DecodeError, MakeKeyError, SecretKeyError};
use omr_errors::OtherVersion;
use omr_inbox::InboxError;
use omr_protocol::Mismatch;
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
    /// No identity in this folder.
    #[error("{}: no identity here: make one with `omr id new`", .0.display())]
    NoIdentity(PathBuf),
    /// An identity is in the way, in this folder.
    #[error("{}: an identity is here already: `omr id register` goes on with it, another --home makes another",
        .0.display())]
    Exists(PathBuf),
    /// Keys in the way that cannot be taken over as an identity.
    #[error(
        "{}: {}, expected {}: these keys cannot become the identity, and nothing replaces them: \
         choose another --home",
        .0.display(),
        .1.found,
        .1.expected
    )]
    Keys(PathBuf, Mismatch<String>),
    /// A bound that the server does not serve.
    #[error("the server makes digests of a bound of at most {most}, found {found}: {}", if *fixed { "make an identity with a smaller --bound in another --home" } else { "give a smaller --bound" })]
    ServerBound {
        /// The server's limit.
        most: u32,
        /// The bound.
        found: u32,
        /// Whether the identity is made already.
        fixed: bool,
    },
    /// The secret in this file is under a passphrase that was not given.
    #[error("{}: expected the passphrase that this secret is under, found none", .0.display())]
    Locked(PathBuf),
    /// A secret that the passphrase does not open, or that could not be put under one.
    #[error("{}", .0.display())]
    Unlock(PathBuf, #[source] LockError),
    /// Something is in this folder, where an identity is to be restored.
    #[error("{}: expected no folder or an empty one to restore an identity in: choose another --home, or empty it if an \
         import was interrupted there",
        .0.display())]
    NotEmpty(PathBuf),
    /// Not what an export holds.
    #[error("the exported identity: {0}")]
    Export(Mismatch<&'static str, String>),
    /// No identity was retired under this name.
    #[error("no retired identity {0:?}: `omr id show` lists them")]
    NoRetired(String),
    /// A file could not be read or written.
    #[error("{}", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// A file of ours that is not as it was written.
    #[error("{}: damaged", .0.display())]
    Settings(PathBuf, #[source] serde_json::Error),
    /// No server is known.
    #[error("no server is set: give one with `omr id register --server URL`")]
    NoServer,
    /// A token, and nobody to show it to.
    #[error("--token goes to a server: name it with --server")]
    TokenWithoutServer,
    /// The server's board has other parameters than the identity.
    #[error("the identity's keys are of {}, the server's board is of {}: make an identity for it in \
         another --home", .0.expected, .0.found)]
    OtherParams(Mismatch<String>),
    /// An address of another parameter set than the board of the server that letters would go to.
    #[error("the recipient's address is of {}, the board of this server is of {}: she does not read \
         there; ask her for the address that names her server, or name it with --server", .0.expected, .0.found)]
    AddressParams(Mismatch<String>),
    /// A server that would have letters sealed otherwise than agreed.
    #[error("expected letters sealed with {}, found {}: refused; a server that changes how letters are \
         sealed may want to read them, or to make them up", .0.expected, .0.found)]
    OtherSealing(Mismatch<Sealing>),
    /// Letters that the server, and everybody, could read, because of server or address.
    #[error(
        "the {0} says that letters are not sealed: refused, as everybody could read them or make them up; \
         where that is meant, say `--sealing none`"
    )]
    Unsealed(&'static str),
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
    #[error("the address takes {} clues, the server's board {} ones: an identity for it is made with \
         `omr id new`{}", .0.expected, .0.found, match .0.found { ClueKind::Plain => " --plain-clues", ClueKind::Bound => "" })]
    OtherClues(Mismatch<ClueKind>),
    /// The server shows another board than the identity was registered for.
    #[error("expected board {}, found {}: the server was set up anew, or is another one; what is in the inbox \
         belongs to the first", omr_protocol::hex(&.0.expected), omr_protocol::hex(&.0.found))]
    OtherBoard(Mismatch<[u8; 16]>),
    /// A board whose description cannot be used.
    #[error("the server's board: {0}")]
    Board(Mismatch<&'static str, String>),
    /// Not an armoured address.
    #[error("not an address: {0}")]
    Armour(Mismatch<&'static str, String>),
    /// An address whose text was changed.
    #[error("the address is damaged: its fingerprint should be {}, its text gives {}", .0.expected, .0.found)]
    Fingerprint(Mismatch<String>),
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
    /// No server is known that could resolve this short address.
    #[error("no server is known that has {0}: name one with --server, or write {0}@URL")]
    NoResolver(String),
    /// A server has no address of this fingerprint.
    #[error(
        "the server has no address {0}: ask its owner whether she published it there and did so again in time \
         (`omr id publish`), or for what `omr address` prints"
    )]
    NotPublished(String),
    /// A server answered with another address than it was asked for.
    #[error("the server answered with an address of fingerprint {}, expected {}: refused; a server that \
         exchanges addresses wants to read the letters", .0.found, .0.expected)]
    OtherAddress(Mismatch<String>),
    /// A name that cannot be a file's.
    #[error("expected a name of letters, digits, '-', '_' and '.', at most 64, found {0:?}")]
    Name(String),
    /// No contact of this name.
    #[error("no contact {0:?}: `omr contact list` shows all")]
    NoContact(String),
    /// A contact of this name is in the way.
    #[error("contact {0:?} exists: remove it first")]
    ContactExists(String),
    /// The identity's keys are not registered.
    #[error("the detection keys are not registered: run `omr id register`")]
    NotRegistered,
    /// The server does not know the keys of an identity that registered them.
    #[error(
        "the server does not know the detection keys of this address: another copy of the identity ended it \
         (`omr id rotate`, `forget` or `revoke`), or nobody fetched for so long that the server forgot them. Where another \
         device has a new address, bring that here: `omr id export` there, `omr id import` here into another --home. Only \
         where this address is still yours: `omr id register`"
    )]
    KeysGone,
    /// This scheme carries no payloads.
    #[error("expected a scheme with payloads, found {0}")]
    Scheme(Scheme),
    /// This scheme does not work batch by batch.
    #[error("--batches needs keys for sophomr or hybrid, found those for {0}")]
    NoBatches(Scheme),
    /// No key for sessions.
    #[error("--session needs an instant.key: make an identity with --scheme instantomr or hybrid")]
    NoInstant,
    /// No message of this number.
    #[error("no message {0}: `omr inbox --all` lists them")]
    NoMessage(u64),
    /// Another process fetches into the inbox.
    #[error(
        "another omr fetches into this inbox (a running `omr watch`?): end it first; `omr inbox --offline` and \
         `omr inbox read` work beside it"
    )]
    Busy,
    /// The inbox's database.
    #[error("the inbox: {0}")]
    Database(#[source] Box<redb::Error>),
    /// An inbox of another version of its format.
    #[error(
        "the inbox: {0}: `omr inbox rebuild` fetches it from the server and keeps the file under another name"
    )]
    Version(OtherVersion),
    /// The inbox's file is not as it was written; what the database found, if it says.
    #[error(
        "the inbox is damaged: `omr inbox rebuild` fetches it anew from the server and keeps the damaged file \
         under another name"
    )]
    Damaged(#[source] Option<Box<redb::Error>>),
    /// A record of the inbox.
    #[error(
        "the inbox holds a damaged record: `omr inbox rebuild` fetches it anew from the server and keeps the \
         damaged file under another name"
    )]
    Record(#[source] serde_json::Error),
    /// A range that was never fetched.
    #[error("expected messages within 0..{}, those fetched so far, at least one, found {}..{}", .0.expected, .0.found.start, .0.found.end)]
    Range(Mismatch<u64, Range<u64>>),
    /// Nothing to forget in this range.
    #[error("no range is kept within {}..{} and no request waits there: `omr inbox kept` lists them",
        .0.start, .0.end)]
    NotKept(Range<u64>),
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
        |source| Self::File(path, source)
    }

    /// Whether the same may do later, without changing anything.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Remote(error) => error.is_passing() || matches!(error, RemoteError::JobFailed(_)),
            _ => false,
        }
    }
}

impl From<InboxError> for MailError {
    fn from(error: InboxError) -> Self {
        match error {
            InboxError::Record(source) => Self::Record(source),
            InboxError::Bytes { .. } => Self::Damaged(None),
            InboxError::OtherParams(names) => Self::OtherParams(names),
            InboxError::OtherBoard(ids) => Self::OtherBoard(ids),
            InboxError::OtherSealing(sealings) => Self::OtherSealing(sealings),
            InboxError::Unsealed => Self::Unsealed("server"),
            InboxError::Board(wrong) => Self::Board(wrong),
            InboxError::NoInstant => Self::NoInstant,
            InboxError::Answer { call, mismatch } => {
                RemoteError::answer(call, mismatch.expected, mismatch.found).into()
            }
            InboxError::NoMessage(number) => Self::NoMessage(number),
            InboxError::Range(range) => Self::Range(range),
            InboxError::NotKept(range) => Self::NotKept(range),
            InboxError::Params(source) => Self::Params(source),
            InboxError::Digest(source) => Self::Digest(source),
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

impl From<omr_disk::guard::Panicked> for MailError {
    fn from(_: omr_disk::guard::Panicked) -> Self {
        Self::Damaged(None)
    }
}

impl From<omr_disk::guard::Gone> for MailError {
    fn from(_: omr_disk::guard::Gone) -> Self {
        Self::Damaged(None)
    }
}

impl MailError {
    fn database(error: redb::Error) -> Self {
        let source = Box::new(error);
        if is_damage(&source) {
            Self::Damaged(Some(source))
        } else {
            Self::Database(source)
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
