//! Tests of SophOMR files that were written once: today's reader reads them, and today's writer writes equal files.
//!
//! To write the files again, after a change of the format:
//! `cargo test -p omr-e2e --test detector -- --ignored freeze`.

use crate::packed::{BOARD, MESSAGES, OWN, PAYLOAD, board, payload, through_file, tiny};
use chacha20::ChaCha20Rng;
use omr_client::sophomr::{Recipient, keygen_in_epoch};
use omr_client::{BoundSender, ClueSeed, SecretKey};
use omr_detector::Quiet;
use omr_detector::sophomr::Detector;
use omr_protocol::sophomr::{Digest, DigestPlan, Epoch};
use omr_protocol::{Clue, ClueKey, ClueKind, SEED_BYTES, Sealing};
use rand_core::SeedableRng;
use std::fs;
use std::path::PathBuf;

/// The folder of the files, below `testdata/wire/v1`.
const FOLDER: &str = "opened-v4";

fn path(name: &str) -> PathBuf {
    let root = [env!("CARGO_MANIFEST_DIR"), "../../testdata/wire/v1"];
    root.into_iter().chain([FOLDER, name]).collect()
}

fn stored(name: &str) -> Vec<u8> {
    let path = path(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the present version of every frozen file: bound clues, masks of an epoch, more than a batch.
fn written() -> Vec<(&'static str, Vec<u8>)> {
    let (params, mut rng) = (tiny(), ChaCha20Rng::seed_from_u64(78));
    let epoch = Epoch {
        board: BOARD,
        number: 226,
    };
    let keys = keygen_in_epoch(&params, ClueKind::Bound, &epoch, &mut rng);
    let seed = ClueSeed::generate(&mut rng);
    let clue = BoundSender::new(&params.clue, &keys.clue, BOARD).clue(&seed, &payload(0));
    let mut key = Vec::new();
    keys.detection.write(&params, &mut key).unwrap();
    let key = format!("{} {}\n", blake3::hash(&key), key.len());
    let mut board = board(&params, &[&keys.clue; 4], ClueKind::Bound, &mut rng);
    let detector = Detector::new(params.clone(), through_file(&params, &keys.detection));
    let plan = DigestPlan::new(&params, 0..MESSAGES, 30, Some(PAYLOAD)).unwrap();
    let seed = [3; SEED_BYTES];
    let out = detector.digest(&mut board, &plan, BOARD, Sealing::None, seed, &Quiet);
    vec![
        (
            "secret.key",
            keys.secret.to_bytes(&params.clue).unwrap().to_vec(),
        ),
        ("clue.key", keys.clue.to_bytes(&params.clue).unwrap()),
        ("clue.bin", clue.to_bytes(&params.clue)),
        ("detection.key.b3", key.into_bytes()),
        ("digest.bin", out.unwrap().digest.to_bytes(&params).unwrap()),
    ]
}

#[test]
fn frozen_files_are_read() {
    let params = tiny();
    let secret = SecretKey::from_bytes(&params.clue, &stored("secret.key")).unwrap();
    let address = ClueKey::from_bytes(&params.clue, &stored("clue.key")).unwrap();
    assert_eq!(address.id, secret.address_id);
    Clue::from_bytes(&params.clue, &stored("clue.bin")).unwrap_err();
    let digest = Digest::from_bytes(&params, &stored("digest.bin")).unwrap();
    assert_eq!(digest.header.plan.range(), 0..MESSAGES);
    let found: Vec<_> = Recipient::new(params.recipient(), &secret)
        .decode(&digest)
        .unwrap()
        .into_iter()
        .map(|m| (m.index, m.payload))
        .collect();
    assert!(
        OWN.iter()
            .all(|own| found.iter().any(|(index, _)| index == own))
    );
    assert!(found.len() > OWN.len());
    for (index, found) in found {
        assert_eq!(found, Some(payload(index)));
    }
}

#[test]
fn frozen_files_are_written_again() {
    for (name, bytes) in written() {
        assert!(
            bytes == stored(name),
            "{FOLDER}/{name} differs: the format or the parameters changed"
        );
    }
}

#[test]
#[ignore = "writes testdata/wire/v1/opened-v4"]
fn freeze() {
    fs::create_dir_all(path("")).unwrap();
    for (name, bytes) in written() {
        fs::write(path(name), bytes).unwrap();
    }
}
