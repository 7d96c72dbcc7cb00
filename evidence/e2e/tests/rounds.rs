//! Retrieval in two rounds, from posted messages to payloads, with small parameters.

use chacha20::ChaCha20Rng;
use omr_client::rounds::{RoundsRecipient, key, write_key};
use omr_client::{BoundSender, ClueSeed, DecodeError, SecretKey, Sender, identity};
use omr_detector::rounds::{PreparedPage, RoundsDetector, ScanRequest, answer_together, scan};
use omr_detector::{DetectorError, Messages, Quiet};
use omr_protocol::rounds::{
    FetchAnswer, FetchQuery, RoundsError, RoundsHeader, RoundsKey, RoundsParams, RoundsPlan,
    RoundsSpec, Scanned, page_seeds,
};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKind, ParamSet, Sealing};
use omr_ring::Kernels;
use rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

const SET: &str = "insecure-tiny-v4";
const BOARD: [u8; 16] = [7; 16];
const PAYLOAD: usize = 40;
/// The secret of the pages' seeds.
const SECRET: [u8; 32] = [5; 32];
/// Two sections and a part of a third one: 93 pages and a part of one.
const MESSAGES: u64 = 4_500;

struct World {
    params: Arc<RoundsParams>,
    clues: ClueKind,
    people: Vec<Person>,
    messages: Messages,
    payloads: Vec<Vec<u8>>,
    /// The owner of each message of a person.
    owner: BTreeMap<u64, usize>,
    rng: ChaCha20Rng,
}

struct Person {
    secret: SecretKey,
    recipient: RoundsRecipient,
    detector: RoundsDetector,
}

impl World {
    /// Two people whose keys share masks and one with masks of their own; every 150th message is for each of them.
    fn new(set: &str, clues: ClueKind, seed: u64) -> Self {
        Self::of(RoundsParams::named(set).unwrap(), clues, seed)
    }

    fn of(params: Arc<RoundsParams>, clues: ClueKind, seed: u64) -> Self {
        let clue_params = &params.clue;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let epoch = Epoch {
            board: BOARD,
            number: 3,
        };
        let (mut people, mut addresses) = (Vec::new(), Vec::new());
        for number in 0..3 {
            let (secret, address) = identity(clue_params, clues, &mut rng);
            let masks = (number < 2).then_some(&epoch);
            let made = key(&params, &secret, masks, &mut rng);
            people.push(Person {
                recipient: RoundsRecipient::new(&params, &secret),
                detector: RoundsDetector::new(params.clone(), made),
                secret,
            });
            addresses.push(address);
        }
        let (_, stranger) = identity(clue_params, clues, &mut rng);
        addresses.push(stranger);
        let mut owner = BTreeMap::new();
        let (mut bytes, mut payloads) = (Vec::new(), Vec::new());
        for index in 0..MESSAGES {
            let person = match index % 150 {
                17 => Some(0),
                90 => Some(1),
                91 => Some(2),
                _ => None,
            };
            owner.extend(person.map(|own| (index, own)));
            let address = &addresses[person.unwrap_or(3)];
            let mut payload = vec![0; PAYLOAD];
            rng.fill_bytes(&mut payload);
            let clue = match clues {
                ClueKind::Plain => {
                    let sender = Sender::new(clue_params, address);
                    sender.gen_clue(&mut rng).to_bytes(clue_params)
                }
                ClueKind::Bound => {
                    let sender = BoundSender::new(clue_params, address, BOARD);
                    let clue_seed = ClueSeed::generate(&mut rng);
                    sender.clue(&clue_seed, &payload).to_bytes(clue_params)
                }
            };
            bytes.extend(clue);
            payloads.push(payload);
        }
        Self {
            messages: Messages::new(0..MESSAGES, bytes, payloads.concat()).unwrap(),
            params,
            clues,
            people,
            payloads,
            owner,
            rng,
        }
    }

    fn params(&self) -> Arc<RoundsParams> {
        self.params.clone()
    }

    fn request(&self, range: Range<u64>) -> ScanRequest {
        ScanRequest {
            range,
            payload_bytes: PAYLOAD,
            board_id: BOARD,
            sealing: Sealing::None,
            secret: SECRET,
        }
    }

    fn scans(&mut self, range: Range<u64>) -> Vec<Scanned> {
        let request = self.request(range);
        let detectors: Vec<&RoundsDetector> =
            self.people.iter().map(|person| &person.detector).collect();
        let outputs = scan(&detectors, &mut self.messages, &request, &Quiet).unwrap();
        outputs.into_iter().map(|output| output.scanned).collect()
    }

    /// Prepares the pages of a range of a board whose messages before `kept` are gone.
    fn prepared(&mut self, range: Range<u64>, kept: u64) -> Vec<PreparedPage> {
        let (params, clues) = (self.params(), self.clues);
        let plan = RoundsPlan::new(&params, range.clone(), PAYLOAD, clues).unwrap();
        let mut pages = Vec::new();
        for (page, seed) in plan.pages().zip(page_seeds(&SECRET, &plan)) {
            let whole = plan.messages_of(page);
            let own = whole.start.max(kept)..whole.end;
            let source = &mut self.messages;
            pages.push(
                PreparedPage::new(&params, source, own, BOARD, PAYLOAD, clues, seed).unwrap(),
            );
        }
        pages
    }

    fn own(&self, person: usize, range: &Range<u64>) -> Vec<u64> {
        let own = self.owner.iter().filter(|(_, owner)| **owner == person);
        own.map(|(index, _)| *index)
            .filter(|index| range.contains(index))
            .collect()
    }
}

/// Every person's messages of a range come back, in as many fetches as they take.
fn retrieves(set: &str, clues: ClueKind, range: Range<u64>) {
    let mut world = World::new(set, clues, 1);
    let params = world.params();
    let scans = world.scans(range.clone());
    let pages = world.prepared(range.clone(), range.start / 100 * 100);
    let pages: Vec<&PreparedPage> = pages.iter().collect();
    for (number, scanned) in scans.into_iter().enumerate() {
        let file = scanned.to_bytes(&params).unwrap();
        assert_eq!(
            file.len() as u64,
            Scanned::file_bytes(&params, &scanned.header).unwrap()
        );
        let read = Scanned::from_bytes(&params, &file).unwrap();
        assert_eq!(read, scanned);
        let own = world.own(number, &range);
        assert!(!own.is_empty());
        let person = &world.people[number];
        let mut waiting = person.recipient.indices(&read).unwrap();
        assert_eq!(waiting, own);
        let mut found = Vec::new();
        let mut fetches = 0;
        while !waiting.is_empty() {
            let asked = person
                .recipient
                .ask(&read.header, &waiting, &mut world.rng)
                .unwrap();
            assert_eq!(
                asked.query.len() as u64,
                FetchQuery::file_bytes(&params, &read.header).unwrap()
            );
            let again = person.recipient.asked(&asked.query, &waiting).unwrap();
            assert_eq!(again, asked);
            let answer = person.detector.answer(&pages, &asked.query).unwrap();
            let answer = answer.to_bytes(&params).unwrap();
            assert_eq!(
                answer.len() as u64,
                FetchAnswer::file_bytes(&params, &read.header).unwrap()
            );
            let fetched = person.recipient.fetched(&asked, &answer).unwrap();
            assert!(fetched.unreadable.is_empty());
            let indices: Vec<u64> = fetched.messages.iter().map(|one| one.index).collect();
            assert_eq!(indices, asked.indices());
            waiting.retain(|index| !indices.contains(index));
            found.extend(fetched.messages);
            fetches += 1;
            assert!(fetches < 9, "a fetch brings some messages");
        }
        found.sort_by_key(|message| message.index);
        for (message, index) in found.iter().zip(&own) {
            assert_eq!(message.index, *index);
            assert_eq!(
                message.payload.as_deref(),
                Some(&world.payloads[*index as usize][..])
            );
            assert_eq!(message.fingerprint.is_some(), clues == ClueKind::Bound);
        }
        assert_eq!(found.len(), own.len());
    }
}

#[test]
fn payloads_come_back_in_two_rounds() {
    for set in [SET, "insecure-tiny-hybrid-v4"] {
        retrieves(set, ClueKind::Bound, 0..MESSAGES);
    }
    retrieves(SET, ClueKind::Plain, 0..MESSAGES);
    // From the middle of a block to the middle of another one.
    retrieves(SET, ClueKind::Bound, 1_900..4_001);
}

#[test]
fn a_short_range_needs_no_second_round() {
    let mut world = World::new(SET, ClueKind::Bound, 2);
    let params = world.params();
    let range = 2_026..2_085;
    assert!(params.scan.block() >= 59);
    let scans = world.scans(range.clone());
    // Message 2,041 is for the second person, who shares the masks of the first.
    for (number, expected) in [vec![], vec![2_040], vec![2_041]].iter().enumerate() {
        assert_eq!(&world.own(number, &range), expected);
        let recipient = &world.people[number].recipient;
        let read = Scanned::from_bytes(&params, &scans[number].to_bytes(&params).unwrap()).unwrap();
        let found = recipient.indices(&read).unwrap();
        assert_eq!(&found, expected);
        let messages = recipient.payloads(&read, &found).unwrap().unwrap();
        for message in &messages {
            let own = &world.payloads[message.index as usize];
            assert_eq!(message.payload.as_ref(), Some(own));
            assert!(message.fingerprint.is_some());
        }
        assert_eq!(messages.len(), expected.len());
    }
    let long = world.scans(0..1_000).remove(0);
    let recipient = &world.people[0].recipient;
    assert!(recipient.payloads(&long, &[17]).unwrap().is_none());
}

#[test]
fn recipients_together_get_the_bytes_of_recipients_alone() {
    let mut world = World::new(SET, ClueKind::Bound, 3);
    let together = world.scans(100..2_500);
    let request = world.request(100..2_500);
    for (person, scanned) in world.people.iter().zip(together) {
        let alone = scan(&[&person.detector], &mut world.messages, &request, &Quiet);
        assert!(alone.unwrap().remove(0).scanned == scanned);
    }
}

#[test]
fn a_key_is_written_as_it_is_made_and_read_back() {
    let mut world = World::new(SET, ClueKind::Bound, 4);
    let params = world.params();
    for clues in ClueKind::ALL {
        let (secret, _) = identity(&params.clue, clues, &mut world.rng);
        let mut file = Vec::new();
        write_key(&params, &secret, None, &mut world.rng, &mut file).unwrap();
        assert_eq!(file.len() as u64, RoundsKey::file_bytes_of(&params, clues));
        RoundsKey::check(&params, &file[..]).unwrap();
        let read = RoundsKey::read(&params, &file[..]).unwrap();
        assert_eq!((read.id, read.clues), (secret.rounds_id(), clues));
    }
    // A key from its file scans as the key itself does.
    let seed = || ChaCha20Rng::seed_from_u64(9);
    let secret = &world.people[0].secret;
    let mut file = Vec::new();
    write_key(&params, secret, None, &mut seed(), &mut file).unwrap();
    let read = RoundsDetector::load(&params, &file[..]).unwrap();
    let made = RoundsDetector::new(params.clone(), key(&params, secret, None, &mut seed()));
    let request = world.request(0..300);
    let both = scan(&[&read, &made], &mut world.messages, &request, &Quiet).unwrap();
    assert!(both[0].scanned == both[1].scanned);
    // Damage and truncation are noticed.
    for at in [0, 40, 500, file.len() - 1] {
        let mut damaged = file.clone();
        damaged[at] ^= 4;
        assert!(RoundsKey::read(&params, &damaged[..]).is_err(), "byte {at}");
    }
    assert!(RoundsKey::read(&params, &file[..file.len() - 1]).is_err());
}

#[test]
fn every_instruction_set_gives_the_same_bytes() {
    let set = ParamSet::named(SET).unwrap();
    let own = set.rounds().unwrap();
    let spec = RoundsSpec {
        scan: own.scan.spec().clone(),
        fetch: own.fetch.spec().clone(),
    };
    let clues = set.sophomr().unwrap().spec();
    let files = |kernels: &'static Kernels| {
        let params = RoundsParams::new(clues, spec.clone(), kernels).unwrap();
        assert_eq!(params.scan.ring().kernels().name(), kernels.name());
        let mut world = World::of(Arc::new(params), ClueKind::Bound, 11);
        let (params, range) = (world.params(), 100..1_500);
        let scanned = world.scans(range.clone()).remove(0);
        let pages = world.prepared(range.clone(), 0);
        let pages: Vec<&PreparedPage> = pages.iter().collect();
        let expected = world.own(0, &range);
        let (person, rng) = (&world.people[0], &mut world.rng);
        let mut key = Vec::new();
        write_key(&params, &person.secret, None, rng, &mut key).unwrap();
        let found = person.recipient.indices(&scanned).unwrap();
        let asked = person.recipient.ask(&scanned.header, &found, rng).unwrap();
        let answer = person.detector.answer(&pages, &asked.query).unwrap();
        let answer = answer.to_bytes(&params).unwrap();
        let fetched = person.recipient.fetched(&asked, &answer).unwrap();
        assert_eq!(found, expected);
        assert_eq!(fetched.messages.len(), expected.len());
        [key, scanned.to_bytes(&params).unwrap(), asked.query, answer]
    };
    let expected = files(Kernels::scalar());
    for kernels in Kernels::available() {
        let found = files(kernels);
        let what = ["key", "scan", "query", "answer"];
        for ((what, found), expected) in what.iter().zip(&found).zip(&expected) {
            assert!(found == expected, "{what} of {}", kernels.name());
        }
    }
}

#[test]
fn files_of_others_are_refused() {
    let mut world = World::new(SET, ClueKind::Bound, 5);
    let params = world.params();
    let range = 0..3_000;
    let scans = world.scans(range.clone());
    let pages = world.prepared(range, 0);
    let all: Vec<&PreparedPage> = pages.iter().collect();
    let [first, second] = [&world.people[0], &world.people[1]];
    let error = second.recipient.indices(&scans[0]).unwrap_err();
    assert!(matches!(error, DecodeError::OtherKey(_)), "{error}");
    let rng = &mut world.rng;
    let asked = first.recipient.ask(&scans[0].header, &[17], rng).unwrap();
    let again = first.recipient.ask(&scans[0].header, &[17], rng).unwrap();
    assert_ne!(asked.query, again.query);
    // Another recipient's detector, and pages of other ranges.
    let refused = |error: DetectorError| error.to_string();
    let error = refused(second.detector.answer(&all, &asked.query).unwrap_err());
    assert!(
        error.starts_with("expected a file about messages 0..3000"),
        "{error}"
    );
    for pages in [&all[..1], &all[1..], &[]] {
        let error = refused(first.detector.answer(pages, &asked.query).unwrap_err());
        assert_eq!(
            error,
            "expected prepared payloads of messages 0..3000, found those of other pages"
        );
    }
    // Queries that another recipient, or nobody, made.
    let error = second.recipient.asked(&asked.query, &[]).unwrap_err();
    assert!(matches!(error, DecodeError::OtherKey(_)), "{error}");
    let error = first.recipient.asked(&asked.query[1..], &[]).unwrap_err();
    assert!(matches!(error, DecodeError::Inconsistent(_)), "{error}");
    let error = first.recipient.asked(&asked.query, &[3_000]).unwrap_err();
    assert!(matches!(error, DecodeError::Inconsistent(_)), "{error}");
    let answer = first.detector.answer(&all, &asked.query).unwrap();
    let file = answer.to_bytes(&params).unwrap();
    // The answer to another query of the same scan.
    let error = first.recipient.fetched(&again, &file).unwrap_err();
    assert!(matches!(error, RoundsError::OtherQuery(_)), "{error}");
    let error = second.recipient.fetched(
        &second.recipient.ask(&scans[1].header, &[90], rng).unwrap(),
        &file,
    );
    assert!(matches!(error, Err(RoundsError::OtherQuery(_))));
    let ciphertexts = answer
        .ciphertexts(&params, &asked.header, &asked.query)
        .unwrap();
    // Fewer bodies than the query has.
    let mut few = ciphertexts.clone();
    assert!(few[0].parts.len() > 1);
    few[0].parts.pop();
    let short = FetchAnswer::new(&params, &asked.header, answer.query, &few).unwrap();
    let file_of_few = short.to_bytes(&params).unwrap();
    let error = first.recipient.fetched(&asked, &file_of_few).unwrap_err();
    assert!(
        matches!(
            error,
            RoundsError::Length {
                what: "an answer",
                ..
            }
        ),
        "{error}"
    );
    let fetched = first.recipient.fetched(&asked, &file).unwrap();
    assert_eq!(
        fetched.messages[0].payload,
        Some(world.payloads[17].clone())
    );
    // An index outside the range.
    let error = first
        .recipient
        .ask(&scans[0].header, &[3_000], rng)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("expected indices of messages 0..3000, found 3000")
    );
    // A damaged symbol is no payload.
    let mut damaged = ciphertexts;
    for ciphertext in &mut damaged {
        for part in &mut ciphertext.parts {
            for x in part {
                *x ^= 1 << 20;
            }
        }
    }
    let damaged = FetchAnswer::new(&params, &asked.header, answer.query, &damaged).unwrap();
    let file = damaged.to_bytes(&params).unwrap();
    let fetched = first.recipient.fetched(&asked, &file).unwrap();
    assert_eq!((fetched.messages.len(), fetched.unreadable), (0, vec![17]));
}

/// Messages that are posted later leave whole pages as they were prepared, and give the last one a new seed.
#[test]
fn a_page_is_prepared_once_unless_it_grows() {
    let mut world = World::new(SET, ClueKind::Bound, 8);
    let params = world.params();
    let size = params.fetch.spec().page as u64;
    // The second range has a whole page and a part of one that the first one lacks.
    let [first, second] = [10 * size + 5..40 * size + 7, 12 * size..42 * size - 1];
    let mut pages = world.prepared(first.clone(), 0);
    let scans = [first.clone(), second.clone()].map(|range| world.scans(range).remove(0));
    let [short, long] = scans.each_ref().map(|scan| &scan.header.seeds);
    assert_eq!(short.len(), 31);
    assert_eq!(short[2..30], long[..28]);
    assert_ne!(short[30], long[28]);
    let own = world.own(0, &second);
    let person = &world.people[0];
    let ask = |scan: &Scanned, rng: &mut ChaCha20Rng| {
        let wanted = person.recipient.indices(scan).unwrap();
        person.recipient.ask(&scan.header, &wanted, rng).unwrap()
    };
    let asked = ask(&scans[1], &mut world.rng);
    let all: Vec<&PreparedPage> = pages[2..].iter().collect();
    assert!(person.detector.answer(&all, &asked.query).is_err());
    let last = world.prepared(40 * size..42 * size - 1, 0);
    pages.truncate(30);
    pages.extend(last);
    let all: Vec<&PreparedPage> = pages[2..].iter().collect();
    let person = &world.people[0];
    let answer = person.detector.answer(&all, &asked.query).unwrap();
    let file = answer.to_bytes(&params).unwrap();
    let fetched = person.recipient.fetched(&asked, &file).unwrap();
    let found: Vec<u64> = fetched.messages.iter().map(|one| one.index).collect();
    assert_eq!(found, own);
    for message in &fetched.messages {
        let own = &world.payloads[message.index as usize];
        assert_eq!(message.payload.as_ref(), Some(own));
    }
}

/// One run answers all queries, and refuses each that is wrong by itself.
#[test]
fn queries_together_get_the_answers_of_queries_alone() {
    let mut world = World::new(SET, ClueKind::Bound, 10);
    let params = world.params();
    let range = 500..1_700;
    let scans = world.scans(range.clone());
    let pages = world.prepared(range.clone(), 0);
    let pages: Vec<&PreparedPage> = pages.iter().collect();
    let other = world.scans(range.start..range.end - 1).remove(0);
    let (people, rng) = (&world.people, &mut world.rng);
    let mut queries = Vec::new();
    for (person, scanned) in people.iter().zip(&scans) {
        let wanted = person.recipient.indices(scanned).unwrap();
        let asked = person.recipient.ask(&scanned.header, &wanted, rng);
        queries.push(asked.unwrap());
    }
    // A shorter range, whose last page has another seed.
    let shorter = people[0].recipient.ask(&other.header, &[], rng).unwrap();
    let wrong = [&[][..], &shorter.query];
    let mut detectors: Vec<&RoundsDetector> = people.iter().map(|one| &one.detector).collect();
    let mut files: Vec<&[u8]> = queries.iter().map(|asked| &asked.query[..]).collect();
    for (at, file) in [(0, wrong[0]), (2, wrong[1])] {
        detectors.insert(at, &people[0].detector);
        files.insert(at, file);
    }
    let found = answer_together(&detectors, &pages, &files);
    let refused: Vec<bool> = found.iter().map(Result::is_err).collect();
    assert_eq!(refused, [true, false, true, false, false]);
    let answers: Vec<FetchAnswer> = found.into_iter().flatten().collect();
    for ((answer, asked), (number, person)) in answers.iter().zip(&queries).zip((0..).zip(people)) {
        assert!(*answer == person.detector.answer(&pages, &asked.query).unwrap());
        let file = answer.to_bytes(&params).unwrap();
        let fetched = person.recipient.fetched(asked, &file).unwrap();
        let found: Vec<u64> = fetched.messages.iter().map(|one| one.index).collect();
        assert_eq!(found, world.own(number, &range));
    }
    assert!(answer_together(&[], &pages, &[]).is_empty());
}

/// A query that asks for a few of many messages also names others that its random choices fall on.
#[test]
fn a_query_shows_its_recipient_which_messages_it_asks_for() {
    let mut world = World::new(SET, ClueKind::Bound, 9);
    let range = 0..200;
    let header = world.scans(range.clone()).remove(0).header;
    let recipient = &world.people[0].recipient;
    let all: Vec<u64> = range.collect();
    for wanted in [&all[..0], &all[70..71], &all[20..34], &all[..90], &all] {
        let asked = recipient.ask(&header, wanted, &mut world.rng).unwrap();
        assert_eq!(recipient.asked(&asked.query, wanted).unwrap(), asked);
        // What was asked for is found among other wanted messages, too.
        let among_all = recipient.asked(&asked.query, &all).unwrap();
        for (own, found) in asked.buckets.iter().zip(&among_all.buckets) {
            assert!(own.is_none() || own == found);
        }
        let indices = asked.indices();
        let fetched = world.params.fetch.spec().fetched;
        assert!(
            indices.len() + 2 >= wanted.len().min(fetched),
            "{indices:?}"
        );
        assert!(indices.is_sorted_by(|a, b| a < b) && indices.iter().all(|i| wanted.contains(i)));
        assert!(among_all.indices().len() + 2 >= fetched);
        let nothing = recipient.asked(&asked.query, &[]).unwrap();
        assert!(nothing.indices().is_empty());
    }
}

#[test]
fn sizes_depend_on_the_range_alone() {
    let mut world = World::new(SET, ClueKind::Bound, 6);
    let params = world.params();
    let scanned = world.scans(0..MESSAGES).remove(0);
    let recipient = &world.people[0].recipient;
    let own = world.own(0, &(0..MESSAGES));
    let every: Vec<u64> = (0..MESSAGES).collect();
    let nothing: &[u64] = &[];
    let rng = &mut world.rng;
    let mut lengths = Vec::new();
    for wanted in [nothing, &own[..1], &own, &every] {
        let asked = recipient.ask(&scanned.header, wanted, rng).unwrap();
        let fetched = params.fetch.spec().fetched;
        // Random choices name a few messages more.
        assert!(asked.indices().len() + 2 >= wanted.len().min(fetched));
        assert_eq!(asked.buckets.len(), params.fetch.spec().buckets);
        lengths.push(asked.query.len());
    }
    lengths.dedup();
    assert_eq!(lengths.len(), 1);
}

#[test]
fn impossible_headers_are_refused() {
    let mut world = World::new(SET, ClueKind::Bound, 7);
    let params = world.params();
    let header = world.scans(0..100).remove(0).header;
    let refused = |other: RoundsHeader| {
        let error = Scanned::file_bytes(&params, &other).unwrap_err();
        error.to_string()
    };
    let empty = RoundsHeader {
        range: 5..5,
        ..header.clone()
    };
    assert_eq!(
        refused(empty),
        "expected a range with at least one message, found 5..5"
    );
    let long = RoundsHeader {
        range: 0..u64::MAX,
        ..header.clone()
    };
    assert!(refused(long).starts_with("expected a range of at most 1048576 messages"));
    let payloads = RoundsHeader {
        payload_bytes: 0,
        ..header.clone()
    };
    assert!(refused(payloads).starts_with("expected payloads of 1 to"));
    let seeds = RoundsHeader {
        seeds: header.seeds[1..].to_vec(),
        ..header
    };
    assert_eq!(
        refused(seeds),
        "expected a seed for each of 3 pages, found 2 seeds"
    );
}
