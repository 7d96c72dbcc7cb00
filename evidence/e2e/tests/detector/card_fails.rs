//! If a card fails there is no digest, or the processor's, and never a wrong one.

use crate::packed::{BOARD, PAYLOAD, board, file_of, recipients, through_file, tiny};
use chacha20::ChaCha20Rng;
use omr_client::sophomr::Keys;
use omr_cuda::{Arithmetic, BatchRings, Cards, Choice, Emulated};
use omr_detector::engines::Costs;
use omr_detector::sophomr::Detector;
use omr_detector::{DetectorError, MessageSource, Messages, Progress, Quiet, Stages};
use omr_protocol::sophomr::DigestPlan;
use omr_protocol::{ClueKey, ClueKind, EngineKind, ParamSet, SEED_BYTES, Scheme, Sealing, Stride};
use omr_runner::{Failure, KeyError, KeyRef, Leased, Leases, Made, Seed, Supplies, Unit, Worker};
use rand_core::SeedableRng;
use std::io::{Cursor, Read};
use std::sync::Mutex;
use std::time::Duration;

const SEED: [u8; SEED_BYTES] = [3; SEED_BYTES];

/// Returns a recipient's key and a board with messages to the recipient.
fn world() -> (Keys, Messages) {
    let (params, mut rng) = (tiny(), ChaCha20Rng::seed_from_u64(8));
    let mut keys = recipients(&params, ClueKind::Plain, &mut rng);
    let addresses: Vec<&ClueKey> = keys.iter().map(|keys| &keys.clue).collect();
    let board = board(&params, &addresses, ClueKind::Plain, &mut rng);
    (keys.remove(0), board)
}

fn digest(detector: &Detector, board: &mut Messages) -> Result<Vec<u8>, DetectorError> {
    digest_with(detector, board, &Quiet)
}

fn digest_with(
    detector: &Detector,
    board: &mut Messages,
    progress: &dyn Progress,
) -> Result<Vec<u8>, DetectorError> {
    let params = tiny();
    // One batch: constants of codes are kept for the last one.
    let batch = 0..params.slots() as u64;
    let plan = DigestPlan::new(&params, batch, 9, Some(PAYLOAD)).unwrap();
    let made = detector.digest(board, &plan, BOARD, Sealing::None, SEED, progress)?;
    Ok(made.digest.to_bytes(&params).unwrap())
}

/// A progress that lets a card fail in a stage, after a number of kernels.
struct FailsIn<'a> {
    card: &'a Emulated,
    stage: &'static str,
    kernels: usize,
}

impl Progress for FailsIn<'_> {
    fn stage(&self, name: &'static str, _: u64) {
        if name == self.stage {
            self.card.fail_after(self.kernels);
        }
    }

    fn advance(&self, _: u64) {}
}

/// Kernels of all stages fail; no failure has a lasting effect, not even on the constants of codes, which are kept.
#[test]
fn a_card_that_fails_makes_no_digest_and_then_the_right_one() {
    let (params, (keys, mut board)) = (tiny(), world());
    let file = file_of(&params, &keys.detection);
    let here = Detector::new(params.clone(), through_file(&params, &keys.detection));
    let expected = digest(&here, &mut board).unwrap();
    let card = Emulated::new(Arithmetic::Floating);
    let rings = BatchRings::new(card.clone(), &params).unwrap();
    let engine = rings.engine(&params);
    let away = engine.detector(&file[..]).unwrap();
    for (stage, kernels) in [
        ("baby steps", 0),
        ("opening", 40),
        ("range check", 100),
        ("codes", 0),
        ("codes", 10),
        ("payloads", 1),
    ] {
        let fails = FailsIn {
            card: &card,
            stage,
            kernels,
        };
        let failed = digest_with(&away, &mut board, &fails).unwrap_err();
        card.fail_after(usize::MAX);
        assert!(matches!(failed, DetectorError::Engine { .. }), "{failed}");
        let message = failed.to_string();
        assert!(
            message.ends_with("found a card that was set to fail"),
            "{message}"
        );
    }
    assert!(digest(&away, &mut board).unwrap() == expected);
    drop(away);
    // A key whose masks could not be drawn leaves none to the next.
    card.fail_after(3);
    assert!(engine.detector(&file[..]).is_err());
    card.fail_after(usize::MAX);
    let away = engine.detector(&file[..]).unwrap();
    assert!(digest(&away, &mut board).unwrap() == expected);
}

/// One unit of work with one job, and its result.
struct OneUnit {
    key: Vec<u8>,
    board: Messages,
    made: Mutex<Option<Result<Vec<u8>, Failure>>>,
}

impl Leases for OneUnit {
    fn lease(&self, _: Duration) -> Leased {
        Leased::Ended
    }

    fn progress<'a>(&'a self, _: &'a Unit, _: usize) -> Box<dyn Progress + Send + 'a> {
        Box::new(Quiet)
    }

    fn complete(&self, _: &Unit, _: usize, made: Made) {
        *self.made.lock().unwrap() = Some(Ok(made.digest));
    }

    fn fail(&self, _: &Unit, _: usize, failure: Failure) {
        *self.made.lock().unwrap() = Some(Err(failure));
    }

    fn ran(&self, _: &Unit, _: &Stages) {}
}

impl Supplies for OneUnit {
    fn key(&self, _: &KeyRef) -> Result<Box<dyn Read + Send>, KeyError> {
        Ok(Box::new(Cursor::new(self.key.clone())))
    }

    fn messages(&self, _: &Unit) -> Box<dyn MessageSource + Send + '_> {
        Box::new(self.board.clone())
    }
}

fn unit(key_bytes: usize) -> Unit {
    Unit {
        id: [1; 16],
        board_id: BOARD,
        history_id: [0; 16],
        sealing: Sealing::None,
        payload_bytes: PAYLOAD,
        scheme: Scheme::Sophomr,
        stride: Stride::new(0..tiny().slots() as u64, 1),
        bound: 9,
        indices_only: false,
        seeds: vec![Seed {
            engine: EngineKind::Sophomr,
            seed: SEED,
        }],
        costs: Costs::default(),
        jobs: vec![vec![KeyRef {
            hash: [2; 32],
            kind: EngineKind::Sophomr,
            bytes: key_bytes as u64,
        }]],
        queries: Vec::new(),
        lease: Duration::from_secs(1),
    }
}

/// If a card fails that was not demanded, the processor makes the digest; otherwise the job fails with the card's
/// name.
#[test]
fn a_worker_repeats_what_a_card_failed_at() {
    let (params, (keys, board)) = (tiny(), world());
    let file = file_of(&params, &keys.detection);
    let here = Detector::new(params.clone(), through_file(&params, &keys.detection));
    let expected = digest(&here, &mut board.clone()).unwrap();
    let set = ParamSet::named(params.name()).unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let served = |choice: Choice, kernels: usize| {
        let card = Emulated::new(Arithmetic::Whole);
        card.fail_after(kernels);
        let own = OneUnit {
            key: file.clone(),
            board: board.clone(),
            made: Mutex::default(),
        };
        let worker = Worker {
            leases: &own,
            supplies: &own,
            set: &set,
            cards: &Cards::on(choice, card),
            keys: 1,
            pages: &omr_runner::Pages::new(0, true),
        };
        worker.serve(&pool, &unit(file.len()), &mut omr_runner::Keys::default());
        own.made.into_inner().unwrap().unwrap()
    };
    assert!(served(Choice::Cuda, usize::MAX).unwrap() == expected);
    // During the preparation of the key, and in the middle of the digest.
    for kernels in [2, 300] {
        assert!(
            served(Choice::Auto, kernels).unwrap() == expected,
            "{kernels}"
        );
        let refused = served(Choice::Cuda, kernels).unwrap_err();
        let Failure::Card(message) = refused else {
            panic!("{refused:?}");
        };
        assert!(
            message.ends_with("found a card that was set to fail"),
            "{message}"
        );
    }
}
