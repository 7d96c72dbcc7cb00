//! Calls of a server, as the rules see them: what is asked, what was answered, and how a call can fail.

use crate::InboxError;
use omr_client::letter::Place;
use omr_protocol::Mismatch;
use std::collections::BTreeMap;
use std::ops::Range;

/// A call to make now. Whoever makes it repeats it as often as a network asks for, and looks at the answer's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// The board, as it is now, and the running hashes of its log at these lengths.
    Board(Vec<u64>),
    /// The server's limits, which may be remembered as long as a connection lasts.
    Limits,
    /// Places an order, or tells the server that it is still wanted.
    CreateOrder(OrderRequest),
    /// Asks for a digest.
    CreateJob(JobRequest),
    /// Waits until a job is done, by the id that the server gave it.
    WatchJob(Vec<u8>),
    /// The digest of a job that is done.
    FetchDigest(Vec<u8>),
    /// Opens a session.
    OpenSession(SessionRequest),
    /// Cuts a digest off a session.
    CutSession {
        /// The session.
        session_id: [u8; 16],
        /// The digest's number.
        number: u64,
    },
    /// Ends a session.
    CloseSession([u8; 16]),
}

/// A request for a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRequest {
    /// Names the request: the same id is the same job.
    pub request_id: [u8; 16],
    /// The keys.
    pub key_hashes: Vec<[u8; 32]>,
    /// The first message.
    pub start: u64,
    /// The index after the last message.
    pub end: u64,
    /// Pertinent messages that the digest may carry.
    pub bound: u32,
    /// The scheme, by its tag; 0: what the keys serve.
    pub scheme: u8,
    /// Every so many-th message; 0: all.
    pub step: u64,
}

/// An order of the digests of all batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRequest {
    /// Names the order.
    pub request_id: [u8; 16],
    /// The keys.
    pub key_hashes: Vec<[u8; 32]>,
    /// The first message.
    pub start: u64,
    /// Pertinent messages that a digest may carry.
    pub bound: u32,
    /// The scheme, by its tag; 0: what the keys serve.
    pub scheme: u8,
}

/// A request for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRequest {
    /// Names the request.
    pub request_id: [u8; 16],
    /// The key.
    pub key_hash: [u8; 32],
    /// The first message.
    pub start: u64,
    /// Pertinent messages that a digest may carry.
    pub bound: u32,
    /// Most messages of a digest; 0: as many as come.
    pub room: u32,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The board.
    Board(Board),
    /// The limits.
    Limits(Limits),
    /// An order is placed; its batches have so many messages.
    Order(u64),
    /// A job is known.
    Job {
        /// The id that the server gave it.
        id: Vec<u8>,
        /// The running hash of the log at the end of the request, if the server knows it.
        log_hash: Option<[u8; 32]>,
    },
    /// A job is done.
    Watched,
    /// A digest, as it was sent.
    Digest(Vec<u8>),
    /// A digest was cut off a session.
    Cut {
        /// The digest, as it was sent.
        digest: Vec<u8>,
        /// The running hash of the log at the digest's end, if the server knows it.
        log_hash: Option<[u8; 32]>,
    },
    /// A session is open under this id.
    Session(Vec<u8>),
    /// A session is closed.
    Closed,
}

/// A board, as its server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    pub(crate) place: Place,
    pub(crate) messages: Range<u64>,
    pub(crate) log: Log,
}

/// The log of a board, as its server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The running hash at the board's length.
    pub hash: [u8; 32],
    /// The id of the board's history.
    pub history: [u8; 16],
    /// The running hashes at the lengths that were asked for, as far as the server knows them.
    pub hashes: BTreeMap<u64, [u8; 32]>,
}

impl Board {
    /// A board that keeps messages from `first` on and will give the next one the index `end`.
    ///
    /// Errors: `Board` where it begins behind its end.
    pub fn new(place: Place, first: u64, end: u64, log: Log) -> Result<Self, InboxError> {
        if first > end {
            let found = format!("message {first} of {end}");
            let wrong = Mismatch::new("a first message on the board", found);
            return Err(InboxError::Board(wrong));
        }
        Ok(Self {
            place,
            messages: first..end,
            log,
        })
    }

    /// The running hash of the log at a length, if the server showed it.
    pub(crate) fn hash_at(&self, length: u64) -> Option<[u8; 32]> {
        let is_end = length == self.messages.end;
        let shown = self.log.hashes.get(&length).copied();
        if is_end { Some(self.log.hash) } else { shown }
    }
}

/// Limits of a server; 0: it names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most messages of a digest.
    pub digest_messages: u64,
    /// The largest bound.
    pub bound: u32,
    /// The largest step; 0: it makes no digests with a step.
    pub step: u64,
    /// Orders of one account; 0: it takes none.
    pub orders: u32,
}

/// How a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The range is not, or no longer, on the board.
    OutOfRange,
    /// The server will never take this request.
    Final,
    /// It is refused as it is.
    Refused,
    /// There is something else under this id.
    Exists,
    /// The server has no such thing, or no more.
    NotFound,
    /// The server gave a job up.
    JobFailed,
    /// A job was cancelled.
    JobCancelled,
    /// The server is busy or broken, or the way to it.
    Other,
}

/// A call that failed, however often it was repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed<E> {
    /// How.
    pub kind: Failure,
    /// Its caller's error, which comes back where nothing can go on.
    pub error: E,
}

impl<E> Failed<E> {
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.kind, Failure::Final | Failure::OutOfRange)
    }
}
