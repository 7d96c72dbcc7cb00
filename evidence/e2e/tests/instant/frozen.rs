//! Tests of files that were written once: today's reader reads them. Digests are computed in double precision, so
//! only keys, clues and addresses are equal bit for bit on every machine.
//!
//! To write the files again, after a change of the format:
//! `cargo test -p omr-e2e --test instant -- --ignored freeze`.

use crate::world::{BOUND, World, advance, expected, tiny};
use chacha20::ChaCha20Rng;
use omr_client::instantomr::{InstantRecipient, detection_key};
use omr_client::{SecretKey, Sender, decode, identity};
use omr_detector::instantomr::Session;
use omr_protocol::ClueKind;
use omr_protocol::instantomr::{InstantDigest, Seen, SessionFile};
use omr_protocol::{Clue, ClueKey, ParamSet, Response, Scheme};
use rand_core::SeedableRng;
use std::fs;
use std::path::PathBuf;

const SEED: u64 = 55;
const MESSAGES: u64 = 80;
const PERTINENT: usize = 4;
/// The running hashes of the log in the session's file, at its first and at its next message.
const HASHES: [[u8; 32]; 2] = [[0xA1; 32], [0xA2; 32]];

/// The folder of the files, below `testdata/wire/v1`.
const FOLDER: &str = "instant-v4";

/// The digests in the folder.
const DIGESTS: [Digest; 2] = [
    Digest {
        name: "digest.bin",
        scheme: Scheme::Instantomr,
        bound: BOUND,
    },
    Digest {
        name: "digest-97.bin",
        scheme: Scheme::Instantomr,
        bound: 97,
    },
];

struct Digest {
    name: &'static str,
    scheme: Scheme,
    bound: usize,
}

fn path(name: &str) -> PathBuf {
    let root = [env!("CARGO_MANIFEST_DIR"), "../../testdata/wire/v1"];
    root.into_iter().chain([FOLDER, name]).collect()
}

fn stored(name: &str) -> Vec<u8> {
    let path = path(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the files that are equal on every machine.
fn written(set: &ParamSet) -> Vec<(&'static str, Vec<u8>)> {
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    let (secret, clue) = identity(set.clue(), ClueKind::Plain, &mut rng);
    let params = set.instantomr().unwrap();
    let key = detection_key(params, &secret, &mut rng).unwrap();
    let mut file = Vec::new();
    key.write(params, &mut file).unwrap();
    let sent = Sender::new(set.clue(), &clue).gen_clue(&mut rng);
    vec![
        ("secret.key", secret.to_bytes(set.clue()).unwrap().to_vec()),
        ("clue.key", clue.to_bytes(set.clue()).unwrap()),
        ("clue.bin", sent.to_bytes(set.clue())),
        (
            "instant.key.b3",
            format!("{} {}\n", blake3::hash(&file), file.len()).into_bytes(),
        ),
    ]
}

#[test]
fn frozen_files_are_read() {
    let set = tiny();
    let (clue, params) = (set.clue(), set.instantomr().unwrap());
    let secret = SecretKey::from_bytes(clue, &stored("secret.key")).unwrap();
    let address = ClueKey::from_bytes(clue, &stored("clue.key")).unwrap();
    assert_eq!(address.id, secret.address_id);
    Clue::from_bytes(clue, &stored("clue.bin")).unwrap();
    let world = World::new(SEED);
    let board = world.board(MESSAGES, PERTINENT);
    for digest in DIGESTS {
        let response = Response::from_bytes(set, &stored(digest.name)).unwrap();
        let found = (response.scheme(), response.request().bound);
        assert_eq!(found, (digest.scheme, digest.bound));
        let found = decode(set, &secret, &response).unwrap();
        assert_eq!(found, expected(&board, 0..MESSAGES));
    }
    let session = SessionFile::from_bytes(params, &stored("session.bin")).unwrap();
    let found = (session.header.plan.range(), session.cuts);
    assert_eq!(found, (10..MESSAGES, 1));
    let seen = Seen::new(&(10..MESSAGES), Some(HASHES[0]), Some(HASHES[1]));
    assert_eq!(session.seen(), seen);
    let cut = session.last_cut.as_ref().unwrap();
    let cut = InstantDigest::from_bytes(params, cut).unwrap();
    let recipient = InstantRecipient::new(params, &secret);
    assert_eq!(recipient.decode(&cut).unwrap(), expected(&board, 0..10));
    let session = Session::resume(world.detector.clone(), session).unwrap();
    let rest = recipient.decode(&session.digest()).unwrap();
    assert_eq!(rest, expected(&board, 10..MESSAGES));
}

#[test]
fn frozen_files_are_written_again() {
    for (name, bytes) in written(tiny()) {
        assert!(
            bytes == stored(name),
            "{FOLDER}/{name} differs: the format or the parameters changed"
        );
    }
}

/// Existing files stay.
#[test]
#[ignore = "writes testdata/wire/v1"]
fn freeze() {
    let set = tiny();
    let write = |name: &str, bytes: Vec<u8>| {
        let path = path(name);
        if !path.exists() {
            fs::write(path, bytes).unwrap();
        }
    };
    fs::create_dir_all(path("")).unwrap();
    for (name, bytes) in written(set) {
        write(name, bytes);
    }
    let params = set.instantomr().unwrap();
    let world = World::new(SEED);
    let mut board = world.board(MESSAGES, PERTINENT);
    for digest in DIGESTS {
        let header = world.header(0, digest.bound, true);
        let mut session = Session::new(world.detector.clone(), header);
        advance(&mut session, &mut board, MESSAGES);
        write(digest.name, session.digest().to_bytes(params).unwrap());
    }
    let mut session = world.session(0, true);
    advance(&mut session, &mut board, 10);
    session.note_log_hash(Some(HASHES[0]));
    session.cut(0, [1; 32]).unwrap();
    advance(&mut session, &mut board, MESSAGES);
    session.note_log_hash(Some(HASHES[1]));
    write("session.bin", session.to_file().to_bytes(params).unwrap());
}
