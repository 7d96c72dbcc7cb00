//! The error of calls that bindings share.

use omr_client::WordsError;
use omr_client::locked::LockError;
use omr_mail::MailError;
use omr_protocol::Mismatch;
use omr_remote::RemoteError;
use std::io;

/// An error of a call from another language. [`crate::Flat`] has its kind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindingError {
    /// An identity, its inbox or its letters failed.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// A call of a server failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The passphrase cannot be used, or does not open a file.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The words make no keys.
    #[error(transparent)]
    Words(#[from] WordsError),
    /// A birthday was given for keys that nobody can have written to.
    #[error(
        "expected a birthday with words, or with keys in the home, found one for new keys, which begin at the board's end"
    )]
    BirthdayOfNew,
    /// The board is shorter than the birthday.
    #[error("expected a birthday of at most {}, the messages that the board has had, found {}", .0.expected, .0.found)]
    Birthday(Mismatch<u64>),
    /// The inbox was closed.
    #[error("the inbox is closed: open it again")]
    InboxClosed,
    /// Another fetch is under way.
    #[error("a fetch or a watch of this inbox is under way: end it first")]
    Fetching,
    /// Another program fetched into the inbox when it was opened.
    #[error(
        "another program fetched into this inbox when it was opened: letters are listed and read, nothing is fetched or \
         asked for; close the inbox and open it again when that program has closed it"
    )]
    Beside,
    /// The caller stopped the work.
    #[error("stopped")]
    Stopped,
    /// The system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
