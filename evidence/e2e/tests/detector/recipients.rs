//! Several recipients of one board, whose digests share work.

use crate::world::{Board, SLOTS, World, affine};
use omr_client::sophomr::Recipient;
use omr_detector::Quiet;
use omr_detector::sophomr::{BoardCache, Detector};
use omr_protocol::sophomr::{DetectionKey, DigestPlan};
use omr_protocol::{SEED_BYTES, Sealing};
use std::sync::Arc;

const PAYLOAD_BYTES: usize = 40;
const MESSAGES: u64 = SLOTS + 9;

/// A board and two recipients, each with messages in both batches.
struct Scene {
    board: Board,
    worlds: [World; 2],
}

const PERTINENT: [[u64; 3]; 2] = [[3, 77, SLOTS + 2], [4, 1000, SLOTS + 8]];

impl Scene {
    fn new() -> Self {
        let worlds = [World::of(affine(), 11), World::of(affine(), 12)];
        let mut board = Board::of(affine(), MESSAGES, PAYLOAD_BYTES);
        board.clues[50][0] ^= 0xff;
        for (world, indices) in worlds.iter().zip(PERTINENT) {
            board.post(&world.clue_key, &indices);
        }
        Self { board, worlds }
    }

    /// Another detector for a recipient.
    fn detector(&self, recipient: usize) -> Detector {
        let key = DetectionKey::read(affine(), &self.worlds[recipient].detection[..]).unwrap();
        Detector::new(affine().clone(), key)
    }

    /// The digest's bytes, which must decode to the recipient's messages.
    fn digest(&self, recipient: usize, detector: &Detector, seed: u8) -> Vec<u8> {
        let plan = DigestPlan::new(affine(), 0..MESSAGES, 5, Some(PAYLOAD_BYTES)).unwrap();
        let mut board = self.board.clone();
        let seed = [seed; SEED_BYTES];
        let out = detector
            .digest(&mut board, &plan, [6; 16], Sealing::None, seed, &Quiet)
            .unwrap();
        assert_eq!(out.unusable_clues, 1);
        let recipient_of = Recipient::new(affine().recipient(), &self.worlds[recipient].secret);
        let expected = self.board.retrieved(&PERTINENT[recipient]);
        assert_eq!(recipient_of.decode(&out.digest).unwrap(), expected);
        out.digest.to_bytes(affine()).unwrap()
    }
}

/// Whole, in part (down to nothing that fits), and with batches that push each other out: the same
/// bytes as without a cache.
#[test]
fn cached_digests_are_bit_identical() {
    let scene = Scene::new();
    let plain = [0, 1].map(|who| scene.digest(who, &scene.detector(who), 1));
    let whole = Arc::new(BoardCache::new(usize::MAX));
    let detector = scene.detector(0).with_cache(whole.clone());
    assert_eq!(scene.digest(0, &detector, 1), plain[0]);
    let both_batches = whole.bytes();
    assert!(both_batches > 0);
    for limit in [
        0,
        1,
        both_batches / 7,
        both_batches / 3,
        both_batches * 2 / 3,
        both_batches,
    ] {
        let cache = Arc::new(BoardCache::new(limit));
        for who in [0, 1, 0] {
            let detector = scene.detector(who).with_cache(cache.clone());
            assert_eq!(scene.digest(who, &detector, 1), plain[who], "limit {limit}");
            assert!(cache.bytes() <= limit, "{} of {limit}", cache.bytes());
        }
        // Another placement shares nothing, and pushes out what is kept.
        let detector = scene.detector(1).with_cache(cache.clone());
        assert_ne!(scene.digest(1, &detector, 2), plain[1]);
        assert_eq!(scene.digest(1, &detector, 1), plain[1]);
        assert!(cache.bytes() <= limit);
    }
    assert_eq!(whole.bytes(), both_batches);
}

/// A source that has nothing to read: all of a kept batch comes from the cache.
#[test]
fn a_kept_batch_is_not_read_again() {
    let scene = Scene::new();
    let cache = Arc::new(BoardCache::new(usize::MAX));
    let detectors = [0, 1].map(|who| scene.detector(who).with_cache(cache.clone()));
    scene.digest(0, &detectors[0], 1);
    let plan = DigestPlan::new(affine(), 0..MESSAGES, 5, Some(PAYLOAD_BYTES)).unwrap();
    let mut empty = Board {
        params: affine(),
        clues: Vec::new(),
        payloads: Vec::new(),
    };
    let out = detectors[1]
        .digest(
            &mut empty,
            &plan,
            [6; 16],
            Sealing::None,
            [1; SEED_BYTES],
            &Quiet,
        )
        .unwrap();
    let found = Recipient::new(affine().recipient(), &scene.worlds[1].secret).decode(&out.digest);
    assert_eq!(found.unwrap(), scene.board.retrieved(&PERTINENT[1]));
}

#[test]
fn digests_at_the_same_time_share_a_cache() {
    let scene = Scene::new();
    let plain = [0, 1].map(|who| scene.digest(who, &scene.detector(who), 1));
    let cache = Arc::new(BoardCache::new(200 << 20));
    std::thread::scope(|scope| {
        for who in [0, 1, 0, 1] {
            let (scene, cache, plain) = (&scene, cache.clone(), &plain);
            scope.spawn(move || {
                let detector = scene.detector(who).with_cache(cache);
                assert_eq!(scene.digest(who, &detector, 1), plain[who]);
            });
        }
    });
    assert!(cache.bytes() <= cache.limit());
}

#[test]
fn kept_baby_steps_serve_further_digests() {
    let scene = Scene::new();
    let plain = scene.digest(0, &scene.detector(0), 1);
    let detector = scene.detector(0).keep_baby_steps(true);
    detector.prepare(&Quiet).unwrap();
    for _ in 0..2 {
        assert_eq!(scene.digest(0, &detector, 1), plain);
    }
    assert_ne!(scene.digest(0, &detector, 3), plain);
}
