//! The one error of all calls.

pub use omr_binding::Kind;

use omr_binding::{BindingError, Flat, Value};
use omr_client::WordsError;
use omr_errors::chain;
use omr_mail::MailError;
use std::collections::HashMap;
use std::io;
use uniffi::UnexpectedUniFFICallbackError;

/// The kind of an error.
#[uniffi::remote(Enum)]
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

/// A figure of an error.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Figure {
    /// A number.
    Number {
        /// The number.
        number: u64,
    },
    /// A text, such as the name of a parameter set.
    Text {
        /// The text.
        text: String,
    },
}

/// The error of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[non_exhaustive]
pub enum OmrError {
    /// The call failed.
    #[error("{sentence}")]
    Failed {
        /// The kind, on which a program decides.
        kind: Kind,
        /// The text for a person: what was expected, and what was found.
        sentence: String,
        /// The values in the text by name, such as `expected` and `found`.
        figures: HashMap<String, Figure>,
    },
}

impl OmrError {
    fn new(sentence: String, flat: Result<Flat, io::Error>) -> Self {
        let flat = flat.unwrap_or_else(|_| Flat::bare(Kind::System));
        let figures = flat.values.into_iter().map(|(name, value)| {
            let figure = match value {
                Value::Number(number) => Figure::Number { number },
                Value::Text(text) => Figure::Text { text },
            };
            (name.to_owned(), figure)
        });
        Self::Failed {
            kind: flat.kind,
            sentence,
            figures: figures.collect(),
        }
    }
}

impl From<BindingError> for OmrError {
    fn from(error: BindingError) -> Self {
        Self::new(chain(&error), error.try_into())
    }
}

impl From<MailError> for OmrError {
    fn from(error: MailError) -> Self {
        BindingError::from(error).into()
    }
}

impl From<WordsError> for OmrError {
    fn from(error: WordsError) -> Self {
        BindingError::from(error).into()
    }
}

/// An exception of a watch, which stops the work.
impl From<UnexpectedUniFFICallbackError> for OmrError {
    fn from(error: UnexpectedUniFFICallbackError) -> Self {
        let sentence = format!("the watch of the call threw an exception: {}", error.reason);
        Self::new(sentence, Ok(Flat::bare(Kind::Stopped)))
    }
}
