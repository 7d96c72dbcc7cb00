//! An exported identity is restored whole or not at all, and nothing else is written.

use crate::common::wanted;
use omr_mail::{Home, Identity, Inbox, MailError};
use omr_protocol::frame::{FrameHeader, Kind, read_frame, write_frame_vec};
use std::collections::BTreeMap;
use std::path::Path;

fn identity(dir: &Path, name: &str) -> Identity {
    Identity::create(&Home::new(dir.join(name)), &wanted()).unwrap()
}

type Files = BTreeMap<String, Vec<u8>>;

/// Returns header and files of an export, read by the description of its format.
fn read(file: &[u8]) -> (FrameHeader, Files) {
    let (header, body) = read_frame(file, Kind::Identity, u64::MAX).unwrap();
    let (mut at, mut files) = (4, Files::new());
    let mut next = |len: usize| {
        at += len;
        body[at - len..at].to_vec()
    };
    for _ in 0..body[0] {
        let len = next(2)[0];
        let name = String::from_utf8(next(len.into())).unwrap();
        let len = u64::from_le_bytes(next(8).try_into().unwrap());
        files.insert(name, next(len as usize));
    }
    (header, files)
}

fn write(header: &FrameHeader, files: &Files) -> Vec<u8> {
    let mut body = (files.len() as u32).to_le_bytes().to_vec();
    for (name, bytes) in files {
        body.extend((name.len() as u16).to_le_bytes());
        body.extend(name.as_bytes());
        body.extend((bytes.len() as u64).to_le_bytes());
        body.extend(bytes);
    }
    write_frame_vec(header, &body).unwrap()
}

#[test]
fn files_that_do_not_fit_together_are_not_restored() {
    let dir = tempfile::tempdir().unwrap();
    let (ann, eve) = (identity(dir.path(), "ann"), identity(dir.path(), "eve"));
    let exported = ann.export().unwrap();
    let (header, files) = read(&exported);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let expected = [
        "clue.key",
        "identity",
        "inbox.redb",
        "periods.key",
        "secret.key",
    ];
    assert_eq!(names, expected);
    assert_eq!(write(&header, &files), **exported);

    let home = Home::new(dir.path().join("restored"));
    let refused = |header: &FrameHeader, change: &dyn Fn(&mut Files)| {
        let mut files = files.clone();
        change(&mut files);
        let error = home.import(&write(header, &files)).unwrap_err();
        assert!(!home.dir().exists(), "{error}");
        error
    };
    for name in ["clue.key", "identity", "secret.key"] {
        refused(&header, &|files| drop(files.remove(name)));
        refused(&header, &|files| {
            drop(files.insert(name.into(), b"{}".to_vec()))
        });
    }
    let (_, theirs) = read(&eve.export().unwrap());
    for name in ["clue.key", "secret.key"] {
        refused(&header, &|files| {
            drop(files.insert(name.into(), theirs[name].clone()))
        });
    }
    let of_eve = FrameHeader {
        key_id: eve.clue_key(&eve.set().unwrap()).unwrap().id,
        ..header.clone()
    };
    refused(&of_eve, &|_| {});
    let error = refused(&header, &|files| {
        drop(files.insert("../x".into(), Vec::new()))
    });
    assert!(error.to_string().contains("\"../x\""), "{error}");

    let restored = home.import(&exported).unwrap();
    assert_eq!(restored.profile, ann.profile);
    assert_eq!(restored.address().unwrap(), ann.address().unwrap());
    let again = home.import(&exported).unwrap_err();
    assert!(matches!(again, MailError::NotEmpty(_)), "{again}");
}

#[test]
fn a_copy_is_whole_though_somebody_fetches() {
    let dir = tempfile::tempdir().unwrap();
    let ann = identity(dir.path(), "ann");
    let held = Inbox::open(&ann.home).unwrap();
    held.begin_at(7, None).unwrap();
    let exported = ann.export().unwrap();
    held.begin_at(9, None).unwrap();
    let home = Home::new(dir.path().join("copy"));
    home.import(&exported).unwrap();
    let copy = Inbox::open(&home).unwrap();
    assert_eq!(copy.requests().cursor().unwrap(), 7);
    assert_eq!(held.requests().cursor().unwrap(), 9);
}
