//! One batch at full size with full security, through the files. It needs an optimised build, two minutes and 3 GB.
#![cfg(not(debug_assertions))]

use chacha20::ChaCha20Rng;
use omr_client::SecretKey;
use omr_client::sophomr::{Recipient, keygen};
use omr_detector::Quiet;
use omr_detector::sophomr::Detector;
use omr_lab::measure::Workload;
use omr_protocol::params::SOPHOMR;
use omr_protocol::sophomr::{DetectionKey, Digest, DigestPlan, Params};
use omr_protocol::{Clue, ClueKey, ClueKind, SEED_BYTES, Sealing};
use omr_ring::fresh_bytes;
use rand_core::SeedableRng;

const MESSAGES: u64 = 65_536;
const PERTINENT: usize = 50;
const PAYLOAD_BYTES: usize = 612;
const SEED: u64 = 2026;

#[test]
fn fifty_of_65536_messages_are_exact() {
    let params = Params::named(SOPHOMR).unwrap();
    assert!(Clue::bytes(&params.clue) <= 2_850);
    let keys = keygen(
        &params,
        ClueKind::Plain,
        &mut ChaCha20Rng::seed_from_u64(SEED),
    );
    let mut detection = Vec::new();
    keys.detection.write(&params, &mut detection).unwrap();
    drop(keys.detection);
    assert!(detection.len() <= 140_000_000, "{}", detection.len());
    let address = keys.clue.to_bytes(&params.clue).unwrap();
    let secret = keys.secret.to_bytes(&params.clue).unwrap();

    let address = ClueKey::from_bytes(&params.clue, &address).unwrap();
    let mut board = Workload::new(
        params.clue.clone(),
        address,
        MESSAGES,
        PERTINENT,
        PAYLOAD_BYTES,
        SEED,
    );
    let detector = Detector::new(
        params.clone(),
        DetectionKey::read(&params, &detection[..]).unwrap(),
    );
    drop(detection);
    let plan = DigestPlan::new(&params, 0..MESSAGES, PERTINENT, Some(PAYLOAD_BYTES)).unwrap();
    detector.take_memory();
    let fresh = fresh_bytes();
    let out = detector
        .digest(
            &mut board,
            &plan,
            [1; 16],
            Sealing::None,
            [2; SEED_BYTES],
            &Quiet,
        )
        .unwrap();
    // The detector has allocated nearly all memory that digests use.
    let more = fresh_bytes() - fresh;
    println!("{more} bytes of fresh pages");
    assert!(more < 256 << 20, "{more} bytes of fresh pages");

    assert_eq!(out.unusable_clues, 0);
    let digest = out.digest.to_bytes(&params).unwrap();
    assert!(digest.len() <= 42_000, "{}", digest.len());

    let secret = SecretKey::from_bytes(&params.clue, &secret).unwrap();
    let digest = Digest::from_bytes(&params, &digest).unwrap();
    let found = Recipient::new(params.recipient(), &secret)
        .decode(&digest)
        .unwrap();
    let indices: Vec<u64> = found.iter().map(|message| message.index).collect();
    assert_eq!(indices, board.pertinent());
    for message in found {
        assert!(
            message.payload.unwrap() == board.payload(message.index),
            "{}",
            message.index
        );
    }
}
