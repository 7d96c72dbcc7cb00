//! An inbox of two rounds over real keys, scans, queries and answers, with small parameters.

use chacha20::ChaCha20Rng;
use omr_client::identity;
use omr_client::letter::{Place, Writer};
use omr_client::rounds::key;
use omr_detector::rounds::{PreparedPage, RoundsDetector, ScanRequest, scan};
use omr_detector::{Messages, Quiet};
use omr_inbox::{
    Agreed, Answer, Board, Call, Collected, Exchange, Failed, Fetch, Inbox, InboxError, JobRequest,
    Limits, Log, Memory, Outcome, Reader, Recipient, Spares, Step, Taken,
};
use omr_protocol::rounds::{RoundsPlan, page_seeds};
use omr_protocol::{ClueKey, ClueKind, ParamSet, Sealing};
use omr_rounds::fetch::Places;
use rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::ops::Range;

const SET: &str = "insecure-tiny-v4";
const BOARD: [u8; 16] = [7; 16];
const PAYLOAD: usize = 200;
/// The secret of the pages' seeds.
const SECRET: [u8; 32] = [5; 32];
/// The tag of the scheme of two rounds.
const TWO_ROUNDS: u8 = 6;

fn place() -> Place {
    Place {
        board_id: BOARD,
        params: SET.to_owned(),
        sealing: Sealing::HpkeX25519,
        payload_bytes: PAYLOAD,
    }
}

/// A detector with a board.
struct Server {
    set: ParamSet,
    clues: ClueKind,
    detector: RoundsDetector,
    posted: Vec<(Vec<u8>, Vec<u8>)>,
    jobs: BTreeMap<Vec<u8>, JobRequest>,
    /// Changes the answers to queries.
    spoils: fn(&mut Vec<u8>),
    /// Whether scans contain random distances.
    scans_rubbish: bool,
    /// The calls, with each id replaced by its place among the ids, and the numbers of bytes of queries and results.
    log: Vec<String>,
    ids: Vec<Vec<u8>>,
    /// The numbers of bytes of all queries and answers.
    bytes: Vec<[usize; 2]>,
}

impl Server {
    fn messages(&self) -> Messages {
        let (clues, payloads): (Vec<_>, Vec<_>) = self.posted.iter().cloned().unzip();
        let range = 0..self.posted.len() as u64;
        Messages::new(range, clues.concat(), payloads.concat()).unwrap()
    }

    fn plan(&self, range: Range<u64>) -> RoundsPlan {
        RoundsPlan::new(self.set.rounds().unwrap(), range, PAYLOAD, self.clues).unwrap()
    }

    fn result(&mut self, job: &JobRequest) -> Vec<u8> {
        let params = self.set.rounds().unwrap();
        let range = job.start..job.end;
        let mut messages = self.messages();
        if job.query.is_empty() {
            let request = ScanRequest {
                range,
                payload_bytes: PAYLOAD,
                board_id: BOARD,
                sealing: place().sealing,
                secret: SECRET,
            };
            let made = scan(&[&self.detector], &mut messages, &request, &Quiet).unwrap();
            let mut scanned = made[0].scanned.clone();
            if self.scans_rubbish {
                let mut rng = ChaCha20Rng::seed_from_u64(9);
                for part in scanned.sections.iter_mut().flatten() {
                    part.mask
                        .iter_mut()
                        .for_each(|x| *x ^= rng.next_u64() & 0xffff);
                }
            }
            return scanned.to_bytes(params).unwrap();
        }
        let plan = self.plan(range.clone());
        let mut pages = Vec::new();
        for (page, seed) in plan.pages().zip(page_seeds(&SECRET, &plan)) {
            let own = plan.messages_of(page);
            let (source, clues) = (&mut messages, self.clues);
            let made = PreparedPage::new(params, source, own, BOARD, PAYLOAD, clues, seed);
            pages.push(made.unwrap());
        }
        let pages: Vec<&PreparedPage> = pages.iter().collect();
        let answer = self.detector.answer(&pages, &job.query).unwrap();
        let mut file = answer.to_bytes(params).unwrap();
        self.bytes.push([job.query.len(), file.len()]);
        (self.spoils)(&mut file);
        file
    }

    /// Returns the place of an id among those of all calls.
    fn place_of(&mut self, id: &[u8]) -> usize {
        let known = self.ids.iter().position(|known| known == id);
        known.unwrap_or_else(|| {
            self.ids.push(id.to_vec());
            self.ids.len() - 1
        })
    }

    /// Performs a call and writes it into the log.
    fn perform(&mut self, call: Call) -> Answer {
        let called = match &call {
            Call::CreateJob(job) => {
                let (id, bytes) = (self.place_of(&job.request_id), job.query.len());
                format!(
                    "job {id} of {}..{}, query of {bytes} bytes",
                    job.start, job.end
                )
            }
            Call::WatchJob(id) => format!("watch {}", self.place_of(id)),
            Call::FetchDigest(id) => format!("result {}", self.place_of(id)),
            other => format!("{other:?}"),
        };
        let answer = self.answer(call);
        let bytes = match &answer {
            Answer::Digest(file) => file.len(),
            _ => 0,
        };
        self.log.push(format!("{called}: {bytes} bytes"));
        answer
    }

    fn answer(&mut self, call: Call) -> Answer {
        match call {
            Call::Board(lengths) => {
                let log = Log {
                    hash: [1; 32],
                    history: [2; 16],
                    hashes: lengths.into_iter().map(|at| (at, [1; 32])).collect(),
                };
                let end = self.posted.len() as u64;
                Answer::Board(Board::new(place(), 0, end, log).unwrap())
            }
            Call::Limits => Answer::Limits(Limits {
                digest_messages: 400,
                ..Limits::default()
            }),
            Call::Seeds(range) => Answer::Seeds(page_seeds(&SECRET, &self.plan(range))),
            Call::CreateJob(job) => {
                assert_eq!((job.bound, job.scheme, job.step), (0, TWO_ROUNDS, 0));
                let id = job.request_id.to_vec();
                self.jobs.insert(id.clone(), job);
                let log_hash = Some([1; 32]);
                Answer::Job { id, log_hash }
            }
            Call::WatchJob(_) => Answer::Watched,
            Call::FetchDigest(id) => {
                let job = self.jobs[&id].clone();
                Answer::Digest(self.result(&job))
            }
            other => panic!("{other:?}"),
        }
    }
}

struct World {
    server: Server,
    recipient: Recipient,
    inbox: Inbox<Memory>,
    reader: Reader,
    hers: Writer,
    other: Writer,
    rng: ChaCha20Rng,
}

impl World {
    fn new(clues: ClueKind) -> Self {
        let set = ParamSet::named(SET).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (secret, address) = identity(set.clue(), clues, &mut rng);
        let (_, stranger) = identity(set.clue(), clues, &mut rng);
        let params = set.rounds().unwrap().clone();
        let made = key(&params, &secret, None, &mut rng);
        let writer = |to: &ClueKey| Writer::new(set.clue(), to, place()).unwrap();
        let (hers, other) = (writer(&address), writer(&stranger));
        let sealing = Some(place().sealing);
        Self {
            recipient: Recipient {
                agreed: Agreed {
                    params: SET.to_owned(),
                    board_id: Some(BOARD),
                    sealing,
                },
                keys: vec![[3; 32]],
                instant: None,
                scheme: TWO_ROUNDS,
                bound: 50,
                largest_bound: 1000,
                spares: 2,
                begins: 0,
                batch: None,
            },
            inbox: Inbox::open(Memory::new()).unwrap(),
            reader: Reader::new(ParamSet::named(SET).unwrap(), secret, BOARD, sealing).owing(),
            hers,
            other,
            server: Server {
                clues,
                detector: RoundsDetector::new(params, made),
                set,
                posted: Vec::new(),
                jobs: BTreeMap::new(),
                spoils: |_| {},
                scans_rubbish: false,
                log: Vec::new(),
                ids: Vec::new(),
                bytes: Vec::new(),
            },
            rng,
        }
    }

    fn post_to(&mut self, is_hers: bool, letter: &[u8]) {
        let writer = if is_hers { &self.hers } else { &self.other };
        for part in writer.parts(letter, &mut self.rng).unwrap() {
            let written = writer.message(&mut self.rng, &part).unwrap();
            self.server.posted.push((written.clue, written.payload));
        }
    }

    /// Runs a sync. Returns its result, and that of decoding.
    fn sync(&mut self) -> (Collected, Vec<Taken>) {
        let collected = self.exchange(usize::MAX).unwrap();
        let taken = self.inbox.take_in(&self.reader, 5).unwrap();
        (collected, taken)
    }

    /// Runs a sync whose connection is lost before the answer to a call, unless there are fewer calls.
    fn exchange(&mut self, lost: usize) -> Option<Collected> {
        let mut fetch = Fetch::<InboxError>::new(self.recipient.clone());
        let mut step = fetch.begin(self.inbox.requests()).unwrap();
        let mut calls = 0;
        loop {
            let answer: Result<Answer, Failed<InboxError>> = match step {
                Step::Call(call) => {
                    let answer = self.server.perform(call);
                    calls += 1;
                    if calls > lost {
                        return None;
                    }
                    Ok(answer)
                }
                Step::Ask(asking) => {
                    self.inbox
                        .ask(&self.reader, &asking, &mut self.rng)
                        .unwrap();
                    Ok(Answer::Asked)
                }
                Step::Done(collected) => return Some(collected),
            };
            step = fetch.answer(self.inbox.requests(), answer).unwrap();
        }
    }

    fn waiting(&self) -> u64 {
        self.inbox.waiting().unwrap().messages
    }

    fn letters(&self) -> Vec<Vec<u8>> {
        let listed = self.inbox.list(true).unwrap().into_iter();
        listed
            .map(|one| self.inbox.body(one.number).unwrap())
            .collect()
    }
}

fn letters_come(clues: ClueKind) {
    let mut world = World::new(clues);
    let room = world.server.set.rounds().unwrap().fetch.spec().fetched as u64;
    let long = vec![9; 3_000];
    let mut expected = Vec::new();
    for number in 0..700u32 {
        let letter = number.to_le_bytes().to_vec();
        let is_hers = number % 50 == 7;
        world.post_to(is_hers, &letter);
        if is_hers {
            expected.push(letter);
        }
        if number == 300 {
            world.post_to(true, &long);
            expected.push(long.clone());
        }
    }
    let parts = world.server.posted.len() as u64 - 700;
    assert!(parts > room, "{parts}");
    let mut left = 14 + parts;
    let (mut syncs, mut had_part) = (0, false);
    while left > 0 {
        let (collected, taken) = world.sync();
        assert_eq!((collected.spares, collected.bound), (Spares::TwoRounds, 0));
        assert!(
            taken
                .iter()
                .all(|one| matches!(one.outcome, Outcome::Delivered { .. }))
        );
        let now = world.waiting();
        // Each of the two queries of a sync brings some, and by chance one from a bucket with nothing to ask for.
        assert!(
            now < left && left - now <= 2 * (room + 2),
            "{now} of {left}"
        );
        left = now;
        let (incomplete, unopened) = world.inbox.leftovers().unwrap();
        had_part |= incomplete.iter().any(|one| u64::from(one.parts) == parts);
        assert_eq!(unopened, 0);
        syncs += 1;
    }
    assert!(had_part && syncs > 1, "{syncs}");
    let mut letters = world.letters();
    letters.sort();
    expected.sort();
    assert_eq!(letters, expected);
    assert!(world.inbox.kept().unwrap().is_empty());
    // A short range comes with its scan; the backlog's fetches go on with the shape that they had.
    world.post_to(false, b"other");
    world.post_to(true, b"short");
    world.sync();
    assert!(world.letters().contains(&b"short".to_vec()));
    let shapes = &world.server.bytes;
    assert_eq!(shapes.len(), 2 * syncs + 2);
    assert!(shapes.iter().step_by(2).all(|bytes| *bytes == shapes[0]));
}

#[test]
fn letters_come_in_two_rounds() {
    letters_come(ClueKind::Bound);
    letters_come(ClueKind::Plain);
}

/// Posts 700 messages by and by, with syncs and lost connections between them. `letters` of them, evenly distributed, are
/// for the inbox.
fn script(letters: u32, scans_rubbish: bool) -> World {
    let mut world = World::new(ClueKind::Bound);
    world.server.scans_rubbish = scans_rubbish;
    let mut number = 0_u32;
    // Numbers of messages, and of the call whose answer is lost.
    for (messages, lost) in [
        (300, usize::MAX),
        (0, 3),
        (0, 5),
        (390, 8),
        (0, 4),
        (10, 2),
        (0, usize::MAX),
        (0, usize::MAX),
    ] {
        for _ in 0..messages {
            let is_hers = number * letters / 700 != (number + 1) * letters / 700;
            world.post_to(is_hers, &number.to_le_bytes());
            number += 1;
        }
        world.exchange(lost);
        world.inbox.take_in(&world.reader, 5).unwrap();
    }
    world
}

#[test]
fn calls_and_bytes_are_those_of_an_inbox_that_finds_nothing() {
    let nothing = script(0, false);
    assert!(nothing.letters().is_empty());
    let log = &nothing.server.log;
    let queries = log
        .iter()
        .filter(|line| line.starts_with("job") && !line.ends_with("of 0 bytes: 0 bytes"));
    assert!(queries.count() > 8, "{log:#?}");
    // As many as a query has room for, and many.
    for letters in [14, 500] {
        let mut world = script(letters, false);
        assert_eq!(&world.server.log, log);
        assert!(!world.letters().is_empty());
        while world.waiting() > 0 {
            world.sync();
        }
        assert_eq!(world.letters().len(), letters as usize);
    }
    let rubbish = script(14, true);
    assert_eq!(&rubbish.server.log, log);
    assert!(rubbish.letters().is_empty());
}

/// Somebody knows the seeds of pages before she posts messages.
#[test]
fn messages_that_are_aimed_at_buckets_wait_and_come() {
    let in_few: fn(&[usize]) -> bool = |own| own.iter().all(|&bucket| bucket < 9);
    let in_one: fn(&[usize]) -> bool = |own| own.contains(&3);
    for (aims, is_crowded) in [(in_few, true), (in_one, false)] {
        let mut world = World::new(ClueKind::Bound);
        let params = world.server.set.rounds().unwrap().clone();
        let (room, page) = (
            params.fetch.spec().fetched as u64,
            params.fetch.spec().page as u64,
        );
        let plan = world.server.plan(0..8 * page);
        let mut expected = Vec::new();
        for (number, seed) in plan.pages().zip(page_seeds(&SECRET, &plan)) {
            let places = Places::new(&params.fetch, &seed, number);
            for message in 0..places.messages() {
                let own: Vec<usize> = places.of(message).map(|place| place.bucket).collect();
                let letter = world.server.posted.len().to_le_bytes();
                world.post_to(aims(&own), &letter);
                if aims(&own) {
                    expected.push(letter.to_vec());
                }
            }
        }
        let all = expected.len() as u64;
        assert!(all > room, "{all}");
        world.sync();
        let first = all - world.waiting();
        assert_eq!(first < room - 1, is_crowded, "{first} of {all}");
        let mut syncs = 1;
        while world.waiting() > 0 {
            let before = world.waiting();
            world.sync();
            assert!(world.waiting() < before);
            syncs += 1;
        }
        assert!(syncs > 1);
        let mut letters = world.letters();
        letters.sort();
        expected.sort();
        assert_eq!(letters, expected);
        assert!(world.inbox.kept().unwrap().is_empty());
    }
}

#[test]
fn answers_that_cannot_be_read_lose_nothing() {
    let mut world = World::new(ClueKind::Bound);
    for number in 0..300u32 {
        world.post_to(number == 70, &number.to_le_bytes());
    }
    // A damaged file, and none at all.
    let spoils: [fn(&mut Vec<u8>); 2] = [|file| file[200] ^= 1, Vec::clear];
    for spoil in spoils {
        world.server.spoils = spoil;
        let (_, taken) = world.sync();
        let unread = taken
            .iter()
            .filter(|one| matches!(one.outcome, Outcome::Unanswered(_)));
        assert_eq!(unread.count(), 1, "{taken:?}");
        assert_eq!((world.waiting(), world.letters().len()), (1, 0));
    }
    world.server.spoils = |_| {};
    world.sync();
    assert_eq!((world.waiting(), world.letters().len()), (0, 1));
    assert!(world.inbox.kept().unwrap().is_empty());
}

/// Returns the largest number of messages whose payloads a scan contains, and that of an answer.
fn sizes(world: &World) -> [usize; 2] {
    let params = world.server.set.rounds().unwrap();
    [params.scan.block(), params.fetch.spec().buckets]
}

#[test]
fn all_payloads_of_a_short_scan_are_opened_or_owed_before_the_next_query() {
    for share in [0, 1, 32, 64] {
        let mut world = World::new(ClueKind::Bound);
        let [block, room] = sizes(&world);
        let found = share * block / 64;
        for number in 0..block as u32 {
            world.post_to((number as usize) < found, &number.to_le_bytes());
        }
        world.sync();
        assert_eq!(world.letters().len(), found);
        assert!(world.server.bytes.is_empty());
        assert_eq!(world.reader.settle(0), block - found);
        for _ in 0..=block {
            world.post_to(false, b"other");
        }
        world.sync();
        let answers = world.server.bytes.len();
        assert!(answers > 0);
        assert_eq!(world.reader.settle(0), answers * room);
    }
}
