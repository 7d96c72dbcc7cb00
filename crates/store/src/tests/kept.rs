//! A data folder and a backup that an earlier build wrote. Every later build reads them.
//!
//! `cargo test -p omr-store --lib kept::write_files -- --ignored` wrote them. A format that changes after a release
//! gets a folder of its own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{all, append, back_up, board, check_content, key, post, read_key, upload};
use crate::{Change, Store, StoreConfig};

fn kept(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("../../testdata/store/v1").join(name)
}

fn at(dir: PathBuf) -> StoreConfig {
    StoreConfig {
        segment_messages: 8,
        ..StoreConfig::new(dir)
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            std::fs::copy(entry.path(), place).unwrap();
        }
    }
}

/// Asserts that a store contains the data of [`write_files`], and that it continues to work.
fn check(config: &StoreConfig) {
    let store = Store::open(config).unwrap();
    store.index_keys(&mut |_, _| {}).unwrap();
    assert_eq!(store.board(), &board());
    assert_eq!((store.first(), store.len()), (0, 30));
    check_content(&store).unwrap();
    let (bytes, hash) = key(20_000, 3);
    assert_eq!(read_key(&store, hash).unwrap(), bytes);
    let record = store.get("steps", b"last").unwrap();
    assert_eq!(record.as_deref(), Some(&b"seven"[..]));
    let report = store.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    // A repeated post is recognised, and a new one is appended.
    let again = all(&store, &[post(26..30)]).unwrap();
    assert_eq!(again[0].range, 26..30);
    assert_eq!(append(&store, 30..33).unwrap(), 30..33);
    check_content(&store).unwrap();
}

#[test]
fn a_data_folder_of_an_earlier_build_is_read() {
    let dir = TempDir::new().unwrap();
    let config = at(dir.path().join("data"));
    copy(&kept("data"), &config.dir);
    check(&config);
}

#[test]
fn a_backup_of_an_earlier_build_is_restored() {
    let dir = TempDir::new().unwrap();
    let config = at(dir.path().join("data"));
    Store::restore(&config, &kept("backup"), &mut |_, _| {}).unwrap();
    check(&config);
}

#[test]
#[ignore = "writes testdata/store/v1"]
fn write_files() {
    for name in ["data", "backup"] {
        let _ = std::fs::remove_dir_all(kept(name));
    }
    let config = at(kept("data"));
    Store::create(&config, &board()).unwrap();
    let store = Store::open(&config).unwrap();
    append(&store, 0..26).unwrap();
    append(&store, 26..30).unwrap();
    store.seal().unwrap();
    let (bytes, hash) = key(20_000, 3);
    upload(&store, &bytes, hash).unwrap();
    let record = Change::Put {
        table: "steps".into(),
        key: b"last".to_vec(),
        value: b"seven".to_vec(),
    };
    store.write(&[record]).unwrap();
    back_up(&store, &kept("backup")).unwrap();
}
