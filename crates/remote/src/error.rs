//! The error of calls to a server.

use omr_api::v1::UsedKey;
use omr_errors::Mismatch;
use std::path::PathBuf;
use std::time::Duration;
use tonic::{Code, Status};

/// How long a call was tried, where that is worth a word.
fn in_time(waited: Duration) -> String {
    match waited.as_secs() {
        0 => String::new(),
        seconds => format!(" in {seconds} s"),
    }
}

/// Why a call failed, and what can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// Not an address of a server.
    #[error("expected a URL such as https://host:port, found {0:?}")]
    Url(String),
    /// Plain HTTP to another machine, this host.
    #[error(
        "{0} is another machine: expected https:// (http:// sends tokens and keys in the clear and is for \
         this machine alone)"
    )]
    Plaintext(String),
    /// Not an address of a proxy.
    #[error(
        "expected a proxy such as socks5h://127.0.0.1:9050 (Tor), or socks5h://@HOST:PORT for one that takes no names, \
         found {0:?}"
    )]
    Proxy(String),
    /// A token that cannot stand in a header.
    #[error("expected a token of visible ASCII characters")]
    Token,
    /// The connection's settings, such as a certificate.
    #[error("setting up the connection: check the URL and the CA's certificate")]
    Setup(#[source] tonic::transport::Error),
    /// Tried until patience ended.
    #[error(
        "{call}: no success with {url}{}, the last answer was {last:?}: expected a server that runs there: start it, or \
         check the URL and the network, and try again; nothing is lost",
        in_time(*.waited)
    )]
    Unreachable {
        /// The call.
        call: &'static str,
        /// The server's URL.
        url: String,
        /// How long it was tried.
        waited: Duration,
        /// The error of the last attempt.
        last: String,
    },
    /// No connection by TLS comes about: the call, and what is wrong and what to do.
    #[error("{0}: {1}")]
    Tls(&'static str, String),
    /// The server is busy, or a limit of its is reached.
    #[error("{0}: the server has no room ({1}): try again later")]
    Exhausted(&'static str, String),
    /// No token, or an unknown one.
    #[error("{0}: the server does not know this token ({1}): ask its operator for one")]
    Unauthenticated(&'static str, String),
    /// A token without this right.
    #[error("{0}: the token does not allow this ({1}): ask the server's operator")]
    Denied(&'static str, String),
    /// The server has no such thing, or no more.
    #[error("{0}: the server has no such thing ({1})")]
    NotFound(&'static str, String),
    /// The id of a post, in this call, is that of another one: somebody saw it and used it first.
    #[error(
        "{0}: the id of this post is that of another post on the board: post it under a new id"
    )]
    OtherPost(&'static str),
    /// Messages whose one-time keys were used are on the board already: somebody copied them and posted first.
    #[error(
        "{call}: {} of the post's messages are on the board already, the first is message {}: leave them out and post the \
         others under a new id", used.len(), used.first().map_or(0, |used| used.position)
    )]
    UsedKeys {
        /// The call.
        call: &'static str,
        /// Some or all of them, in the order of the post; at least one.
        used: Vec<UsedKey>,
    },
    /// The id already exists with other contents.
    #[error("{0}: the server has it already ({1})")]
    Exists(&'static str, String),
    /// The server does not know this call.
    #[error(
        "{0}: the server does not offer this: it is a server of something else, or of another version"
    )]
    NotOffered(&'static str),
    /// Another refusal: the request will not do as it is.
    #[error("{call}: refused as {code:?}: {message}")]
    Refused {
        /// The call.
        call: &'static str,
        /// The code.
        code: Code,
        /// The server's words.
        message: String,
    },
    /// An answer that breaks the protocol.
    #[error("{0}: {1}: the server breaks the protocol or is of another version")]
    Answer(&'static str, Mismatch<String>),
    /// A job that the server gave up, in its words.
    #[error("the server could not make the digest: {0}")]
    JobFailed(String),
    /// A job that was cancelled.
    #[error("the job was cancelled")]
    JobCancelled,
    /// More work than is sensible.
    #[error("the server asks for a proof of work of {found} bits, at most {most} are done")]
    Work {
        /// Bits that are done at most.
        most: u32,
        /// Bits asked for.
        found: u32,
    },
    /// A message that no post can carry.
    #[error("expected messages of at most {most} bytes, found one of {found}")]
    MessageSize {
        /// The limit.
        most: usize,
        /// Bytes of clue and payload.
        found: usize,
    },
    /// A file could not be read.
    #[error("{}", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    /// A key could not be made.
    #[error("a key could not be made")]
    Made(#[source] std::io::Error),
    /// A thread of ours broke off.
    #[error("a background task ended early")]
    Task,
}

impl RemoteError {
    /// A refusal of the server in our words.
    pub(crate) fn refusal(call: &'static str, status: &Status) -> Self {
        match omr_api::post_refusal(status) {
            Some(refusal) if refusal.known_id => return Self::OtherPost(call),
            Some(refusal) if !refusal.used_keys.is_empty() => {
                let used = refusal.used_keys;
                return Self::UsedKeys { call, used };
            }
            _ => {}
        }
        let message = status.message().to_owned();
        match status.code() {
            Code::Unauthenticated => Self::Unauthenticated(call, message),
            Code::PermissionDenied => Self::Denied(call, message),
            Code::NotFound => Self::NotFound(call, message),
            Code::AlreadyExists => Self::Exists(call, message),
            Code::ResourceExhausted => Self::Exhausted(call, message),
            Code::Unimplemented => Self::NotOffered(call),
            code => Self::Refused {
                call,
                code,
                message,
            },
        }
    }

    /// An answer to `call` that breaks the protocol.
    pub fn answer(
        call: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Answer(call, Mismatch::new(expected.into(), found.into()))
    }

    /// Whether the same request would be refused whenever it is made.
    #[must_use]
    pub fn is_final(&self) -> bool {
        let Self::Refused { code, .. } = self else {
            return false;
        };
        matches!(
            code,
            Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented
        )
    }

    /// Whether a range was refused that is not, or no longer, on the board.
    #[must_use]
    pub fn is_out_of_range(&self) -> bool {
        matches!(
            self,
            Self::Refused {
                code: Code::OutOfRange,
                ..
            }
        )
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> RemoteErrorKind {
        match self {
            Self::File(..) => RemoteErrorKind::File,
            Self::Unreachable { .. } | Self::Tls(..) => RemoteErrorKind::Unreachable,
            Self::Exhausted(..) => RemoteErrorKind::Busy,
            Self::Unauthenticated(..) | Self::Denied(..) => RemoteErrorKind::Access,
            _ => RemoteErrorKind::Other,
        }
    }

    /// Returns whether the call may succeed when it is simply repeated later.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(
            self.kind(),
            RemoteErrorKind::Unreachable | RemoteErrorKind::Busy
        )
    }
}

/// The kind of a [`RemoteError`], for programs that give it an exit code or an exception of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteErrorKind {
    /// A local file could not be read.
    File,
    /// No connection to the server comes about.
    Unreachable,
    /// The server has no room now.
    Busy,
    /// The server does not accept the token.
    Access,
    /// The server refused the call, or its answer was unusable.
    Other,
}
