//! Tests of files that were written once: today's reader reads them, and today's writer writes equal files.
//!
//! To write the files again, after a change of the format: `cargo test -p omr-e2e --test client -- --ignored freeze`.

use crate::clues::{noise, window};
use crate::world::{Board, World, rng, tiny};
use omr_client::sophomr::{Recipient, keygen};
use omr_client::{Retrieved, SecretKey, Sender};
use omr_protocol::sophomr::Digest;
use omr_protocol::{Clue, ClueKey, ClueKind};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

const SEED: u8 = 77;
const MESSAGES: usize = 100;
const PERTINENT: [u64; 3] = [0, 41, 99];
const BOUND: usize = 5;
const PAYLOAD_BYTES: usize = 12;

fn path(name: &str) -> PathBuf {
    let root = [
        env!("CARGO_MANIFEST_DIR"),
        "../../testdata/wire/v1/plain-v4",
    ];
    root.into_iter().chain([name]).collect()
}

fn stored(name: &str) -> Vec<u8> {
    let path = path(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").unwrap();
        out
    })
}

/// Returns one line for each message: index and payload.
fn listed(messages: &[Retrieved]) -> String {
    messages.iter().fold(String::new(), |mut out, message| {
        writeln!(
            out,
            "{} {}",
            message.index,
            hex(message.payload.as_ref().unwrap())
        )
        .unwrap();
        out
    })
}

/// Returns the present version of every frozen file.
fn written() -> Vec<(&'static str, Vec<u8>)> {
    let mut rng = rng(SEED);
    let keys = keygen(tiny(), ClueKind::Plain, &mut rng);
    let clue = Sender::new(&tiny().clue, &keys.clue).gen_clue(&mut rng);
    let mut detection = Vec::new();
    keys.detection.write(tiny(), &mut detection).unwrap();
    let detection = format!("{} {}\n", blake3::hash(&detection), detection.len());
    let mut board = Board::new(&keys.clue, MESSAGES, &PERTINENT, PAYLOAD_BYTES, &mut rng);
    // An equal recipient, because keys do not clone.
    let digest = World::new(SEED).digest(&mut board, BOUND, true);
    let retrieved = |&index: &u64| Retrieved::new(index, Some(board.payload(index).to_vec()), None);
    let messages: Vec<Retrieved> = PERTINENT.iter().map(retrieved).collect();
    vec![
        (
            "secret.key",
            keys.secret.to_bytes(&tiny().clue).unwrap().to_vec(),
        ),
        ("clue.key", keys.clue.to_bytes(&tiny().clue).unwrap()),
        ("clue.bin", clue.to_bytes(&tiny().clue)),
        ("digest.bin", digest.to_bytes(tiny()).unwrap()),
        ("messages.txt", listed(&messages).into_bytes()),
        ("detection.key.b3", detection.into_bytes()),
    ]
}

#[test]
fn frozen_files_are_read() {
    let secret = SecretKey::from_bytes(&tiny().clue, &stored("secret.key")).unwrap();
    let key = ClueKey::from_bytes(&tiny().clue, &stored("clue.key")).unwrap();
    assert_eq!(key.id, secret.address_id);
    let clue = Clue::from_bytes(&tiny().clue, &stored("clue.bin")).unwrap();
    let range = window(tiny());
    let noise = noise(tiny(), secret.clue_secret(), &clue);
    assert!(noise.iter().all(|d| d.unsigned_abs() <= range), "{noise:?}");
    let digest = Digest::from_bytes(tiny(), &stored("digest.bin")).unwrap();
    assert_eq!(digest.header.plan.range(), 0..MESSAGES as u64);
    let messages = Recipient::new(tiny().recipient(), &secret)
        .decode(&digest)
        .unwrap();
    assert_eq!(listed(&messages).into_bytes(), stored("messages.txt"));
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
#[ignore = "writes testdata/wire/v1"]
fn freeze() {
    fs::create_dir_all(path("")).unwrap();
    for (name, bytes) in written() {
        fs::write(path(name), bytes).unwrap();
    }
}
