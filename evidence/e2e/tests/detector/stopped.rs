//! Digests that are stopped.

use crate::card::made;
use crate::packed;
use chacha20::ChaCha20Rng;
use omr_detector::sophomr::Detector;
use omr_detector::{DetectorError, Progress, Quiet};
use omr_protocol::{ClueKey, ClueKind};
use rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A progress that stops at a given question, and counts the questions of each stage.
struct Stops {
    left: AtomicUsize,
    stage: Mutex<&'static str>,
    asked: Mutex<BTreeMap<&'static str, usize>>,
}

impl Stops {
    fn after(questions: usize) -> Self {
        Self {
            left: AtomicUsize::new(questions),
            stage: Mutex::new("none"),
            asked: Mutex::default(),
        }
    }
}

impl Progress for Stops {
    fn stage(&self, name: &'static str, _: u64) {
        *self.stage.lock().unwrap() = name;
    }

    fn advance(&self, _: u64) {}

    fn is_stopped(&self) -> bool {
        let stage = *self.stage.lock().unwrap();
        *self.asked.lock().unwrap().entry(stage).or_default() += 1;
        let count = |left: usize| left.checked_sub(1);
        let order = Ordering::Relaxed;
        self.left.fetch_update(order, order, count).is_err()
    }
}

/// Every stage asks as often as it has parts. Wherever it is stopped, the detector makes equal digests afterwards.
fn stopped_everywhere(mut made: impl FnMut(&dyn Progress) -> Result<Vec<u8>, DetectorError>) {
    let expected = made(&Quiet).unwrap();
    let never = Stops::after(usize::MAX);
    assert!(made(&never).unwrap() == expected);
    let asked = never.asked.into_inner().unwrap();
    // Turns of the secret; products of limbs or giant steps; products; steps of codes; runs of symbols.
    let parts = [
        ("baby steps", 12),
        ("opening", 200),
        ("range check", 60),
        ("codes", 12),
        ("payloads", 6),
    ];
    for (stage, parts) in parts {
        let asked = asked.get(stage).copied().unwrap_or(0);
        assert!(asked >= parts, "{stage}: expected {parts}, found {asked}");
    }
    let all: usize = asked.values().sum();
    for part in 0..12 {
        let stopped = made(&Stops::after(part * (all - 1) / 11));
        assert!(matches!(stopped, Err(DetectorError::Stopped)), "{part}");
    }
    assert!(made(&Quiet).unwrap() == expected);
}

/// Several recipients in one run can be stopped.
#[test]
fn digests_by_opening_are_stopped_in_every_stage() {
    let (params, clues) = (packed::tiny(), ClueKind::Bound);
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let keys = packed::recipients(&params, clues, &mut rng);
    let addresses: Vec<&ClueKey> = keys.iter().map(|keys| &keys.clue).collect();
    let mut board = packed::board(&params, &addresses, clues, &mut rng);
    let keys = keys[..packed::TOGETHER].iter();
    let read = keys.map(|keys| packed::through_file(&params, &keys.detection));
    let detectors: Vec<Detector> = read.map(|key| Detector::new(params.clone(), key)).collect();
    stopped_everywhere(|progress| {
        let made = made(&detectors, &mut board, progress)?;
        let bytes = made.iter().map(|out| out.digest.to_bytes(&params).unwrap());
        Ok(bytes.flatten().collect())
    });
}
