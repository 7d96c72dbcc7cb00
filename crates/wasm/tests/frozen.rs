//! Frozen keys of frozen secrets: made natively here, and in the module by `cargo xtask web`.
//!
//! Freezing new ones is a break of the format: `cargo test -p omr-wasm --test frozen -- --ignored freeze`.

use omr_client::SecretKey;
use omr_protocol::sophomr::Epoch;
use omr_protocol::{EngineKind, ParamSet, hex};
use omr_wasm::write_in_chunks;
use std::fs;
use std::path::PathBuf;

const FOLDERS: [(&str, &str); 2] = [
    ("opened-v4", "insecure-tiny-v4"),
    ("instant-v4", "insecure-tiny-hybrid-v4"),
];
const SEED: [u8; 32] = [7; 32];
const EPOCH: Epoch = Epoch {
    board: [4; 16],
    number: 226,
};

fn path(folder: &str, name: &str) -> PathBuf {
    let root = [env!("CARGO_MANIFEST_DIR"), "../../testdata/wire/v1"];
    root.into_iter().chain([folder, name]).collect()
}

/// Makes all keys, and returns the hash and length of each by the path of its frozen file.
fn made() -> Vec<(PathBuf, String)> {
    let mut made = Vec::new();
    for (folder, params) in FOLDERS {
        let set = ParamSet::named(params).unwrap();
        let secret = fs::read(path(folder, "secret.key")).unwrap();
        let secret = SecretKey::from_bytes(set.clue(), &secret).unwrap();
        for engine in set.spec().engines() {
            made.push((
                path(folder, &format!("made.{}.b3", engine.key_name())),
                line(&set, &secret, engine),
            ));
        }
    }
    made
}

fn line(set: &ParamSet, secret: &SecretKey, engine: EngineKind) -> String {
    let mut file = Vec::new();
    let key = write_in_chunks(set, secret, engine, Some(&EPOCH), SEED, 5000, |chunk| {
        file.extend_from_slice(chunk);
        Ok(())
    })
    .unwrap();
    assert_eq!(key.hash(), blake3::hash(&file).as_bytes());
    assert_eq!(key.bytes(), file.len() as f64);
    format!("{} {}\n", hex(&key.hash()), file.len())
}

#[test]
fn frozen_keys_are_made_again() {
    for (path, line) in made() {
        let frozen = fs::read_to_string(&path).unwrap();
        assert_eq!(frozen, line, "{}", path.display());
    }
}

#[test]
#[ignore = "writes testdata/wire/v1"]
fn freeze() {
    for (path, line) in made() {
        fs::write(path, line).unwrap();
    }
}
