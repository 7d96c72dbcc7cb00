//! Requests for digests, scans and fetches, and the form that all requests of a fetch have.

use crate::rounds::Sizes;
use omr_client::os_rng;
use omr_protocol::{Stride, order_batch_id};
use rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The kind of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A request for a digest.
    #[default]
    Digest,
    /// A request for the scan of a range: the first round.
    Scan,
    /// A request for the answer to a query: the second round.
    Fetch,
}

impl Kind {
    fn is_digest(&self) -> bool {
        *self == Self::Digest
    }
}

/// A request. It is kept before the server sees it, so that an interrupted fetch repeats it with its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) request_id: [u8; 16],
    #[serde(default, skip_serializing_if = "Kind::is_digest")]
    pub(crate) kind: Kind,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// It covers every `step`-th message; 0 for all.
    #[serde(default)]
    pub(crate) step: u64,
    pub(crate) bound: u32,
    /// Whether its digest, scan or answer was received.
    pub(crate) fetched: bool,
    /// The number of the kept range that it requests again.
    pub(crate) again: Option<u64>,
    /// Whether it is a spare request: other requests cover its messages too.
    #[serde(default)]
    pub(crate) spare: bool,
    /// The number of the fetch that made it.
    #[serde(default)]
    pub(crate) turn: Option<u64>,
    /// The number of times that the server gave it up.
    #[serde(default)]
    pub(crate) failures: u32,
    /// The first of its messages that belongs to a history of the board that the server no longer shows.
    pub(crate) fork: Option<u64>,
}

impl Job {
    /// Returns a request for messages, with a fresh id.
    pub(crate) fn new(of: Stride, bound: u32) -> Self {
        Self {
            request_id: random_id(),
            kind: Kind::Digest,
            start: of.start,
            end: of.end,
            step: of.step(),
            bound,
            fetched: false,
            again: None,
            spare: false,
            turn: None,
            failures: 0,
            fork: None,
        }
    }

    /// Returns a request of one of two rounds for messages, with a fresh id.
    pub(crate) fn of_kind(kind: Kind, of: Stride) -> Self {
        Self {
            kind,
            ..Self::new(of, 0)
        }
    }

    /// Returns a request of this kind for some of its messages, with a fresh id.
    pub(crate) fn rest(&self, of: Stride) -> Self {
        Self {
            kind: self.kind,
            again: self.again,
            spare: self.spare,
            turn: self.turn,
            ..Self::new(of, self.bound)
        }
    }

    /// Returns whether no message is lost if it is given up: other requests bring its messages.
    pub(crate) fn is_spare(&self) -> bool {
        self.spare || self.kind == Kind::Fetch
    }

    /// Returns the messages that the request covers.
    pub(crate) fn stride(&self) -> Stride {
        Stride::new(self.start..self.end, self.step)
    }
}

/// Returns a fresh id that nobody can guess.
pub(crate) fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    os_rng().fill_bytes(&mut id);
    id
}

/// The order of an identity that fetches only whole batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batches {
    /// The number of messages of a batch.
    pub(crate) messages: u64,
    /// The order's request id.
    pub(crate) order: [u8; 16],
}

impl Batches {
    /// Returns the length of the whole batches of a board of `board` messages.
    pub(crate) fn whole(self, board: u64) -> u64 {
        board / self.messages * self.messages
    }

    /// Returns requests for messages, one for each batch; a whole batch is requested with the id that the order has for
    /// it.
    fn pieces(self, of: Range<u64>, bound: u32) -> Vec<Job> {
        let mut jobs = Vec::new();
        let mut start = of.start;
        while start < of.end {
            let end = self.whole(start).saturating_add(self.messages).min(of.end);
            let mut job = Job::new(Stride::new(start..end, 1), bound);
            if end - start == self.messages {
                job.request_id = order_batch_id(&self.order, start);
            }
            jobs.push(job);
            start = end;
        }
        jobs
    }
}

/// The form of all requests of a fetch: public numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) bound: u32,
    /// The highest number of messages of a digest.
    pub(crate) most: u64,
    /// The number of levels of spare requests.
    pub(crate) levels: u8,
    /// The order, if only whole batches are fetched.
    pub(crate) batches: Option<Batches>,
    /// The numbers of two rounds, if scans and fetches are made in place of digests.
    pub(crate) rounds: Option<Sizes>,
}

impl Form {
    /// Returns requests for messages.
    pub(crate) fn pieces(&self, of: Range<u64>) -> Vec<Job> {
        if let Some(batches) = self.batches {
            return batches.pieces(of, self.bound);
        }
        let kind = match self.rounds {
            Some(_) => Kind::Scan,
            None => Kind::Digest,
        };
        let pieces = Stride::new(of, 1).pieces(self.most);
        let job = |piece| Job {
            kind,
            ..Job::new(piece, self.bound)
        };
        pieces.map(job).collect()
    }
}

/// An open session with the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) request_id: [u8; 16],
    pub(crate) start: u64,
    /// The first message that no received digest covers.
    pub(crate) next: u64,
    /// The server's id of the session, once it is open.
    pub(crate) session_id: Option<[u8; 16]>,
    /// The number of received digests.
    pub(crate) cuts: u64,
    /// The highest number of messages of a digest; 0 for no limit.
    #[serde(default)]
    pub(crate) room: u32,
    /// The id of the board's history when the session was opened. `None` if it covered messages of a history that the
    /// server no longer shows.
    pub(crate) history: Option<[u8; 16]>,
}

impl Session {
    /// Returns a session from message `start` on that the server has not seen.
    pub(crate) fn new(start: u64, room: u32, history: Option<[u8; 16]>) -> Self {
        Self {
            request_id: random_id(),
            start,
            next: start,
            session_id: None,
            cuts: 0,
            room,
            history,
        }
    }

    /// Returns this session as one that cannot continue: the next tick closes it, and opens another one from the cursor
    /// on.
    pub(crate) fn ended(self) -> Self {
        Self {
            history: None,
            ..self
        }
    }
}
