//! One kind for each error, with its figures.

use crate::BindingError;
use omr_client::locked::LockError;
use omr_client::{DecodeError, SecretKeyError, WordsError};
use omr_mail::{MailError, MailErrorKind};
use omr_protocol::frame::FrameError;
use omr_protocol::rounds::RoundsError;
use omr_protocol::{ClueError, DetectionKeyError, DigestError, Mismatch, PlanError};
use omr_remote::{RemoteError, RemoteErrorKind};
use std::fmt::Display;
use std::io;

/// The kind of an error. Python's class of the kind `Params` is `omr.errors.ParamsError`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server does not know the token, or the token does not allow the call.
    Access,
    /// An address is damaged or nobody's, or a contact is missing or in the way.
    Address,
    /// A board is missing, damaged, not as agreed, or does not take a message.
    Board,
    /// A digest does not decode.
    Decode,
    /// A digest was not made.
    Detector,
    /// A digest has more messages for the recipient than its bound.
    DigestOverflow,
    /// A file is damaged, cut short or something else.
    File,
    /// An identity is missing, in the way, or not registered.
    Identity,
    /// An inbox is damaged, or has no such letter.
    Inbox,
    /// Another program or call fetches into the inbox.
    InboxBusy,
    /// The inbox was closed.
    InboxClosed,
    /// A letter does not fit the board or the address.
    Letter,
    /// The digest is for another recipient.
    OtherKey,
    /// Two things have different parameter sets.
    OtherParams,
    /// No such parameter set exists, or it lacks what is needed.
    Params,
    /// A passphrase is missing, wrong, or too short.
    Passphrase,
    /// No digest of this bound or range can be made.
    Plan,
    /// A server refuses a call, gives up, or breaks the protocol.
    Server,
    /// The caller stopped the work.
    Stopped,
    /// The system refuses a file, a thread or a connection.
    System,
    /// No server answers.
    Unreachable,
    /// An argument has an invalid value.
    Value,
    /// Words make no keys.
    Words,
}

/// The value of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// An error without its type: the kind and the figures, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flat {
    /// The kind.
    pub kind: Kind,
    /// The figures: `expected` and `found`, or others that the error has.
    pub values: Vec<(&'static str, Value)>,
}

impl Flat {
    /// Returns an error without figures.
    #[must_use]
    pub const fn bare(kind: Kind) -> Self {
        Self {
            kind,
            values: Vec::new(),
        }
    }

    /// Returns an error with the expected and the found value.
    pub fn both<E: Display, F: Display>(kind: Kind, values: Mismatch<E, F>) -> Self {
        let text = |value: &dyn Display| Value::Text(value.to_string());
        let values = vec![
            ("expected", text(&values.expected)),
            ("found", text(&values.found)),
        ];
        Self { kind, values }
    }

    fn counts(kind: Kind, expected: u64, found: u64) -> Self {
        let values = vec![
            ("expected", Value::Number(expected)),
            ("found", Value::Number(found)),
        ];
        Self { kind, values }
    }
}

/// The system's error is the error where it is the cause.
impl TryFrom<BindingError> for Flat {
    type Error = io::Error;

    fn try_from(error: BindingError) -> Result<Self, io::Error> {
        Ok(match error {
            BindingError::Mail(error) => return error.try_into(),
            BindingError::Remote(error) => return error.try_into(),
            BindingError::Lock(error) => return error.try_into(),
            BindingError::Words(error) => error.into(),
            BindingError::BirthdayOfNew => Self::bare(Kind::Value),
            BindingError::Birthday(counts) => {
                Self::counts(Kind::Value, counts.expected, counts.found)
            }
            BindingError::InboxClosed => Self::bare(Kind::InboxClosed),
            BindingError::Fetching | BindingError::Beside => Self::bare(Kind::InboxBusy),
            BindingError::Stopped => Self::bare(Kind::Stopped),
            BindingError::Io(error) => return Err(error),
        })
    }
}

impl TryFrom<MailError> for Flat {
    type Error = io::Error;

    fn try_from(error: MailError) -> Result<Self, io::Error> {
        let kind = match error.kind() {
            MailErrorKind::File => Kind::File,
            MailErrorKind::Passphrase => Kind::Passphrase,
            MailErrorKind::Params => Kind::Params,
            MailErrorKind::Plan => Kind::Plan,
            MailErrorKind::Board => Kind::Board,
            MailErrorKind::Address => Kind::Address,
            MailErrorKind::Letter => Kind::Letter,
            MailErrorKind::Inbox => Kind::Inbox,
            MailErrorKind::Busy => Kind::InboxBusy,
            MailErrorKind::Decode => Kind::Decode,
            MailErrorKind::Remote => Kind::Server,
            _ => Kind::Identity,
        };
        Ok(match error {
            MailError::File(_, error) => return Err(error),
            MailError::Unlock(_, error) => return error.try_into(),
            MailError::Remote(error) => return error.try_into(),
            MailError::Frame(error) => return error.try_into(),
            MailError::Clue(error) => return error.try_into(),
            MailError::Secret(error) => return error.try_into(),
            MailError::DetectionKey(error) => return error.try_into(),
            MailError::Digest(error) => return error.try_into(),
            MailError::Decode(error) => error.into(),
            MailError::Plan(error) => error.into(),
            MailError::OtherParams(names) | MailError::AddressParams(names) => {
                Self::both(Kind::OtherParams, names)
            }
            MailError::OtherSealing(sealings) => Self::both(kind, sealings),
            MailError::OtherClues(kinds) => Self::both(kind, kinds),
            MailError::ServerBound { most, found, .. } => {
                Self::counts(kind, most.into(), found.into())
            }
            _ => Self::bare(kind),
        })
    }
}

impl TryFrom<RemoteError> for Flat {
    type Error = io::Error;

    fn try_from(error: RemoteError) -> Result<Self, io::Error> {
        if let RemoteError::File(_, error) = error {
            return Err(error);
        }
        Ok(Self::bare(match error.kind() {
            RemoteErrorKind::Unreachable => Kind::Unreachable,
            RemoteErrorKind::Access => Kind::Access,
            _ => Kind::Server,
        }))
    }
}

impl TryFrom<LockError> for Flat {
    type Error = io::Error;

    fn try_from(error: LockError) -> Result<Self, io::Error> {
        match error {
            LockError::Frame(error) => error.try_into(),
            LockError::Holds(kinds) => Ok(Self::both(Kind::File, kinds)),
            LockError::Short(_) | LockError::Cost { .. } => Ok(Self::bare(Kind::File)),
            _ => Ok(Self::bare(Kind::Passphrase)),
        }
    }
}

impl From<WordsError> for Flat {
    fn from(error: WordsError) -> Self {
        match error {
            WordsError::Count(counts) => Self::both(Kind::Words, counts),
            _ => Self::bare(Kind::Words),
        }
    }
}

impl TryFrom<FrameError> for Flat {
    type Error = io::Error;

    fn try_from(error: FrameError) -> Result<Self, io::Error> {
        Ok(match error {
            FrameError::Io(error) => return Err(error),
            FrameError::Params(names) => Self::both(Kind::OtherParams, names),
            FrameError::Kind(kinds) => Self::both(Kind::File, kinds),
            FrameError::UnknownKind(kinds) => Self::both(Kind::File, kinds),
            FrameError::Truncated(bytes) => Self::both(Kind::File, bytes),
            _ => Self::bare(Kind::File),
        })
    }
}

impl TryFrom<ClueError> for Flat {
    type Error = io::Error;

    fn try_from(error: ClueError) -> Result<Self, io::Error> {
        match error {
            ClueError::Frame(error) => error.try_into(),
            ClueError::Length(bytes) => Ok(Self::both(Kind::File, bytes)),
            ClueError::Signature | ClueError::Kind(_) => Ok(Self::bare(Kind::Board)),
            _ => Ok(Self::bare(Kind::File)),
        }
    }
}

impl TryFrom<SecretKeyError> for Flat {
    type Error = io::Error;

    fn try_from(error: SecretKeyError) -> Result<Self, io::Error> {
        match error {
            SecretKeyError::Frame(error) => error.try_into(),
            SecretKeyError::Length(bytes) => Ok(Self::both(Kind::File, bytes)),
            _ => Ok(Self::bare(Kind::File)),
        }
    }
}

impl TryFrom<DetectionKeyError> for Flat {
    type Error = io::Error;

    fn try_from(error: DetectionKeyError) -> Result<Self, io::Error> {
        match error {
            DetectionKeyError::Frame(error) => error.try_into(),
            DetectionKeyError::Params(_) => Ok(Self::bare(Kind::Params)),
            DetectionKeyError::Length(bytes) => Ok(Self::both(Kind::File, bytes)),
            _ => Ok(Self::bare(Kind::File)),
        }
    }
}

impl TryFrom<DigestError> for Flat {
    type Error = io::Error;

    fn try_from(error: DigestError) -> Result<Self, io::Error> {
        match error {
            DigestError::Frame(error) => error.try_into(),
            DigestError::Scan(error) => error.try_into(),
            DigestError::Params(_) => Ok(Self::bare(Kind::Params)),
            DigestError::Length(bytes) => Ok(Self::both(Kind::File, bytes)),
            _ => Ok(Self::bare(Kind::File)),
        }
    }
}

impl TryFrom<RoundsError> for Flat {
    type Error = io::Error;

    fn try_from(error: RoundsError) -> Result<Self, io::Error> {
        Ok(match error {
            RoundsError::Frame(error) => return error.try_into(),
            RoundsError::Params(_) => Self::bare(Kind::Params),
            RoundsError::Plan(error) => error.into(),
            RoundsError::Length { of, .. } => Self::both(Kind::File, of),
            RoundsError::OtherScan(subjects) => Self::both(Kind::Detector, subjects),
            _ => Self::bare(Kind::File),
        })
    }
}

impl From<PlanError> for Flat {
    fn from(error: PlanError) -> Self {
        let found = |found: usize| vec![("found", Value::Number(found as u64))];
        let values = match error {
            PlanError::Bound(bound) => found(bound),
            PlanError::SetBound {
                limit, found: over, ..
            } => return Self::counts(Kind::Plan, limit as u64, over as u64),
            PlanError::Payload(bytes) => found(bytes),
            _ => Vec::new(),
        };
        Self {
            kind: Kind::Plan,
            values,
        }
    }
}

impl From<DecodeError> for Flat {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Overflow {
                start,
                end,
                count,
                bound,
            } => Self {
                kind: Kind::DigestOverflow,
                values: vec![
                    ("start", Value::Number(start)),
                    ("end", Value::Number(end)),
                    ("count", Value::Number(count as u64)),
                    ("bound", Value::Number(bound as u64)),
                ],
            },
            DecodeError::OtherKey(ids) => {
                let (expected, found) = (
                    omr_protocol::hex(&ids.expected),
                    omr_protocol::hex(&ids.found),
                );
                Self::both(Kind::OtherKey, Mismatch::new(expected, found))
            }
            DecodeError::Clues(kinds) => Self::both(Kind::Decode, kinds),
            DecodeError::Params(_) => Self::bare(Kind::Params),
            _ => Self::bare(Kind::Decode),
        }
    }
}
