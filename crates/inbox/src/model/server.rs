//! The model's server: what a call does, and digests that anybody can read.

use crate::{Answer, Board, Call, Failed, Failure, JobRequest, Limits, SessionRequest};
use omr_client::letter::Place;
use omr_protocol::{Sealing, Stride};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(super) const PARAMS: &str = "model";
pub(super) const BOARD: [u8; 16] = [7; 16];
/// Messages of a batch.
const BATCH: u64 = 4;

/// A digest: which of its messages are hers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Digest {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) bound: u32,
    pub(super) hers: Vec<u64>,
    pub(super) damaged: bool,
}

impl Digest {
    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap()
    }

    pub(super) fn parse(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap()
    }
}

/// A session, and the digests that were cut off it.
#[derive(Clone)]
struct Open {
    request: SessionRequest,
    cuts: Vec<Digest>,
}

#[derive(Default)]
pub(super) struct Server {
    /// Whether each message is for her.
    pub(super) board: Vec<bool>,
    /// The first message that is still there.
    pub(super) first: u64,
    /// The calls, without the random ids in them.
    pub(super) log: Vec<String>,
    jobs: BTreeMap<Vec<u8>, JobRequest>,
    sessions: BTreeMap<[u8; 16], Open>,
}

type Served = Result<Answer, Failed<String>>;

fn fails(kind: Failure) -> Served {
    let error = format!("{kind:?}");
    Err(Failed { kind, error })
}

impl Server {
    /// Places of messages for her.
    pub(super) fn hers(&self) -> Vec<u64> {
        let places = (0..).zip(&self.board);
        places
            .filter_map(|(index, hers)| hers.then_some(index))
            .collect()
    }

    fn digest(&self, of: &Stride, bound: u32) -> Digest {
        let hers = self.hers().into_iter();
        Digest {
            start: of.start,
            end: of.end,
            bound,
            hers: hers.filter(|index| of.contains(*index)).collect(),
            damaged: false,
        }
    }

    /// The digests that a call tells it need not keep.
    pub(super) fn acknowledged(&self, call: &Call) -> Vec<Digest> {
        let (id, number) = match call {
            Call::CutSession { session_id, number } => (session_id, *number as usize),
            Call::CloseSession(id) => (id, usize::MAX),
            _ => return Vec::new(),
        };
        let cuts = self.sessions.get(id).map(|open| &open.cuts[..]);
        let cuts = cuts.unwrap_or_default();
        cuts[..number.min(cuts.len())].to_vec()
    }

    pub(super) fn serve(&mut self, call: Call) -> Served {
        match call {
            Call::Board => {
                let place = Place {
                    board_id: BOARD,
                    params: PARAMS.to_owned(),
                    sealing: Sealing::HpkeX25519,
                    payload_bytes: 612,
                };
                let board = Board::new(place, self.first, self.board.len() as u64);
                Ok(Answer::Board(board.unwrap()))
            }
            Call::Limits => Ok(Answer::Limits(Limits {
                digest_messages: 24,
                bound: 0,
                step: 1 << 16,
                orders: 1,
            })),
            Call::CreateOrder(_) => Ok(Answer::Order(BATCH)),
            Call::CreateJob(job) => {
                assert!(job.end <= self.board.len() as u64, "{job:?}");
                if job.start < self.first {
                    return fails(Failure::OutOfRange);
                }
                let id = job.request_id.to_vec();
                let known = self.jobs.entry(id.clone()).or_insert_with(|| job.clone());
                match *known == job {
                    true => Ok(Answer::Job(id)),
                    false => fails(Failure::Exists),
                }
            }
            Call::WatchJob(_) => Ok(Answer::Watched),
            Call::FetchDigest(id) => match self.jobs.get(&id) {
                Some(job) => {
                    let of = Stride::new(job.start..job.end, job.step);
                    let digest = self.digest(&of, job.bound);
                    Ok(Answer::Digest(digest.bytes()))
                }
                None => fails(Failure::NotFound),
            },
            Call::OpenSession(request) => {
                let id = request.request_id;
                let cuts = Vec::new();
                self.sessions.entry(id).or_insert(Open { request, cuts });
                Ok(Answer::Session(id.to_vec()))
            }
            Call::CutSession { session_id, number } => self.cut(session_id, number as usize),
            Call::CloseSession(id) => match self.sessions.remove(&id) {
                Some(_) => Ok(Answer::Closed),
                None => fails(Failure::NotFound),
            },
        }
    }

    fn cut(&mut self, id: [u8; 16], number: usize) -> Served {
        let Some(open) = self.sessions.get(&id).cloned() else {
            return fails(Failure::NotFound);
        };
        // The last one is kept until the next is asked for.
        if number + 1 == open.cuts.len() {
            return Ok(Answer::Digest(open.cuts[number].bytes()));
        }
        assert_eq!(number, open.cuts.len(), "a cut that nobody can make");
        let next = open.cuts.last().map_or(open.request.start, |cut| cut.end);
        let room = match open.request.room {
            0 => u64::MAX,
            room => room.into(),
        };
        let end = next.saturating_add(room).min(self.board.len() as u64);
        let digest = self.digest(&Stride::new(next..end, 1), open.request.bound);
        let cuts = &mut self.sessions.get_mut(&id).unwrap().cuts;
        cuts.push(digest.clone());
        Ok(Answer::Digest(digest.bytes()))
    }
}
