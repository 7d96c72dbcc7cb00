//! The model's recipient: an inbox in memory, the kept records, and a program that may end at any moment.

use super::disk::{self, Disk, Writes};
use super::server::{BATCH, BOARD, Digest, PARAMS, Server};
use super::{Event, Fate, Mode, rounds};
use crate::decode::{Content, Decoded, Received};
use crate::job::{Job, Kind};
use crate::kept::Failure as Undecoded;
use crate::rounds::{Rounds, TWO_ROUNDS};
use crate::storage::Storage;
use crate::table::JOBS;
use crate::{
    Agreed, Answer, Call, Close, Cut, Exchange, Failed, Failure, Fetch, Inbox, InboxError, Memory,
    Recipient, Step, Table, Taken, Waiting,
};
use omr_protocol::rounds::FetchQuery;
use omr_protocol::{Request, Sealing};
use std::collections::BTreeMap;

/// The bound of the recipient's requests, below the number of messages that may come.
const BOUND: u32 = 3;

/// The reason why a step of the program fails.
#[derive(Debug)]
pub(super) enum Fault {
    Inbox(InboxError),
    Call,
}

impl From<InboxError> for Fault {
    fn from(error: InboxError) -> Self {
        Self::Inbox(error)
    }
}

impl From<String> for Fault {
    fn from(_: String) -> Self {
        Self::Call
    }
}

type Records = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

pub(super) struct World {
    pub(super) server: Server,
    pub(super) inbox: Inbox<Disk>,
    /// The transactions of the inbox.
    pub(super) writes: Writes,
    /// The records that are left after a crash.
    kept: Records,
    /// The records of the recipient's other device.
    other: Records,
    /// An older copy of the kept records.
    older: Records,
    pub(super) recipient: Recipient,
    /// The shape of two rounds.
    pub(super) rounds: &'static Rounds,
    /// The ids in calls, in the order of their first calls.
    ids: Vec<Vec<u8>>,
    /// The last digest that the server returned.
    last: Vec<u8>,
    /// Whether the last exchange that was not interrupted ended with a failure.
    pub(super) has_failed: bool,
}

fn opened(kept: &Records, writes: &Writes) -> Inbox<Disk> {
    let records = kept.iter();
    let records = records.map(|((table, key), value)| (*table, key.clone(), value.clone()));
    Inbox::open(Disk::new(Memory::restore(records), writes)).unwrap()
}

/// Returns what was received, decoded.
fn decoded(received: &Received, rounds: &Rounds) -> Content {
    let Received { job, file, .. } = received;
    match job.kind {
        Kind::Digest => Content::Digest(read(job, file)),
        Kind::Scan => rounds::scan(job, file, rounds),
        Kind::Fetch => Content::Answer(rounds::answer(received)),
    }
}

/// Returns a decoded digest.
fn read(job: &Job, digest: &[u8]) -> Decoded {
    let of = job.stride();
    let digest = Digest::parse(digest);
    if digest.damaged || !digest.is_of(job) {
        return Decoded::damaged(of, "damaged".to_owned());
    }
    let count = digest.hers.len();
    if count > digest.bound as usize {
        let failed = Undecoded {
            of,
            overflowed: Some(count as u64),
            exact: true,
            reason: "overflowed".to_owned(),
        };
        return Decoded {
            failed: vec![failed],
            ..Decoded::default()
        };
    }
    Decoded {
        found: digest.found(),
        read: vec![(of, digest.hers.iter().map(|(index, _)| *index).collect())],
        failed: Vec::new(),
    }
}

/// Returns the request that a digest of a session states.
fn request(_: &str, digest: &[u8]) -> Result<Request, InboxError> {
    let digest = Digest::parse(digest);
    let bound = digest.bound as usize;
    Ok(Request::new(digest.start..digest.end, bound, Some(612)))
}

/// Returns a description of a call in which an id is replaced by its place among `ids`, and a query by its length and the
/// place of its hash.
fn described(call: &Call, ids: &mut Vec<Vec<u8>>) -> String {
    let mut place = |id: &[u8]| {
        let known = ids.iter().position(|known| known == id);
        known.unwrap_or_else(|| {
            ids.push(id.to_vec());
            ids.len() - 1
        })
    };
    let mut call = call.clone();
    let mut places = Vec::new();
    match &mut call {
        Call::CreateOrder(order) => places.push(place(&std::mem::take(&mut order.request_id))),
        Call::CreateJob(job) => {
            places.push(place(&std::mem::take(&mut job.request_id)));
            let query = std::mem::take(&mut job.query);
            places.push(query.len());
            if !query.is_empty() {
                places.push(place(&FetchQuery::hash(&query)));
            }
        }
        Call::WatchJob(id) | Call::FetchDigest(id) => places.push(place(&std::mem::take(id))),
        Call::OpenSession(session) => places.push(place(&std::mem::take(&mut session.request_id))),
        Call::CutSession { session_id: id, .. } | Call::CloseSession(id) => {
            places.push(place(&std::mem::take(id)));
        }
        Call::Board(_) | Call::Limits | Call::Seeds(_) => {}
    }
    format!("{call:?} {places:?}")
}

/// Returns a digest that cannot be decoded.
fn damaged(digest: &[u8]) -> Vec<u8> {
    let damaged = true;
    let digest = Digest {
        damaged,
        ..Digest::parse(digest)
    };
    digest.bytes()
}

impl World {
    pub(super) fn new(mode: Mode) -> Self {
        let batch = (mode == Mode::Batches).then_some(BATCH);
        let (kept, writes) = (Records::new(), Writes::default());
        Self {
            server: Server::default(),
            inbox: opened(&kept, &writes),
            writes,
            kept,
            other: Records::new(),
            older: Records::new(),
            recipient: Recipient {
                agreed: Agreed {
                    params: PARAMS.to_owned(),
                    board_id: Some(BOARD),
                    sealing: Some(Sealing::HpkeX25519),
                },
                keys: vec![[1; 32]],
                instant: Some([1; 32]),
                scheme: if mode == Mode::Rounds { TWO_ROUNDS } else { 0 },
                bound: BOUND,
                largest_bound: 1000,
                spares: if batch.is_some() { 0 } else { 2 },
                begins: 0,
                batch,
            },
            rounds: rounds::small(),
            ids: Vec::new(),
            last: Vec::new(),
            has_failed: false,
        }
    }

    pub(super) fn happens(&mut self, event: &Event, hers: impl Fn(bool) -> bool) {
        match event {
            Event::Post(messages) => {
                for message in messages {
                    self.server.post(hers(*message));
                }
            }
            Event::Flood => {
                for _ in 0..1100 {
                    self.server.post(false);
                }
                self.server.post(hers(true));
            }
            Event::BackUp => self.server.back_up(),
            Event::Restore => self.server.restore(),
            Event::Fork(messages) => self.server.fork(*messages),
            Event::OtherDevice => {
                std::mem::swap(&mut self.kept, &mut self.other);
                self.crash();
            }
            Event::Copy => self.older = self.kept.clone(),
            Event::OlderCopy => {
                self.kept = self.older.clone();
                self.crash();
            }
            Event::Expire(messages) => {
                let first = self.server.first + messages;
                self.server.first = first.min(self.server.board.len() as u64);
            }
            Event::Again(messages) => {
                let cursor = self.inbox.requests().cursor().unwrap();
                if cursor > 0 {
                    let range = 0..cursor.min(*messages);
                    self.inbox.again_range(range, 2 * BOUND, 7).unwrap();
                    self.keep();
                }
            }
            Event::Fetch(fates) => self.fetch(fates),
            // Two rounds have no sessions.
            Event::Tick(fates) if self.recipient.has_two_rounds() => self.fetch(fates),
            Event::Tick(fates) => self.tick(fates),
            Event::Close(fates) => self.exchange(Close, fates),
            Event::TakeIn { crash } => self.take_in(*crash),
        }
    }

    pub(super) fn fetch(&mut self, fates: &[Fate]) {
        let fetch = Fetch::shaped(self.recipient.clone(), self.rounds.clone());
        self.exchange(fetch, fates);
    }

    fn tick(&mut self, fates: &[Fate]) {
        let cut = Cut::reading(self.recipient.clone(), request);
        self.exchange(cut, fates);
    }

    pub(super) fn keep(&mut self) {
        for change in self.inbox.store().take_changes() {
            let place = (change.table, change.key);
            match change.value {
                Some(value) => drop(self.kept.insert(place, value)),
                None => drop(self.kept.remove(&place)),
            }
        }
    }

    fn crash(&mut self) {
        self.inbox = opened(&self.kept, &self.writes);
    }

    /// Does something, which ends where the program crashes after a transaction. Then all transactions so far are kept,
    /// and the inbox is opened again. Returns whether it ran to the end.
    pub(super) fn outlives(&mut self, happens: impl FnOnce(&mut Self)) -> bool {
        let is_whole = disk::is_whole(|| happens(self));
        if !is_whole {
            self.keep();
            self.crash();
        }
        is_whole
    }

    /// Runs the loop of calls, as long as they succeed.
    fn exchange(&mut self, mut exchange: impl Exchange<String>, fates: &[Fate]) {
        let mut fates = fates.iter().copied();
        let mut step = exchange.begin(self.inbox.requests()).unwrap();
        let mut forked = false;
        self.has_failed = false;
        loop {
            if matches!(step, Step::Done(_)) {
                break;
            }
            let fate = fates.next().unwrap_or(Fate::Well);
            if fate == Fate::CrashUnkept {
                return self.crash();
            }
            self.keep();
            if fate == Fate::CrashKept {
                return self.crash();
            }
            forked |= matches!(fate, Fate::Forks(_));
            let answer = match step {
                Step::Call(call) => self.call(call, fate),
                Step::Ask(asking) => {
                    rounds::ask(&self.inbox, &asking, self.rounds);
                    Ok(Answer::Asked)
                }
                Step::Done(_) => break,
            };
            if fate == Fate::Decoded {
                self.take_in(false);
            }
            if fate == Fate::CrashAnswered {
                return self.crash();
            }
            step = match exchange.answer(self.inbox.requests(), answer) {
                Ok(step) => step,
                Err(Fault::Call) => {
                    self.has_failed = true;
                    break;
                }
                Err(Fault::Inbox(InboxError::Answer { .. })) if forked => break,
                Err(Fault::Inbox(error)) => panic!("{error}"),
            };
        }
        self.keep();
    }

    fn call(&mut self, call: Call, fate: Fate) -> Result<Answer, Failed<String>> {
        let line = described(&call, &mut self.ids);
        self.server.log.push(line);
        let failed = |kind| {
            let error = String::new();
            Err(Failed { kind, error })
        };
        if let Fate::Fails(kind) = fate {
            return failed(kind);
        }
        if let Fate::Forks(messages) = fate {
            self.server.fork(messages);
        }
        for digest in self.server.acknowledged(&call) {
            self.is_kept(&digest);
        }
        let answer = self.server.serve(call)?;
        let last = match &answer {
            Answer::Digest(digest) => std::mem::replace(&mut self.last, digest.clone()),
            _ => Vec::new(),
        };
        match (fate, answer) {
            (Fate::Replayed, Answer::Digest(_)) if !last.is_empty() => Ok(Answer::Digest(last)),
            (Fate::Lost, _) => failed(Failure::Other),
            (Fate::Damaged, Answer::Digest(digest)) => Ok(Answer::Digest(damaged(&digest))),
            (Fate::Damaged, Answer::Cut { digest, log_hash }) => Ok(Answer::Cut {
                digest: damaged(&digest),
                log_hash,
            }),
            (_, answer) => Ok(answer),
        }
    }

    /// Checks that a crash would not lose the content of a digest: it was taken in or is known to be missing, its
    /// digest was received, or it is still to be requested.
    fn is_kept(&self, digest: &Digest) {
        let inbox = opened(&self.kept, &Writes::default());
        let (letters, ranges) = (letters(&inbox), inbox.kept().unwrap());
        let cursor = inbox.requests().cursor().unwrap();
        let jobs = inbox.store().read(|tx| JOBS.all(tx)).unwrap();
        for (index, id) in digest.hers.iter().filter(|(index, _)| *index < cursor) {
            let mut asked = jobs.iter().map(|(_, job)| job.stride());
            let mut missing = ranges.iter().map(crate::Kept::range);
            let is_kept = letters.contains(id)
                || asked.any(|of| of.contains(*index))
                || missing.any(|range| range.contains(index));
            assert!(is_kept, "letter {id} at {index} is lost");
        }
    }

    fn take_in(&mut self, crash: bool) {
        while self.take_one().is_some() {
            if crash {
                return self.crash();
            }
            self.keep();
        }
    }

    /// Takes in the oldest digest, scan or answer, or what is left to do after the last one.
    pub(super) fn take_one(&mut self) -> Option<Vec<Taken>> {
        let decode = |received: &Received| decoded(received, self.rounds);
        self.inbox.take_unsigned(decode).unwrap()
    }

    /// Has all calls succeed, and requests again what overflowed or was damaged.
    pub(super) fn settles(&mut self) {
        if self.recipient.has_two_rounds() {
            return self.settles_rounds();
        }
        if let Some(batch) = self.recipient.batch {
            while !(self.server.board.len() as u64).is_multiple_of(batch) {
                self.server.post(false);
            }
        }
        for _ in 0..8 {
            self.fetch(&[]);
            self.take_in(false);
            self.inbox.raise_bound(1000).unwrap();
            self.inbox.retry_damaged().unwrap();
            self.keep();
        }
        self.is_settled();
    }

    /// Has all calls succeed until nothing waits, and then requests again what was kept.
    fn settles_rounds(&mut self) {
        let mut before = Vec::new();
        for _ in 0..99 {
            self.drains();
            let kept = self.inbox.kept().unwrap();
            if kept == before {
                break;
            }
            before = kept;
            self.inbox.retry_damaged().unwrap();
            self.keep();
        }
        self.is_settled();
    }

    /// Has all calls succeed until nothing waits.
    pub(super) fn drains(&mut self) {
        for _ in 0..199 {
            self.fetch(&[]);
            self.take_in(false);
            let is_over = self.inbox.pending().unwrap() == 0;
            if is_over && self.inbox.waiting().unwrap() == Waiting::default() {
                return;
            }
        }
        panic!("{:?} after 199 syncs", self.inbox.waiting());
    }

    fn is_settled(&mut self) {
        let kept = self.inbox.kept().unwrap();
        assert!(
            kept.iter().all(|kept| kept.start < self.server.first),
            "{kept:?}"
        );
        // The state is that of a program that opens it again.
        self.crash();
    }

    /// Returns the ids of the letters that arrived.
    pub(super) fn letters(&self) -> Vec<u64> {
        letters(&self.inbox)
    }
}

fn letters(inbox: &Inbox<Disk>) -> Vec<u64> {
    let listed = inbox.list(true).unwrap().into_iter();
    let letter = |listed: crate::Listed| {
        let body = inbox.body(listed.number).unwrap();
        u64::from_le_bytes(body.try_into().unwrap())
    };
    listed.map(letter).collect()
}
