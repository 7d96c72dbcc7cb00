//! The error of this crate.

use omr_client::DecodeError;
use omr_protocol::Mismatch;
use omr_protocol::{DigestError, ParamsError, Sealing};
use std::ops::Range;

/// An error of an inbox.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// A record cannot be parsed.
    #[error("a damaged record")]
    Record(#[source] serde_json::Error),
    /// A key or a number of a table has the wrong length.
    #[error("a damaged record: table {table}: expected {expected}, found {found} bytes")]
    Bytes {
        /// The table's name.
        table: &'static str,
        /// A description of the bytes that are expected.
        expected: &'static str,
        /// The number of bytes found.
        found: usize,
    },
    /// A stored record of this table was changed, or was stored with another key.
    #[error(
        "expected a record of table {0} that this identity stored, found one that does not open"
    )]
    Sealed(&'static str),
    /// The board has other parameters than the keys.
    #[error("expected a board of {}, found one of {}", .0.expected, .0.found)]
    OtherParams(Mismatch<String>),
    /// The board is not the one where the keys were registered.
    #[error("expected board {}, found {}", omr_protocol::hex(&.0.expected), omr_protocol::hex(&.0.found))]
    OtherBoard(Mismatch<[u8; 16]>),
    /// The letters on this board are sealed in another way than agreed.
    #[error("expected letters sealed with {}, found {}: refused; a server that changes how letters are \
         sealed may want to read them, or to make them up", .0.expected, .0.found)]
    OtherSealing(Mismatch<Sealing>),
    /// Letters are not sealed, so that everybody could read them or make them up.
    #[error(
        "the server does not seal letters: refused, as everybody could read them or make them up"
    )]
    Unsealed,
    /// The description of a board contradicts itself.
    #[error("the board: {0}")]
    Board(Mismatch<&'static str, String>),
    /// The recipient has no key for sessions.
    #[error("expected a key for sessions, found none")]
    NoInstant,
    /// An answer breaks the protocol.
    #[error("{call}: {mismatch}")]
    Answer {
        /// The call.
        call: &'static str,
        /// The expected and the received answer.
        mismatch: Mismatch<String>,
    },
    /// The inbox has no message of this number.
    #[error("no message {0}")]
    NoMessage(u64),
    /// The range was never fetched.
    #[error("expected messages within 0..{}, at least one, found {}..{}", .0.expected, .0.found.start, .0.found.end)]
    Range(Mismatch<u64, Range<u64>>),
    /// There is nothing to forget in this range.
    #[error("no range is kept within {}..{} and no request waits there", .0.start, .0.end)]
    NotKept(Range<u64>),
    /// The parameters are invalid.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A digest cannot be read.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// No query can be made for the range of a fetch.
    #[error("no query can be made")]
    Query(#[source] DecodeError),
}

impl InboxError {
    pub(crate) fn answer(
        call: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let mismatch = Mismatch::new(expected.into(), found.into());
        Self::Answer { call, mismatch }
    }
}
