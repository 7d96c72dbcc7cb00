//! InstantOMR at full size with full security, through the files. It needs an optimised build and half a minute.
#![cfg(not(debug_assertions))]

use chacha20::ChaCha20Rng;
use omr_client::instantomr::{InstantRecipient, detection_key};
use omr_client::{Retrieved, identity};
use omr_detector::instantomr::{InstantDetector, Session};
use omr_detector::{DetectorError, Quiet};
use omr_lab::measure::{DigestBench, Setting, Shape, Start, Workload};
use omr_protocol::ClueKind;
use omr_protocol::instantomr::{InstantDigest, InstantKey, InstantPlan};
use omr_protocol::params::DEFAULT;
use omr_protocol::{Clue, DigestHeader, ParamSet, Request, Scheme, Sealing};
use rand_core::SeedableRng;
use std::sync::Arc;

const BOUND: usize = 50;
const PAYLOAD_BYTES: usize = 612;

/// The largest size of a detection key.
const KEY_BYTES: u64 = 60_000_000;

/// Digests messages on a board of the set `name`, half of them pertinent or as many as the bound, in a session with
/// room for `room` messages. Clues and digests have at most `clue_bytes` and `digest_bytes`.
fn half_of(name: &str, messages: u64, room: Option<u64>, clue_bytes: usize, digest_bytes: usize) {
    let set = ParamSet::named(name).unwrap();
    let params = set.instantomr().unwrap();
    assert!(params.miss_log2() <= -30.0, "{}", params.miss_log2());
    assert!(params.false_positive_log2() <= -20.0);
    assert!(Clue::bytes(set.clue()) <= clue_bytes);
    assert!(InstantKey::file_bytes_of(params, ClueKind::Plain) <= KEY_BYTES);
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let (secret, clue) = identity(set.clue(), ClueKind::Plain, &mut rng);
    let mut file = Vec::new();
    let key = detection_key(params, &secret, &mut rng).unwrap();
    key.write(params, &mut file).unwrap();
    let key = InstantKey::read(params, &file[..]).unwrap();
    let detector = Arc::new(InstantDetector::new(params.clone(), key));
    let pertinent = BOUND.min(messages as usize / 2);
    let clues = params.clue.clone();
    let mut board = Workload::new(clues, clue, messages, pertinent, PAYLOAD_BYTES, 8);
    let request = Request::new(0..0, BOUND, Some(PAYLOAD_BYTES));
    let header = DigestHeader {
        key_id: detector.key_id(),
        board_id: [1; 16],
        sealing: Sealing::None,
        plan: InstantPlan::new(params, request).unwrap(),
        seed: [2; 32],
    };
    let mut session = match room {
        Some(room) => Session::with_room(detector, header, room),
        None => Session::new(detector, header),
    };
    let nothing = |_: &Session| Ok::<(), DetectorError>(());
    session
        .advance(&mut board, messages, &Quiet, nothing)
        .unwrap();
    let digest = session.digest().to_bytes(params).unwrap();
    assert!(digest.len() <= digest_bytes, "{}", digest.len());
    let digest = InstantDigest::from_bytes(params, &digest).unwrap();
    let recipient = InstantRecipient::new(params, &secret);
    let message = |&index: &u64| Retrieved::new(index, Some(board.payload(index)), None);
    let expected: Vec<Retrieved> = board.pertinent().iter().map(message).collect();
    assert_eq!(recipient.decode(&digest).unwrap(), expected);
    // The noise is as predicted; with few messages almost all of it is rounding.
    let roundings = recipient.roundings(&digest).unwrap();
    let variance = roundings.iter().map(|x| x * x).sum::<f64>() / roundings.len() as f64;
    let body = (97.0f64 / 1024.0).powi(2) / 12.0;
    let doubles = room.map_or(0, |room| params.in_double_precision(room).min(messages));
    let predicted = params.coefficient_sd(messages, doubles).powi(2) + body;
    let bits = (variance / predicted).log2() / 2.0;
    assert!(
        bits.abs() < 0.1,
        "{variance} measured, {predicted} predicted"
    );
}

#[test]
fn messages_of_the_hybrid_set_are_exact() {
    half_of("hybrid-v4", 60, None, 2_840, 57_000);
}

#[test]
fn messages_with_short_clues_are_exact() {
    half_of("instantomr-v2", 40, None, 1_300, 55_000);
}

#[test]
fn short_sessions_in_double_precision_are_exact() {
    half_of("hybrid-v4", 60, Some(1024), 2_840, 57_000);
}

/// As many messages as may all be in double precision leave the noise of 32,768 exact ones.
#[test]
fn sessions_at_the_limit_of_double_precision_are_exact() {
    half_of("instantomr-v2", 437, Some(437), 1_300, 56_000);
}

#[test]
fn a_bench_is_exact() {
    let bench = DigestBench {
        pertinent: 10,
        ..DigestBench::new(Setting {
            scheme: Scheme::Instantomd,
            messages: 70,
            shape: Shape {
                bound: 20,
                payload_bytes: 100,
            },
            start: Start {
                threads: None,
                seed: 3,
            },
            params: Some(DEFAULT.to_owned()),
            plain_clues: true,
        })
    };
    let figures = bench.run(&Quiet).unwrap();
    assert_eq!(
        (figures.exact(), figures.false_positives),
        (10, 0),
        "{figures:?}"
    );
    assert!(figures.cost.digest_bytes < 5_000);
}
