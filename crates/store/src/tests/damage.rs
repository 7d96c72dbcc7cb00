//! Damaged objects and rows: the error names the damage and its place, and everything else is served.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::{
    Simulated, TAG, append, board, check_content, hash, hash_of, key, message, read_key, upload,
};
use crate::{Evidence, Segment, Store, StoreConfig, StoreError};
use omr_errors::Mismatch;

/// Creates a closed store of 30 messages: 3 segments of 8 and a tail of 6.
fn sealed(dir: &tempfile::TempDir) -> (StoreConfig, Vec<Segment>) {
    let (config, store) = super::sealed(dir);
    let segments = store.segments().unwrap();
    (config, segments)
}

fn object(config: &StoreConfig, segment: &Segment) -> PathBuf {
    config.dir.join("objects").join(segment.name())
}

/// Reads messages one by one. Returns those that fail, and asserts that the others are right.
fn failing(store: &Store) -> Vec<u64> {
    let read = |index: u64| {
        let mut lost = false;
        store.read(index..index + 1, &mut |found, clue, payload| {
            let expected = message(index);
            lost = clue.is_empty();
            let right = lost || (clue == expected.clue && payload == expected.payload);
            assert!(found == index && right);
            ControlFlow::Continue(())
        })?;
        Ok(lost)
    };
    let fails = |index: &u64| match read(*index) {
        Ok(lost) => lost,
        Err(StoreError::Damaged { first, end, .. }) => {
            assert!(first <= *index && *index < end);
            true
        }
        Err(error) => panic!("{error}"),
    };
    (0..store.len()).filter(fails).collect()
}

fn spoil(path: &Path, bytes: &[u8], config: &StoreConfig, case: &str) {
    fs::write(path, bytes).unwrap();
    let store = Store::open(config).unwrap();
    assert_eq!(failing(&store), (8..16).collect::<Vec<_>>(), "{case}");
}

#[test]
fn every_flip_and_cut_of_a_segment_is_found_and_the_rest_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let (config, segments) = sealed(&dir);
    let path = object(&config, &segments[1]);
    let good = fs::read(&path).unwrap();
    assert_eq!(good.len() as u64, segments[1].bytes);
    for at in (0..64)
        .chain((64..good.len()).step_by(41))
        .chain(good.len() - 34..good.len())
    {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        spoil(&path, &bytes, &config, &format!("flip at {at}"));
    }
    for len in [0, 1, 31, 32, 33, 55, 56, 88, 1000, good.len() - 1] {
        spoil(&path, &good[..len], &config, &format!("{len} bytes"));
    }
    spoil(&path, &[&good, &[0][..]].concat(), &config, "a byte more");
    let other = fs::read(object(&config, &segments[0])).unwrap();
    spoil(&path, &other, &config, "another segment");
    fs::write(&path, &good).unwrap();
    check_content(&Store::open(&config).unwrap()).unwrap();
}

/// Returns the expected and the found value of the error of the second segment, when all messages are read.
fn second_segment_fault(config: &StoreConfig, segment: &Segment) -> (Evidence, Evidence) {
    let store = Store::open(config).unwrap();
    let error = store
        .read(0..30, &mut |_, _, _| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(
        error.to_string().contains("messages 8..16: expected"),
        "{error}"
    );
    match error {
        StoreError::Damaged {
            object,
            first: 8,
            end: 16,
            evidence,
        } => {
            assert_eq!(object, segment.name());
            (evidence.expected, evidence.found)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn errors_contain_expected_and_found_values() {
    let dir = tempfile::tempdir().unwrap();
    let (config, segments) = sealed(&dir);
    let path = object(&config, &segments[1]);
    let good = fs::read(&path).unwrap();
    let seen = |bytes: Option<&[u8]>| {
        match bytes {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        second_segment_fault(&config, &segments[1])
    };
    let bytes = |bytes: usize| Evidence::Bytes(bytes as u64);
    assert_eq!(seen(Some(&good[..99])), (bytes(good.len()), bytes(99)));
    let mut foreign = good.clone();
    foreign[12..28].fill(3);
    assert_eq!(
        seen(Some(&foreign)),
        (Evidence::Board(board().board_id), Evidence::Board([3; 16]))
    );
    let mut flipped = good.clone();
    flipped[200] ^= 4;
    assert!(matches!(
        seen(Some(&flipped)),
        (Evidence::Hash(_), Evidence::Hash(_))
    ));
    assert_eq!(seen(None), (Evidence::Present, Evidence::Missing));
}

#[test]
fn flips_in_the_tail_are_found() {
    let simulated = Simulated::create();
    append(&simulated.open().unwrap(), 0..6).unwrap();
    let clue = message(4).clue;
    let mut bytes = simulated.disk.bytes();
    let places: Vec<_> = (0..bytes.len() - 64)
        .filter(|&at| bytes[at..at + 64] == clue[..64])
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at + 33] ^= 0x10;
    }
    let damaged = Simulated::on(
        super::disk::Disk::from_bytes(bytes),
        simulated.objects.clone(),
    );
    let store = damaged.open().unwrap();
    assert_eq!(failing(&store), [4]);
    let report = store.verify(&mut |_, _| {}).unwrap();
    assert!(matches!(
        &report.faults[..],
        [StoreError::Damaged { object, first: 4, end: 5, .. }] if object == "tail"
    ));
    // A mark replaces the message, which alone is missing.
    append(&store, 6..20).unwrap();
    assert_eq!(store.seal().unwrap(), 2);
    assert_eq!(failing(&store), [4]);
    let report = store.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.lost, [4]);
    // No hash of the missing message is stored.
    let gathered = store.hashes(0..20, TAG, &mut |clue, payload| {
        assert!(!clue.is_empty());
        hash_of(clue, payload)
    });
    assert_eq!(gathered.unwrap().hashes[5], hash(&message(5)));
}

/// Flips bits all over the meta file. The result is an error or right content, never a panic or wrong content.
#[test]
fn flips_anywhere_in_the_meta_file() {
    let simulated = Simulated::create();
    {
        let store = simulated.open().unwrap();
        for start in (0..60).step_by(6) {
            append(&store, start..start + 6).unwrap();
        }
        store.seal().unwrap();
    }
    let good = simulated.disk.bytes();
    let mut word = 5u64;
    let mut noticed = 0;
    for _ in 0..1500 {
        word = word
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        let bit = (word >> 20) as usize % (good.len() * 8);
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let disk = super::disk::Disk::from_bytes(bytes);
        let damaged = Simulated::on(disk, simulated.objects.clone());
        let Ok(store) = damaged.open() else {
            noticed += 1;
            continue;
        };
        let _ = store.verify(&mut |_, _| {});
        let mut lost = 0;
        let read = store.read(0..store.len(), &mut |index, clue, payload| {
            let expected = message(index);
            lost += u64::from(clue.is_empty());
            let right = clue == expected.clue && payload == expected.payload;
            assert!(clue.is_empty() || right, "bit {bit}, message {index}");
            ControlFlow::Continue(())
        });
        match read {
            Ok(()) if lost == 0 => assert_eq!(store.len(), 60, "bit {bit}"),
            _ => noticed += 1,
        }
    }
    assert!(noticed > 0);
}

#[test]
fn a_damaged_key_fails_at_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let (config, _) = sealed(&dir);
    let store = Store::open(&config).unwrap();
    let (good, hash) = key(100_000, 3);
    upload(&store, &good, hash).unwrap();
    let path = config
        .dir
        .join("objects")
        .join(crate::store::objects::key_name(&hash));
    assert!(read_key(&store, hash).unwrap() == good);
    let mut cases = Vec::new();
    for at in (0..good.len()).step_by(997) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        cases.push(bytes);
    }
    cases.extend([0, 1, 99_999].map(|len| good[..len].to_vec()));
    cases.push([good.as_slice(), &[0]].concat());
    for bytes in cases {
        fs::write(&path, bytes).unwrap();
        let error = read_key(&store, hash).unwrap_err();
        let inner = error
            .get_ref()
            .and_then(|error| error.downcast_ref::<StoreError>());
        assert!(matches!(inner, Some(StoreError::Damaged { .. })), "{error}");
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(
        store.open_key(hash).err(),
        Some(StoreError::Damaged {
            evidence: Mismatch {
                found: Evidence::Missing,
                ..
            },
            ..
        })
    ));
}

#[test]
fn objects_of_another_board_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (config, _) = sealed(&dir);
    let other = StoreConfig {
        dir: dir.path().join("other"),
        ..config.clone()
    };
    let strange = crate::BoardConfig {
        board_id: [1; 16],
        ..board()
    };
    Store::create(&other, &strange).unwrap();
    fs::remove_dir_all(other.dir.join("objects")).unwrap();
    fs::rename(config.dir.join("objects"), other.dir.join("objects")).unwrap();
    let error = Store::open(&other).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::OtherBoard(Mismatch {
                found: [0xA5, ..],
                ..
            })
        ),
        "{error}"
    );
    // A new store does not use them either, as its sweep would remove them.
    fs::remove_file(other.dir.join("meta.redb")).unwrap();
    let error = Store::create(&other, &strange).unwrap_err();
    assert!(matches!(error, StoreError::ObjectsExist(_)), "{error}");
}
