//! The error of this crate.

use omr_client::letter::LetterError;
use omr_client::locked::LockError;
use omr_client::{DecodeError, MakeKeyError, SecretKeyError};
use omr_errors::OtherVersion;
use omr_inbox::InboxError;
use omr_protocol::Mismatch;
use omr_protocol::frame::FrameError;
use omr_protocol::periods::PeriodError;
use omr_protocol::{
    ClueError, ClueKind, DetectionKeyError, DigestError, ParamsError, PlanError, Scheme, Sealing,
};
use omr_remote::RemoteError;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An error of mail. Messages state what was expected and what was found; the program that shows them adds advice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MailError {
    /// No environment variable determines the folder of the identity.
    #[error(
        "expected a folder for the identity in OMR_HOME, XDG_DATA_HOME or HOME, found none of them set"
    )]
    NoHome,
    /// This folder has no identity.
    #[error("{}: no identity here", .0.display())]
    NoIdentity(PathBuf),
    /// This folder has an identity already.
    #[error("{}: an identity is here already", .0.display())]
    Exists(PathBuf),
    /// This file is a key that cannot become an identity's, and is not replaced.
    #[error(
        "{}: {}, expected {}: these keys cannot become the identity, and nothing replaces them",
        .0.display(), .1.found, .1.expected
    )]
    Keys(PathBuf, Mismatch<String>),
    /// The server does not serve this bound.
    #[error("the server makes digests of a bound of at most {most}, found {found}")]
    ServerBound {
        /// The server's limit.
        most: u32,
        /// The bound.
        found: u32,
        /// Whether it is the bound of an existing identity, which cannot change.
        fixed: bool,
    },
    /// The secret in this file is under a passphrase that was not given.
    #[error("{}: expected the passphrase that this secret is under, found none", .0.display())]
    Locked(PathBuf),
    /// The passphrase does not open the secret in this file, or the secret could not be put under it.
    #[error("{}", .0.display())]
    Unlock(PathBuf, #[source] LockError),
    /// An identity cannot be restored in this folder, as it is not empty.
    #[error("{}: expected no folder or an empty one to restore an identity in", .0.display())]
    NotEmpty(PathBuf),
    /// The file is not a valid export.
    #[error("the exported identity: {0}")]
    Export(Mismatch<&'static str, String>),
    /// There is no retired identity of this name.
    #[error("no retired identity {0:?}")]
    NoRetired(String),
    /// The identity in this folder has no other devices.
    #[error("{}: the identity is linked with no other device", .0.display())]
    NotLinked(PathBuf),
    /// An update for the other devices is damaged.
    #[error("an update of another device: {0}")]
    Update(String),
    /// This file could not be read or written.
    #[error("{}", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// This file of the identity is damaged.
    #[error("{}: damaged", .0.display())]
    Settings(PathBuf, #[source] serde_json::Error),
    /// No operator of this URL was added to the identity.
    #[error("expected an operator that was added, found {0:?}, which is none of them")]
    NoOperator(String),
    /// The identity has no server.
    #[error("no server is set")]
    NoServer,
    /// The server's board has another parameter set than the identity.
    #[error("the identity's keys are of {}, the server's board is of {}", .0.expected, .0.found)]
    OtherParams(Mismatch<String>),
    /// The address has another parameter set than the board of the server to which the letters would be sent.
    #[error(
        "the recipient's address is of {}, the board of this server is of {}: the recipient does not read this board",
        .0.expected, .0.found
    )]
    AddressParams(Mismatch<String>),
    /// The letters of the board are sealed in another way than agreed.
    #[error("expected letters sealed with {}, found {}: refused; a server that changes how letters are \
         sealed may want to read them, or to make them up", .0.expected, .0.found)]
    OtherSealing(Mismatch<Sealing>),
    /// Letters would not be sealed, by the choice of the server or of the address.
    #[error("the {0} does not seal letters: refused, as everybody could read them or make them up")]
    Unsealed(&'static str),
    /// The letter has more messages than its address allows.
    #[error(
        "letter {} of this call takes {found} messages, its recipient takes letters of at most {most}, which is \
         {bytes} bytes: nothing was posted",
        number + 1
    )]
    LongLetter {
        /// The number of the letter, counted from 0.
        number: usize,
        /// The number of its messages.
        found: u64,
        /// The highest number of messages that the address allows.
        most: u32,
        /// The highest number of bytes in that number of messages.
        bytes: u64,
    },
    /// The address has another kind of clues than the board.
    #[error("the address takes {} clues, the server's board {} ones", .0.expected, .0.found)]
    OtherClues(Mismatch<ClueKind>),
    /// The server shows another board than the one where the identity is registered.
    #[error("expected board {}, found {}: the server was set up again, or is another one; the content of the inbox \
         belongs to the first", omr_protocol::hex(&.0.expected), omr_protocol::hex(&.0.found))]
    OtherBoard(Mismatch<[u8; 16]>),
    /// The description of the server's board is invalid.
    #[error("the server's board: {0}")]
    Board(Mismatch<&'static str, String>),
    /// The text is not an armoured address.
    #[error("not an address: {0}")]
    Armour(Mismatch<&'static str, String>),
    /// The keys of periods in an address were refused.
    #[error("the address is damaged: {0}")]
    Period(#[from] PeriodError),
    /// The clocks of this computer and of the server differ.
    #[error(
        "expected a server whose clock agrees with this computer's to half a day, found a difference of {} hours: letters \
         are sealed for a time, so the wrong clock must be set first", .0 / 3600
    )]
    Clock(u64),
    /// The address does not have the fingerprint that its text states.
    #[error("the address is damaged: its fingerprint should be {}, that of its text is {}", .0.expected, .0.found)]
    Fingerprint(Mismatch<String>),
    /// The text is not a valid short address.
    #[error(
        "expected a short address such as omr1.. or omr1..@https://host, found {found:?}: {why}; was it copied whole?"
    )]
    ShortAddress {
        /// The text.
        found: String,
        /// The reason why it is invalid.
        why: String,
    },
    /// No server is known that could resolve this short address.
    #[error("no server is known that has {0}")]
    NoResolver(String),
    /// The server has no address of this fingerprint.
    #[error("the server has no address {0}: it was not published there, or not renewed in time")]
    NotPublished(String),
    /// The server answered with another address than the requested one.
    #[error("the server answered with an address of fingerprint {}, expected {}: refused; a server that \
         replaces addresses may want to read the letters", .0.found, .0.expected)]
    OtherAddress(Mismatch<String>),
    /// This name cannot be a contact's.
    #[error("expected a name of letters, digits, '-', '_' and '.', at most 64, found {0:?}")]
    Name(String),
    /// There is no contact of this name.
    #[error("no contact {0:?}")]
    NoContact(String),
    /// There is a contact of this name already.
    #[error("contact {0:?} exists: remove it first")]
    ContactExists(String),
    /// The identity's keys are not registered.
    #[error("the detection keys are not registered")]
    NotRegistered,
    /// The server does not know the keys of an identity that registered them.
    #[error(
        "the server does not know the detection keys of this address: another copy of the identity was replaced, \
         forgotten or revoked, or no fetch was made for so long that the server forgot them"
    )]
    KeysGone,
    /// This scheme carries no payloads.
    #[error("expected a scheme with payloads, found {0}")]
    Scheme(Scheme),
    /// This scheme has no digests of whole batches.
    #[error("expected keys for sophomr or hybrid to fetch whole batches, found those for {0}")]
    NoBatches(Scheme),
    /// The identity has no key for sessions.
    #[error("expected a key for sessions, instant.key, found none")]
    NoInstant,
    /// The address of the identity in this folder has no key that verifies signatures.
    #[error("{}: expected an identity whose address has the verifying key of its secret.key, found none", .0.display())]
    NoSigner(PathBuf),
    /// The letter of this number names no sender.
    #[error("expected a letter that names its sender, found letter {0}, which names nobody")]
    NoSender(u64),
    /// The letter of this number names a sender whose signature does not match.
    #[error(
        "expected a letter that its sender signed, found letter {0}, whose signature does not match: the sender is forged"
    )]
    ForgedSender(u64),
    /// The inbox has no message of this number.
    #[error("no message {0}")]
    NoMessage(u64),
    /// Another process fetches into the inbox.
    #[error("another program fetches into this inbox")]
    Busy,
    /// The database of the inbox failed.
    #[error("the inbox: {0}")]
    Database(#[source] Box<redb::Error>),
    /// The inbox has another version of its format.
    #[error("the inbox: {0}")]
    Version(OtherVersion),
    /// The inbox's file is damaged; with the error of the database, if there is one.
    #[error("the inbox is damaged")]
    Damaged(#[source] Option<Box<redb::Error>>),
    /// The inbox in this file is not encrypted with the key of the identity's secret, or its first bytes are damaged.
    #[error(
        "{}: expected an inbox that is encrypted with this identity's secret, found one of another secret or a damaged one",
        .0.display()
    )]
    OtherInbox(PathBuf),
    /// A record of the inbox is damaged.
    #[error("the inbox has a damaged record")]
    Record(#[source] serde_json::Error),
    /// The range was never fetched.
    #[error("expected messages within 0..{}, those fetched so far, at least one, found {}..{}", .0.expected, .0.found.start, .0.found.end)]
    Range(Mismatch<u64, Range<u64>>),
    /// There is nothing to forget in this range.
    #[error("no range is kept within {}..{} and no request waits there", .0.start, .0.end)]
    NotKept(Range<u64>),
    /// A call of the server failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A letter cannot be written.
    #[error(transparent)]
    Letter(#[from] LetterError),
    /// The parameters are invalid.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// No digest can serve a request.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A clue key is invalid.
    #[error(transparent)]
    Clue(#[from] ClueError),
    /// The frame of a file is invalid.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A secret key is invalid.
    #[error(transparent)]
    Secret(#[from] SecretKeyError),
    /// A detection key was not made.
    #[error(transparent)]
    MakeKey(#[from] MakeKeyError),
    /// A detection key is invalid.
    #[error(transparent)]
    DetectionKey(#[from] DetectionKeyError),
    /// A digest's file is invalid.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// A digest did not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// The kind of a [`MailError`], for programs that give it an exit code or an exception of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MailErrorKind {
    /// The identity is missing, incomplete, not registered, or has keys that do not fit.
    Identity,
    /// An identity, or something else, is where a new one would be.
    Exists,
    /// The passphrase of a secret is missing or wrong.
    Passphrase,
    /// A file could not be read or written, or has invalid content.
    File,
    /// A parameter set is unknown, or another than expected.
    Params,
    /// A digest of this bound or shape cannot be made.
    Plan,
    /// The server's board is not as agreed.
    Board,
    /// An address, a contact or a name of one is invalid or unknown.
    Address,
    /// A letter is too long, or cannot be written.
    Letter,
    /// The inbox is damaged, or lacks the message or range.
    Inbox,
    /// Another process fetches into the inbox.
    Busy,
    /// A digest did not decode.
    Decode,
    /// A call of the server failed.
    Remote,
}

impl MailError {
    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> MailErrorKind {
        match self {
            Self::NoHome
            | Self::NoIdentity(_)
            | Self::Keys(..)
            | Self::Export(_)
            | Self::NoRetired(_)
            | Self::NotLinked(_)
            | Self::Update(_)
            | Self::Settings(..)
            | Self::NoServer
            | Self::NoOperator(_)
            | Self::NotRegistered
            | Self::KeysGone
            | Self::Scheme(_)
            | Self::NoBatches(_)
            | Self::NoInstant
            | Self::NoSigner(_)
            | Self::MakeKey(_) => MailErrorKind::Identity,
            Self::Exists(_) | Self::NotEmpty(_) => MailErrorKind::Exists,
            Self::Locked(_) | Self::Unlock(..) => MailErrorKind::Passphrase,
            Self::File(..)
            | Self::Clue(_)
            | Self::Frame(_)
            | Self::Secret(_)
            | Self::DetectionKey(_)
            | Self::Digest(_) => MailErrorKind::File,
            Self::OtherParams(_) | Self::AddressParams(_) | Self::Params(_) => {
                MailErrorKind::Params
            }
            Self::ServerBound { .. } | Self::Plan(_) => MailErrorKind::Plan,
            Self::OtherSealing(_)
            | Self::Unsealed(_)
            | Self::OtherClues(_)
            | Self::OtherBoard(_)
            | Self::Board(_)
            | Self::Clock(_) => MailErrorKind::Board,
            Self::Armour(_)
            | Self::Fingerprint(_)
            | Self::Period(_)
            | Self::ShortAddress { .. }
            | Self::NoResolver(_)
            | Self::NotPublished(_)
            | Self::OtherAddress(_)
            | Self::Name(_)
            | Self::NoContact(_)
            | Self::ContactExists(_) => MailErrorKind::Address,
            Self::LongLetter { .. } | Self::Letter(_) => MailErrorKind::Letter,
            Self::NoMessage(_)
            | Self::NoSender(_)
            | Self::ForgedSender(_)
            | Self::Database(_)
            | Self::Version(_)
            | Self::Damaged(_)
            | Self::OtherInbox(_)
            | Self::Record(_)
            | Self::Range(_)
            | Self::NotKept(_) => MailErrorKind::Inbox,
            Self::Busy => MailErrorKind::Busy,
            Self::Decode(_) => MailErrorKind::Decode,
            Self::Remote(_) => MailErrorKind::Remote,
        }
    }
}

impl MailError {
    pub(crate) fn file(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let owned = path.as_ref().to_owned();
        |source| Self::File(owned, source)
    }

    /// Returns whether the operation may succeed when it is simply repeated later.
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
            InboxError::Bytes { .. } | InboxError::Sealed(_) => Self::Damaged(None),
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
            InboxError::Query(source) => Self::Decode(source),
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

/// Returns whether the file is damaged, as opposed to a failure of the disk or the system.
fn is_damage(error: &redb::Error) -> bool {
    match error {
        redb::Error::Io(source) => matches!(
            source.kind(),
            // An invalid header; a page beyond the end of a file that was cut.
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
