//! Requests for digests, and the form that all requests of a fetch have.

use omr_client::os_rng;
use omr_protocol::{Stride, order_batch_id};
use rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A request for a digest: kept before the server hears of it, so that a killed fetch asks again under the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) request_id: [u8; 16],
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Every so many-th message; 0 for all.
    #[serde(default)]
    pub(crate) step: u64,
    pub(crate) bound: u32,
    /// Whether its digest is here.
    pub(crate) fetched: bool,
    /// The kept range that it asks for again, by number.
    pub(crate) again: Option<u64>,
    /// Whether it is a spare one: its messages were or are asked for by others.
    #[serde(default)]
    pub(crate) spare: bool,
    /// The fetch that made it.
    #[serde(default)]
    pub(crate) turn: Option<u64>,
    /// How often the server gave it up.
    #[serde(default)]
    pub(crate) failures: u32,
    /// From here on its messages are of a history of the board that the server shows no more.
    pub(crate) fork: Option<u64>,
}

impl Job {
    /// Asks for messages, under a fresh id.
    pub(crate) fn new(of: Stride, bound: u32) -> Self {
        Self {
            request_id: random_id(),
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

    /// A request of the same kind for a part of its messages, under a fresh id.
    pub(crate) fn rest(&self, of: Stride) -> Self {
        Self {
            again: self.again,
            spare: self.spare,
            turn: self.turn,
            ..Self::new(of, self.bound)
        }
    }

    /// The messages that the request covers.
    pub(crate) fn stride(&self) -> Stride {
        Stride::new(self.start..self.end, self.step)
    }
}

/// An id that nobody guesses and nobody else has.
pub(crate) fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    os_rng().fill_bytes(&mut id);
    id
}

/// Fetches that take whole batches alone, as an order has them made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batches {
    /// Messages of a batch.
    pub(crate) messages: u64,
    /// The order's request id.
    pub(crate) order: [u8; 16],
}

impl Batches {
    /// The messages of a board that fetches take.
    pub(crate) fn whole(self, board: u64) -> u64 {
        board / self.messages * self.messages
    }

    /// Requests for messages: those of one batch each, whole ones under the id that the order has them made under.
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
    /// Most messages of a digest.
    pub(crate) most: u64,
    /// Levels of spare requests.
    pub(crate) levels: u8,
    /// Whether it takes whole batches alone.
    pub(crate) batches: Option<Batches>,
}

impl Form {
    /// Requests for messages.
    pub(crate) fn pieces(&self, of: Range<u64>) -> Vec<Job> {
        match self.batches {
            Some(batches) => batches.pieces(of, self.bound),
            None => {
                let pieces = Stride::new(of, 1).pieces(self.most);
                pieces.map(|of| Job::new(of, self.bound)).collect()
            }
        }
    }
}

/// An open session with the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) request_id: [u8; 16],
    pub(crate) start: u64,
    /// The first message that no digest here covers.
    pub(crate) next: u64,
    /// The server's name for it, once it is open.
    pub(crate) session_id: Option<[u8; 16]>,
    /// Digests that are here.
    pub(crate) cuts: u64,
    /// Most messages of a digest; 0: as many as come.
    #[serde(default)]
    pub(crate) room: u32,
    /// The id of the board's history when it was opened. None: it took messages of a history that the server shows no
    /// more.
    pub(crate) history: Option<[u8; 16]>,
}

impl Session {
    /// One from message `start` on that the server has not heard of.
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

    /// A session that never goes on: the next tick closes it, and opens another one from the cursor on.
    pub(crate) fn ended(self) -> Self {
        Self {
            history: None,
            ..self
        }
    }
}
