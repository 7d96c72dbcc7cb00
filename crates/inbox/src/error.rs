//! The error of this crate.

use omr_protocol::Mismatch;
use omr_protocol::{DigestError, ParamsError, Sealing};
use std::ops::Range;

/// Why an inbox cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// A record that is not as it was written.
    #[error("a damaged record")]
    Record(#[source] serde_json::Error),
    /// A key or a number of a table that is not as it was written.
    #[error("a damaged record: table {table}: expected {expected}, found {found} bytes")]
    Bytes {
        /// The table's name.
        table: &'static str,
        /// What stands there.
        expected: &'static str,
        /// Bytes that were found.
        found: usize,
    },
    /// The board has other parameters than the keys.
    #[error("expected a board of {}, found one of {}", .0.expected, .0.found)]
    OtherParams(Mismatch<String>),
    /// Another board than the one where the keys were registered.
    #[error("expected board {}, found {}", omr_protocol::hex(&.0.expected), omr_protocol::hex(&.0.found))]
    OtherBoard(Mismatch<[u8; 16]>),
    /// Letters are sealed otherwise than agreed.
    #[error("expected letters sealed with {}, found {}: refused; a server that changes how letters are \
         sealed may want to read them, or to make them up", .0.expected, .0.found)]
    OtherSealing(Mismatch<Sealing>),
    /// Letters are not sealed, so that everybody could read them or make them up.
    #[error(
        "the server says that letters are not sealed: refused, as everybody could read them or make them up"
    )]
    Unsealed,
    /// A description of a board that contradicts itself.
    #[error("the board: {0}")]
    Board(Mismatch<&'static str, String>),
    /// No key for sessions.
    #[error("expected a key for sessions, found none")]
    NoInstant,
    /// An answer that breaks the protocol.
    #[error("{call}: {mismatch}")]
    Answer {
        /// The call.
        call: &'static str,
        /// What came in place of what.
        mismatch: Mismatch<String>,
    },
    /// No message of this number.
    #[error("no message {0}")]
    NoMessage(u64),
    /// A range that was never fetched.
    #[error("expected messages within 0..{}, at least one, found {}..{}", .0.expected, .0.found.start, .0.found.end)]
    Range(Mismatch<u64, Range<u64>>),
    /// Nothing to forget in this range.
    #[error("no range is kept within {}..{} and no request waits there", .0.start, .0.end)]
    NotKept(Range<u64>),
    /// Parameters.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A digest that cannot be read.
    #[error(transparent)]
    Digest(#[from] DigestError),
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
