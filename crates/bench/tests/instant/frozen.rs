//! Files written once: today's reader takes them. Digests are made in double precision, so that only keys,
//! clues and addresses are the same bit for bit on every machine.
//!
//! To freeze them anew (a break of the format): `cargo test -p omr-bench --test instant -- --ignored freeze`.

use crate::world::{World, advance, expected, params, tiny};
use chacha20::ChaCha20Rng;
use omr_client::instantomr::{InstantRecipient, detection_key};
use omr_client::{SecretKey, Sender, decode, identity};
use omr_detector::instantomr::Session;
use omr_protocol::ClueKind;
use omr_protocol::instantomr::{Encoding, InstantDigest, SessionFile};
use omr_protocol::{Clue, ClueKey, Response, Scheme};
use rand_core::SeedableRng;
use std::fs;
use std::path::PathBuf;

const SEED: u64 = 55;
const MESSAGES: u64 = 80;
const PERTINENT: usize = 4;

fn path(name: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "../../testdata/wire/v2/instant",
        name,
    ]
    .iter()
    .collect()
}

fn stored(name: &str) -> Vec<u8> {
    let path = path(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What is the same on every machine.
fn written() -> Vec<(&'static str, Vec<u8>)> {
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    let (secret, clue) = identity(tiny().clue(), ClueKind::Plain, &mut rng);
    let key = detection_key(params(), &secret, &mut rng).unwrap();
    let mut file = Vec::new();
    key.write(params(), &mut file).unwrap();
    let sent = Sender::new(tiny().clue(), &clue).gen_clue(&mut rng);
    vec![
        (
            "secret.key",
            secret.to_bytes(tiny().clue()).unwrap().to_vec(),
        ),
        ("clue.key", clue.to_bytes(tiny().clue()).unwrap()),
        ("clue.bin", sent.to_bytes(tiny().clue())),
        (
            "instant.key.b3",
            format!("{} {}\n", blake3::hash(&file), file.len()).into_bytes(),
        ),
    ]
}

#[test]
fn frozen_files_are_read() {
    let clue = tiny().clue();
    let secret = SecretKey::from_bytes(clue, &stored("secret.key")).unwrap();
    let address = ClueKey::from_bytes(clue, &stored("clue.key")).unwrap();
    assert_eq!(address.id, secret.address_id);
    Clue::from_bytes(clue, &stored("clue.bin")).unwrap();
    let world = World::new(SEED);
    let board = world.board(MESSAGES, PERTINENT);
    for (name, scheme) in [
        ("digest.bin", Scheme::Instantomr),
        ("digest-buckets.bin", Scheme::InstantomrBuckets),
    ] {
        let response = Response::from_bytes(tiny(), &stored(name)).unwrap();
        assert_eq!(response.scheme(), scheme);
        let found = decode(tiny(), &secret, &response).unwrap();
        assert_eq!(found, expected(&board, 0..MESSAGES));
    }
    let session = SessionFile::from_bytes(params(), &stored("session.bin")).unwrap();
    assert_eq!(
        (session.header.plan.range(), session.cuts),
        (10..MESSAGES, 1)
    );
    let cut = session.last_cut.as_ref().unwrap();
    let cut = InstantDigest::from_bytes(params(), cut).unwrap();
    let recipient = InstantRecipient::new(params(), &secret);
    assert_eq!(recipient.decode(&cut).unwrap(), expected(&board, 0..10));
    let session = Session::resume(world.detector.clone(), session).unwrap();
    let rest = recipient.decode(&session.digest()).unwrap();
    assert_eq!(rest, expected(&board, 10..MESSAGES));
}

#[test]
fn frozen_files_are_written_again() {
    for (name, bytes) in written() {
        assert!(
            bytes == stored(name),
            "{name} differs: the format or the parameters changed"
        );
    }
}

#[test]
#[ignore = "writes testdata/wire/v2/instant"]
fn freeze() {
    fs::create_dir_all(path("")).unwrap();
    for (name, bytes) in written() {
        fs::write(path(name), bytes).unwrap();
    }
    let world = World::new(SEED);
    let mut board = world.board(MESSAGES, PERTINENT);
    for (name, encoding) in [
        ("digest.bin", Encoding::Powers),
        ("digest-buckets.bin", Encoding::Buckets),
    ] {
        let mut session = world.session_of(encoding, 0, true);
        advance(&mut session, &mut board, MESSAGES);
        fs::write(path(name), session.digest().to_bytes(params()).unwrap()).unwrap();
    }
    let mut session = world.session(0, true);
    advance(&mut session, &mut board, 10);
    session.cut(0, [1; 32]).unwrap();
    advance(&mut session, &mut board, MESSAGES);
    let file = session.to_file().to_bytes(params()).unwrap();
    fs::write(path("session.bin"), file).unwrap();
}
