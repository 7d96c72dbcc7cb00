//! Messages by the kernels of graphics cards, compiled for the processor: sums and digests equal the processor's
//! exact integers, byte for byte.

use crate::world::{BOUND, PAYLOAD_BYTES, World, advance, expected, tiny};
use chacha20::ChaCha20Rng;
use omr_client::identity;
use omr_client::instantomr::detection_key;
use omr_cuda::{Arithmetic, Cards, Choice, Emulated, Machine};
use omr_detector::engine::{Answer, Loaded, Task};
use omr_detector::instantomr::{InstantDetector, Session};
use omr_detector::{DetectorError, Progress, Quiet};
use omr_lab::measure::MessageBench;
use omr_protocol::instantomr::InstantKey;
use omr_protocol::{ClueKind, EngineKind, ParamSet, Request, Sealing};
use rand_core::SeedableRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of messages that a card processes together.
const TOGETHER: u64 = 256;

/// A recipient whose detector uses exact integers on the processor, and an equal one on a card.
struct Two {
    here: World,
    away: Arc<InstantDetector>,
    /// The file of the key.
    file: Vec<u8>,
}

impl Two {
    fn new(set: &'static ParamSet, clues: ClueKind) -> Self {
        Self::on(Emulated::or_card(Arithmetic::Floating), set, clues)
    }

    /// Returns a recipient whose card can fail.
    fn failing() -> (Self, Arc<Emulated>) {
        let card = Emulated::new(Arithmetic::Floating);
        (Self::on(card.clone(), tiny(), ClueKind::Plain), card)
    }

    fn on(card: Arc<dyn Machine>, set: &'static ParamSet, clues: ClueKind) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(31);
        let params = set.instantomr().unwrap();
        let (secret, clue) = identity(set.clue(), clues, &mut rng);
        let key = detection_key(params, &secret, &mut rng).unwrap();
        let mut file = Vec::new();
        key.write(params, &mut file).unwrap();
        let read = || InstantKey::read(params, &file[..]);
        let cards = Cards::on(Choice::Cuda, card);
        let away = cards.instant(set, read().unwrap());
        let here = InstantDetector::exact(params.clone(), read().unwrap());
        Self {
            here: World {
                set,
                secret,
                clue,
                detector: Arc::new(here),
            },
            away: Arc::new(away.unwrap()),
            file,
        }
    }

    fn sessions(&self) -> [Session; 2] {
        let header = || self.here.header(0, BOUND, true);
        [&self.here.detector, &self.away].map(|of| Session::new(of.clone(), header()))
    }

    fn bytes(&self, session: &Session) -> Vec<u8> {
        session.to_file().to_bytes(self.here.params()).unwrap()
    }
}

/// A single message, three, a full batch and one more, each with the digest so far.
fn equal(clues: ClueKind) {
    let two = Two::new(tiny(), clues);
    let [mut here, mut away] = two.sessions();
    let last = 4 + TOGETHER + 1;
    let mut board = two.here.board(last, BOUND);
    if clues == ClueKind::Bound {
        board = board.bound_to([3; 16]);
    }
    for end in [1, 4, 4 + TOGETHER, last] {
        advance(&mut here, &mut board, end);
        advance(&mut away, &mut board, end);
        assert!(two.bytes(&here) == two.bytes(&away), "sums up to {end}");
        let [here, away] = [&here, &away].map(|session| two.here.digest(session));
        assert!(here == away, "digest up to {end}");
    }
    let mut found = two.here.decode(&away.digest()).unwrap();
    found.iter_mut().for_each(|one| one.fingerprint = None);
    assert_eq!(found, expected(&board, 0..last));
}

#[test]
fn sums_and_digests_of_plain_clues_are_those_of_the_processor() {
    equal(ClueKind::Plain);
}

#[test]
fn sums_and_digests_of_bound_clues_are_those_of_the_processor() {
    equal(ClueKind::Bound);
}

/// A progress that stops once the first messages are processed.
struct Stops(AtomicBool);

impl Progress for Stops {
    fn stage(&self, _: &'static str, _: u64) {}

    fn advance(&self, _: u64) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_stopped_session_goes_on_where_it_was() {
    let two = Two::new(tiny(), ClueKind::Plain);
    let [mut here, mut away] = two.sessions();
    let end = TOGETHER + 9;
    let mut board = two.here.board(end, BOUND);
    let nothing = |_: &Session| Ok::<(), DetectorError>(());
    let stops = Stops(AtomicBool::new(false));
    let stopped = away.advance(&mut board, end, &stops, nothing);
    assert!(matches!(stopped, Err(DetectorError::Stopped)));
    assert_eq!(away.next(), TOGETHER);
    advance(&mut away, &mut board, end);
    advance(&mut here, &mut board, end);
    assert!(two.bytes(&here) == two.bytes(&away));
}

/// A failing card processes no message; once it works again it continues, or the processor does, with equal bytes.
#[test]
fn where_a_card_fails_the_processor_goes_on_with_the_same_bytes() {
    let (two, card) = Two::failing();
    let [mut here, mut away] = two.sessions();
    let mut board = two.here.board(40, BOUND);
    advance(&mut here, &mut board, 40);
    advance(&mut away, &mut board, 10);
    // The first layer, its sums, the second layer, the traces.
    for kernels in [0, 2, 3, 4] {
        card.fail_after(kernels);
        let nothing = |_: &Session| Ok::<(), DetectorError>(());
        let failed = away.advance(&mut board, 20, &Quiet, nothing).unwrap_err();
        assert!(matches!(failed, DetectorError::Engine { .. }), "{failed}");
        let message = failed.to_string();
        assert!(
            message.ends_with("found a card that was set to fail"),
            "{message}"
        );
        assert_eq!(away.next(), 10);
    }
    card.fail_after(usize::MAX);
    advance(&mut away, &mut board, 20);
    card.fail_after(0);
    let gone_on = away.advance_or_here(&mut board, 40, &Quiet, false, |_| {});
    gone_on.unwrap();
    assert!(two.bytes(&here) == two.bytes(&away));
}

/// Makes a job's part for InstantOMR with the engine that a process selects for it.
#[test]
fn answers_are_those_of_the_processor() {
    let (two, card) = Two::failing();
    let cards = Cards::on(Choice::Auto, card.clone());
    let engine = cards.engine(tiny(), EngineKind::Instantomr).unwrap();
    let away = engine.load(&mut &two.file[..]).unwrap();
    let mut board = two.here.board(70, BOUND);
    let mut answer = |detector: Arc<dyn Loaded>| {
        let task = Task {
            source: &mut board,
            request: Request::new(0..70, BOUND, Some(PAYLOAD_BYTES)),
            board_id: [3; 16],
            sealing: Sealing::None,
            seed: [8; 32],
        };
        detector.answer(task, &Quiet)
    };
    let here = answer(two.here.detector.clone()).unwrap();
    let found = answer(away.clone()).unwrap();
    let bytes = |answer: &Answer| answer.response.to_bytes(tiny()).unwrap();
    assert!(bytes(&here) == bytes(&found));
    card.fail_after(1);
    let failed = answer(away).err().unwrap();
    assert!(matches!(failed, DetectorError::Engine { .. }), "{failed}");
    // A card that does not support it.
    let absent = Cards::on(Choice::Auto, Emulated::new(Arithmetic::Whole));
    let engine = absent.engine(tiny(), EngineKind::Instantomr);
    assert!(answer(engine.unwrap().load(&mut &two.file[..]).unwrap()).is_ok());
}

/// To be run by hand: a batch of `hybrid-v4` with all of its 256 messages.
#[test]
#[ignore = "minutes: every kernel of a full batch on the processor"]
fn a_batch_at_full_size_is_that_of_the_processor() {
    let full = ParamSet::named("hybrid-v4").unwrap();
    let two = Two::new(Box::leak(Box::new(full)), ClueKind::Bound);
    let [mut here, mut away] = two.sessions();
    let mut board = two.here.board(TOGETHER, BOUND).bound_to([3; 16]);
    advance(&mut away, &mut board, TOGETHER);
    advance(&mut here, &mut board, TOGETHER);
    assert!(two.bytes(&here) == two.bytes(&away));
    assert!(here.digest() == away.digest());
}

/// The comparison and timing of `omr-lab bench card`, with kernels that the processor runs.
#[test]
fn the_bench_finds_a_batch_equal() {
    let card = Emulated::new(Arithmetic::Floating);
    let mut bench = MessageBench::new(card.clone(), tiny().instantomr().unwrap(), 3, 1).unwrap();
    let figures = bench.compare().unwrap();
    assert_eq!((figures.batches, figures.equal), (1, 1));
    let times = bench.times(1).unwrap();
    assert!(times.message_us > 0.0 && times.processor_us > 0.0 && times.upload_s > 0.0);
    assert!(times.stages_us["sums"] > 0.0);
    card.fail_after(0);
    assert!(bench.push().is_err());
}
