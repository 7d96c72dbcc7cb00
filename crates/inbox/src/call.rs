//! Calls of a server: their arguments, their answers, and the ways in which they fail.

use crate::InboxError;
use omr_client::letter::Place;
use omr_protocol::Mismatch;
use std::collections::BTreeMap;
use std::ops::Range;

/// A call to make now. The program repeats it as often as the network requires, and checks the form of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Requests the description of the board, with the running hashes of its log at these lengths.
    Board(Vec<u64>),
    /// Requests the server's limits, which may be cached during a connection.
    Limits,
    /// Places an order, or confirms that it is still wanted.
    CreateOrder(OrderRequest),
    /// Requests the seeds of the pages that a range of messages touches, in their order.
    Seeds(Range<u64>),
    /// Requests a digest, a scan, or the answer to a query.
    CreateJob(JobRequest),
    /// Waits until the job with this id of the server is done.
    WatchJob(Vec<u8>),
    /// Downloads the result of the job with this id of the server, which is done.
    FetchDigest(Vec<u8>),
    /// Opens a session.
    OpenSession(SessionRequest),
    /// Requests the next digest of a session.
    CutSession {
        /// The session's id.
        session_id: [u8; 16],
        /// The digest's number.
        number: u64,
    },
    /// Ends a session.
    CloseSession([u8; 16]),
}

/// A request for a digest, a scan, or the answer to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRequest {
    /// The id of the request: equal ids are one job.
    pub request_id: [u8; 16],
    /// The hashes of the keys.
    pub key_hashes: Vec<[u8; 32]>,
    /// The first message.
    pub start: u64,
    /// The index after the last message.
    pub end: u64,
    /// The highest number of pertinent messages in the digest; 0 in both of two rounds.
    pub bound: u32,
    /// The tag of the scheme; 0 for the scheme of the keys.
    pub scheme: u8,
    /// The digest covers every `step`-th message; 0 for all.
    pub step: u64,
    /// The file of the query that is to be answered; empty in a request for a digest or a scan.
    pub query: Vec<u8>,
}

/// An order for the digests of all batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRequest {
    /// The id of the order.
    pub request_id: [u8; 16],
    /// The hashes of the keys.
    pub key_hashes: Vec<[u8; 32]>,
    /// The first message.
    pub start: u64,
    /// The highest number of pertinent messages in a digest.
    pub bound: u32,
    /// The tag of the scheme; 0 for the scheme of the keys.
    pub scheme: u8,
}

/// A request for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRequest {
    /// The id of the request.
    pub request_id: [u8; 16],
    /// The hash of the key.
    pub key_hash: [u8; 32],
    /// The first message.
    pub start: u64,
    /// The highest number of pertinent messages in a digest.
    pub bound: u32,
    /// The highest number of messages of a digest; 0 for no limit.
    pub room: u32,
}

/// The answer of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The board's description.
    Board(Board),
    /// The server's limits.
    Limits(Limits),
    /// An order was placed; its batches have this number of messages.
    Order(u64),
    /// The seeds of pages.
    Seeds(Vec<[u8; 32]>),
    /// [`crate::Inbox::ask`] made the query of a [`crate::Step::Ask`].
    Asked,
    /// A job was accepted.
    Job {
        /// The server's id of the job.
        id: Vec<u8>,
        /// The running hash of the log at the end of the request, if the server knows it.
        log_hash: Option<[u8; 32]>,
    },
    /// A job is done.
    Watched,
    /// A digest, a scan or an answer to a query, as it was sent.
    Digest(Vec<u8>),
    /// A digest of a session.
    Cut {
        /// The digest, as it was sent.
        digest: Vec<u8>,
        /// The running hash of the log at the digest's end, if the server knows it.
        log_hash: Option<[u8; 32]>,
    },
    /// A session was opened, with this id.
    Session(Vec<u8>),
    /// A session was closed.
    Closed,
}

/// A board, as its server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    pub(crate) place: Place,
    pub(crate) messages: Range<u64>,
    pub(crate) log: Log,
    /// The time of the description in seconds since 1970; 0 if it is unknown.
    pub(crate) time: u64,
}

/// The log of a board, as its server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The running hash at the board's length.
    pub hash: [u8; 32],
    /// The id of the board's history.
    pub history: [u8; 16],
    /// The running hashes at the requested lengths, as far as the server knows them.
    pub hashes: BTreeMap<u64, [u8; 32]>,
}

impl Board {
    /// Returns a board that keeps the messages from `first` on and whose next message has the index `end`.
    ///
    /// Errors: `Board` if `first` exceeds `end`.
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
            time: 0,
        })
    }

    /// States when the board was like this, in seconds since 1970: what was posted before and has been received is
    /// then known ([`crate::Inbox::received_until`]).
    #[must_use]
    pub fn at(self, time: u64) -> Self {
        Self { time, ..self }
    }

    /// Returns the running hash of the log at a length, if the server showed it.
    pub(crate) fn hash_at(&self, length: u64) -> Option<[u8; 32]> {
        let is_end = length == self.messages.end;
        let shown = self.log.hashes.get(&length).copied();
        if is_end { Some(self.log.hash) } else { shown }
    }
}

/// The limits of a server; 0 where it states none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The highest number of messages of a digest.
    pub digest_messages: u64,
    /// The largest bound.
    pub bound: u32,
    /// The largest step; 0 if it makes no digests with a step.
    pub step: u64,
    /// The number of orders of one account; 0 if it accepts none.
    pub orders: u32,
    /// The highest number of messages of the range of a fetch; 0 if it answers no queries.
    pub fetch_messages: u64,
}

/// The way in which a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The range is not, or no longer, on the board.
    OutOfRange,
    /// The server refused this request for good.
    Final,
    /// The server refused the request as it is.
    Refused,
    /// The id is used by another request.
    Exists,
    /// The server does not know the id, or no longer.
    NotFound,
    /// The server gave a job up.
    JobFailed,
    /// A job was cancelled.
    JobCancelled,
    /// The server is busy or broken, or the connection failed.
    Other,
}

/// A call that failed after all repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed<E> {
    /// The way in which it failed.
    pub kind: Failure,
    /// The caller's error, which is returned where the exchange cannot continue.
    pub error: E,
}

impl<E> Failed<E> {
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.kind, Failure::Final | Failure::OutOfRange)
    }
}
