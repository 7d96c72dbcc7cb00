//! The model's server: the effects of calls, and digests that anybody can read.

use super::rounds;
use crate::decode::Found;
use crate::job::{Job, Kind};
use crate::rounds::TWO_ROUNDS;
use crate::{Answer, Board, Call, Failed, Failure, JobRequest, Limits, Log, SessionRequest};
use omr_client::fragment::Whole;
use omr_client::letter::{Piece, Place};
use omr_protocol::rounds::FetchQuery;
use omr_protocol::{Sealing, Stride};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) const PARAMS: &str = "model";
pub(super) const BOARD: [u8; 16] = [7; 16];
/// The number of messages of a batch.
pub(super) const BATCH: u64 = 4;

/// A digest: it lists the recipient's messages in the clear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Digest {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) step: u64,
    pub(super) bound: u32,
    /// The places and ids of the recipient's letters.
    pub(super) hers: Vec<(u64, u64)>,
    /// The hash of the query that it answers, if it is an answer.
    pub(super) query: Option<[u8; 32]>,
    pub(super) damaged: bool,
}

impl Digest {
    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap()
    }

    pub(super) fn parse(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap()
    }

    /// Returns whether it has the messages and the kind of a request. The header of a real digest has the first message
    /// and their number.
    pub(super) fn is_of(&self, job: &Job) -> bool {
        let is_answer = self.query.is_some();
        let of = Stride::new(self.start..self.end, self.step);
        of == job.stride() && is_answer == (job.kind == Kind::Fetch)
    }

    /// Returns the letters with their ids.
    pub(super) fn found(&self) -> Vec<Found> {
        let found = self.hers.iter().map(|(index, id)| Found {
            index: *index,
            hash: *blake3::hash(&id.to_le_bytes()).as_bytes(),
            // Letters are recognised by their places, or as copies.
            sealed: id % 2 == 0,
            piece: Ok(Piece::Whole(Whole {
                bytes: id.to_le_bytes().to_vec(),
                ..Whole::default()
            })),
        });
        found.collect()
    }
}

/// A message: its unique id, and whether it is for the recipient.
#[derive(Clone, Copy)]
pub(super) struct Post {
    pub(super) id: u64,
    pub(super) hers: bool,
}

/// A state to which the server can go back.
#[derive(Clone, Default)]
struct Backup {
    board: Vec<Post>,
    first: u64,
    jobs: BTreeMap<Vec<u8>, JobRequest>,
    sessions: BTreeMap<[u8; 16], Open>,
}

/// A session, and its digests.
#[derive(Clone)]
struct Open {
    request: SessionRequest,
    cuts: Vec<Digest>,
}

pub(super) struct Server {
    pub(super) board: Vec<Post>,
    /// The ids of all letters to the recipient that were ever posted.
    pub(super) letters: Vec<u64>,
    /// The number of messages ever posted.
    posts: u64,
    /// The number of restored backups.
    restores: u8,
    backup: Backup,
    /// The first message that is still there.
    pub(super) first: u64,
    /// The calls, with each random id replaced by its number.
    pub(super) log: Vec<String>,
    /// The highest number of messages of a digest.
    pub(super) digest_messages: u64,
    pub(super) fetch_messages: u64,
    /// Whether scans list some messages at random in place of the recipient's.
    pub(super) scans_rubbish: bool,
    jobs: BTreeMap<Vec<u8>, JobRequest>,
    sessions: BTreeMap<[u8; 16], Open>,
}

type Served = Result<Answer, Failed<String>>;

fn fails(kind: Failure) -> Served {
    let error = format!("{kind:?}");
    Err(Failed { kind, error })
}

impl Default for Server {
    fn default() -> Self {
        Self {
            board: Vec::new(),
            letters: Vec::new(),
            posts: 0,
            restores: 0,
            backup: Backup::default(),
            first: 0,
            log: Vec::new(),
            digest_messages: 24,
            fetch_messages: 20,
            scans_rubbish: false,
            jobs: BTreeMap::new(),
            sessions: BTreeMap::new(),
        }
    }
}

impl Server {
    pub(super) fn post(&mut self, hers: bool) {
        let id = self.posts;
        self.posts += 1;
        self.board.push(Post { id, hers });
        if hers {
            self.letters.push(id);
        }
    }

    /// Backs the state up.
    pub(super) fn back_up(&mut self) {
        self.backup = Backup {
            board: self.board.clone(),
            first: self.first,
            jobs: self.jobs.clone(),
            sessions: self.sessions.clone(),
        };
    }

    /// Restores the backup, as an operator does.
    pub(super) fn restore(&mut self) {
        let Backup {
            board,
            first,
            jobs,
            sessions,
        } = self.backup.clone();
        (self.board, self.first) = (board, first);
        (self.jobs, self.sessions) = (jobs, sessions);
        self.restores += 1;
    }

    /// Drops the last messages without a sign of it.
    pub(super) fn fork(&mut self, messages: u64) {
        let length = self.board.len() as u64;
        let common = length.saturating_sub(messages).max(self.first);
        self.board.truncate(common as usize);
        let is_before = |open: &Open| open.cuts.last().map_or(open.request.start, |cut| cut.end);
        self.sessions.retain(|_, open| is_before(open) <= common);
    }

    /// Returns the places and ids of letters to the recipient.
    pub(super) fn hers(&self) -> Vec<(u64, u64)> {
        let places = (0..).zip(&self.board);
        places
            .filter_map(|(index, post)| post.hers.then_some((index, post.id)))
            .collect()
    }

    /// Returns the running hash of the log, where the board has it.
    fn hash_at(&self, length: u64) -> Option<[u8; 32]> {
        let posts = self.board.get(..length as usize)?;
        let mut hasher = blake3::Hasher::new();
        for post in posts {
            hasher.update(&post.id.to_le_bytes());
        }
        (length >= self.first).then(|| *hasher.finalize().as_bytes())
    }

    fn board(&self, lengths: &[u64]) -> Board {
        let end = self.board.len() as u64;
        let known = |length: &u64| Some((*length, self.hash_at(*length)?));
        let log = Log {
            hash: self.hash_at(end).unwrap(),
            history: [self.restores; 16],
            hashes: lengths.iter().filter_map(known).collect(),
        };
        Board::new(place(), self.first, end, log).unwrap()
    }

    fn digest(&self, of: &Stride, bound: u32) -> Digest {
        let hers = self.hers().into_iter();
        Digest {
            start: of.start,
            end: of.end,
            step: of.step(),
            bound,
            hers: hers.filter(|(index, _)| of.contains(*index)).collect(),
            query: None,
            damaged: false,
        }
    }

    /// Returns the result of a job.
    fn result(&self, job: &JobRequest) -> Digest {
        let mut digest = self.digest(&Stride::new(job.start..job.end, job.step), job.bound);
        if !job.query.is_empty() {
            let wanted = rounds::wanted(&job.query);
            digest.hers.retain(|(index, _)| wanted.contains(index));
            digest.query = Some(FetchQuery::hash(&job.query));
        } else if self.scans_rubbish {
            let at_random = |index: &u64| blake3::hash(&index.to_le_bytes()).as_bytes()[0] < 99;
            let listed = (job.start..job.end).filter(at_random);
            digest.hers = listed.map(|index| (index, u64::MAX)).collect();
        }
        digest
    }

    /// Returns the digests that a call allows the server to delete.
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
            Call::Board(lengths) => {
                assert!(lengths.len() <= 64, "{lengths:?}");
                Ok(Answer::Board(self.board(&lengths)))
            }
            Call::Limits => Ok(Answer::Limits(Limits {
                digest_messages: self.digest_messages,
                bound: 0,
                step: 1 << 16,
                orders: 1,
                fetch_messages: self.fetch_messages,
            })),
            Call::Seeds(range) => {
                if range.start < self.first || range.end > self.board.len() as u64 {
                    return fails(Failure::OutOfRange);
                }
                let pages = rounds::small().pages(&place(), range).unwrap();
                Ok(Answer::Seeds(vec![[self.restores; 32]; pages]))
            }
            Call::CreateOrder(_) => Ok(Answer::Order(BATCH)),
            Call::CreateJob(job) => {
                if job.start < self.first || job.end > self.board.len() as u64 {
                    return fails(Failure::OutOfRange);
                }
                let id = job.request_id.to_vec();
                let known = self.jobs.entry(id.clone()).or_insert_with(|| job.clone());
                if *known == job {
                    Ok(Answer::Job {
                        id,
                        log_hash: self.hash_at(job.end),
                    })
                } else {
                    fails(Failure::Exists)
                }
            }
            Call::WatchJob(_) => Ok(Answer::Watched),
            Call::FetchDigest(id) => match self.jobs.get(&id) {
                // Only spare requests make up for a digest without messages that were dropped and restored meanwhile.
                Some(job) if job.scheme == TWO_ROUNDS && job.end > self.board.len() as u64 => {
                    fails(Failure::JobFailed)
                }
                Some(job) => Ok(Answer::Digest(self.result(job).bytes())),
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
        // The last digest is kept until the next one is requested.
        if number + 1 == open.cuts.len() {
            return Ok(self.answer(&open.cuts[number]));
        }
        if number != open.cuts.len() {
            return fails(Failure::Final);
        }
        let next = open.cuts.last().map_or(open.request.start, |cut| cut.end);
        let room = match open.request.room {
            0 => u64::MAX,
            room => room.into(),
        };
        let end = next.saturating_add(room).min(self.board.len() as u64);
        let digest = self.digest(&Stride::new(next..end, 1), open.request.bound);
        let cuts = &mut self.sessions.get_mut(&id).unwrap().cuts;
        cuts.push(digest.clone());
        Ok(self.answer(&digest))
    }

    fn answer(&self, cut: &Digest) -> Answer {
        Answer::Cut {
            digest: cut.bytes(),
            log_hash: self.hash_at(cut.end),
        }
    }
}

pub(super) fn place() -> Place {
    Place {
        board_id: BOARD,
        params: PARAMS.to_owned(),
        sealing: Sealing::HpkeX25519,
        payload_bytes: 612,
    }
}

/// A board whose running hash never changes.
pub(crate) fn board(messages: Range<u64>) -> Board {
    let log = Log {
        hash: [0; 32],
        history: [0; 16],
        hashes: messages.clone().map(|length| (length, [0; 32])).collect(),
    };
    Board::new(place(), messages.start, messages.end, log).unwrap()
}
