//! Digests by the kernels of graphics cards, compiled for the processor, equal those of the processor's engine byte
//! for byte.

use crate::packed::{
    BOARD, MESSAGES, PAYLOAD, TOGETHER, board, file_of, recipients, through_file, tiny,
};
use chacha20::ChaCha20Rng;
use omr_client::sophomr::Keys;
use omr_cuda::{Arithmetic, CudaRing, Emulated};
use omr_detector::sophomr::{BackendEngine, Detector, Output, digests};
use omr_detector::{DetectorError, Messages, Progress, Quiet};
use omr_protocol::sophomr::{DigestPlan, Params};
use omr_protocol::{ClueKey, ClueKind, SEED_BYTES, Sealing};
use rand_core::SeedableRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn engine(params: &Arc<Params>, arithmetic: Arithmetic) -> BackendEngine {
    let card = Emulated::or_card(arithmetic);
    let large = CudaRing::new(card, &params.ring).unwrap();
    let small = large.beside(&params.small).unwrap();
    BackendEngine::new(params, Arc::new(large), Arc::new(small))
}

pub(crate) fn made(
    detectors: &[Detector],
    board: &mut Messages,
    progress: &dyn Progress,
) -> Result<Vec<Output>, DetectorError> {
    let all: Vec<&Detector> = detectors.iter().collect();
    let plan = DigestPlan::new(detectors[0].params(), 0..MESSAGES, 9, Some(PAYLOAD)).unwrap();
    digests(
        &all,
        board,
        &plan,
        BOARD,
        Sealing::None,
        [3; SEED_BYTES],
        progress,
    )
}

/// Compares digests for several recipients, with masks of one epoch and with separate masks, over two batches of the
/// tiny set.
fn digested(clues: ClueKind, arithmetic: Arithmetic) {
    digested_by(&tiny(), clues, arithmetic, TOGETHER + 1);
}

/// Compares digests for the first `count` recipients.
fn digested_by(params: &Arc<Params>, clues: ClueKind, arithmetic: Arithmetic, count: usize) {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let keys = recipients(params, clues, &mut rng);
    let addresses: Vec<&ClueKey> = keys.iter().map(|keys| &keys.clue).collect();
    let mut board = board(params, &addresses, clues, &mut rng);
    let engine = engine(params, arithmetic);
    let read = |keys: &Keys| through_file(params, &keys.detection);
    let keys = &keys[..count];
    let here: Vec<Detector> = keys
        .iter()
        .map(|keys| Detector::new(params.clone(), read(keys)))
        .collect();
    let away: Vec<Detector> = keys
        .iter()
        .map(|keys| {
            engine
                .detector(&file_of(params, &keys.detection)[..])
                .unwrap()
        })
        .collect();
    assert!(!away[0].is_served_with(&here[0]));
    if count > TOGETHER {
        let masks = |recipient: usize| away[recipient].key().step.switching_key();
        assert!(masks(0).shares_masks_with(masks(TOGETHER - 1)));
        assert!(!masks(0).shares_masks_with(masks(TOGETHER)));
    }
    let expected = made(&here, &mut board, &Quiet).unwrap();
    let found = made(&away, &mut board, &Quiet).unwrap();
    assert_eq!(found.len(), count);
    for (recipient, (here, away)) in expected.iter().zip(&found).enumerate() {
        let [here, away] = [here, away].map(|out| out.digest.to_bytes(params).unwrap());
        assert!(here == away, "recipient {recipient}");
    }
}

#[test]
#[ignore = "minutes: every kernel of a full batch on the processor"]
fn a_digest_at_full_size_is_that_of_the_processor() {
    let params = Params::named("sophomr-v5").unwrap();
    digested_by(&params, ClueKind::Bound, Arithmetic::Floating, 1);
}

#[test]
fn digests_of_plain_clues_are_those_of_the_processor() {
    digested(ClueKind::Plain, Arithmetic::Whole);
}

#[test]
fn digests_of_bound_clues_are_those_of_the_processor() {
    digested(ClueKind::Bound, Arithmetic::Floating);
}

/// A progress that stops after a number of steps.
struct Stops(AtomicUsize);

impl Progress for Stops {
    fn stage(&self, _: &'static str, _: u64) {}

    fn advance(&self, _: u64) {
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// A digest that is stopped leaves the engine unchanged.
#[test]
fn a_stopped_digest_spoils_no_other() {
    let params = tiny();
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let keys = recipients(&params, ClueKind::Plain, &mut rng);
    let addresses: Vec<&ClueKey> = keys.iter().map(|keys| &keys.clue).collect();
    let mut board = board(&params, &addresses, ClueKind::Plain, &mut rng);
    let file = file_of(&params, &keys[0].detection);
    let away = [engine(&params, Arithmetic::Floating)
        .detector(&file[..])
        .unwrap()];
    let here = Detector::new(params.clone(), through_file(&params, &keys[0].detection));
    let expected = made(&[here], &mut board, &Quiet).unwrap();
    for steps in [1, 4, 9] {
        let stopped = made(&away, &mut board, &Stops(AtomicUsize::new(steps)));
        assert!(matches!(stopped, Err(DetectorError::Stopped)), "{steps}");
    }
    let found = made(&away, &mut board, &Quiet).unwrap();
    let [here, away] = [&expected[0], &found[0]].map(|out| out.digest.to_bytes(&params).unwrap());
    assert!(here == away);
}
