//! Tests of parsing detection keys from arbitrary bytes.

use crate::hostile::forge::{announcing, body_of, file, headers_are_checked, noise, tiny};
use omr_errors::Mismatch;
use omr_protocol::DetectionKeyError;
use omr_protocol::frame::{FrameError, FramePart, Kind};
use omr_protocol::sophomr::DetectionKey;
use std::sync::LazyLock;

/// Reads a key, which succeeds if and only if checking does.
fn parse(bytes: &[u8]) -> Result<DetectionKey, DetectionKeyError> {
    let checked = DetectionKey::check(tiny(), bytes);
    let read = DetectionKey::read(tiny(), bytes);
    let kept = read.as_ref().map(|_| ());
    assert_eq!(format!("{checked:?}"), format!("{kept:?}"));
    read
}

/// Returns a key of zeros, which is useless but well formed.
fn zeros() -> &'static [u8] {
    static ZEROS: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let expected = match parse(&file(Kind::DetectionKey, &[])) {
            Err(DetectionKeyError::Length(Mismatch { expected, found: 0 })) => expected,
            other => panic!("{:?}", other.err()),
        };
        file(Kind::DetectionKey, &vec![0; expected as usize])
    });
    &ZEROS
}

#[track_caller]
fn refused(bytes: &[u8]) -> DetectionKeyError {
    parse(bytes).err().expect("a bad key")
}

#[track_caller]
fn frame_error(bytes: &[u8]) -> FrameError {
    match refused(bytes) {
        DetectionKeyError::Frame(error) => error,
        other => panic!("{other}"),
    }
}

/// Returns places in the file: its beginning and end byte by byte, and some in between.
fn places() -> Vec<usize> {
    let len = zeros().len();
    let sparse = (1..40).map(|i| i * len / 40 + i);
    (0..120).chain(sparse).chain(len - 40..len).collect()
}

#[test]
fn headers() {
    let good = zeros();
    headers_are_checked(good, 1 << 33, frame_error);
    for len in [0, 31, 32, body_of(good).len() as u64 - 1, 1 << 33] {
        match refused(&announcing(good, len)) {
            DetectionKeyError::Length(Mismatch { expected, found }) => {
                assert_eq!((expected, found), (body_of(good).len() as u64, len));
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_well_formed_key_is_written_back() {
    let key = parse(zeros()).unwrap();
    assert_eq!(key.file_bytes(tiny()), zeros().len() as u64);
    let mut out = Vec::new();
    key.write(tiny(), &mut out).unwrap();
    assert!(out == zeros());
}

#[test]
fn truncations() {
    for cut in places() {
        match frame_error(&zeros()[..cut]) {
            FrameError::Truncated(Mismatch { found, expected }) => {
                assert!(found == cut as u64 && found < expected);
            }
            error => panic!("cut at {cut}: {error}"),
        }
    }
}

#[test]
fn flipped_bits() {
    let mut bad = zeros().to_vec();
    for place in places().into_iter().step_by(5) {
        bad[place] ^= 1;
        let error = frame_error(&bad);
        if place >= 120 {
            let sum = FramePart::Body;
            assert!(
                matches!(error, FrameError::Checksum(part) if part == sum),
                "{error}"
            );
        }
        bad[place] ^= 1;
    }
}

/// 16 bytes of ones contain a whole residue of at most 64 bits, wherever they are.
#[test]
fn residues_are_reduced() {
    let len = body_of(zeros()).len();
    let mut body = vec![0; len];
    // After two seeds.
    for at in (0..30).map(|i| 64 + i * (len - 80) / 29) {
        body[at..at + 16].fill(0xff);
        match refused(&file(Kind::DetectionKey, &body)) {
            DetectionKeyError::Residue(Mismatch {
                expected: modulus,
                found,
            }) => {
                assert!(
                    modulus > 1 << 29 && found >= modulus,
                    "{found} of {modulus}"
                );
            }
            other => panic!("at {at}: {other}"),
        }
        body[at..at + 16].fill(0);
    }
}

#[test]
fn noise_is_refused() {
    for seed in 0..20 {
        assert!(parse(&noise(seed, 3000)).is_err());
        let body = noise(seed, body_of(zeros()).len());
        let error = refused(&file(Kind::DetectionKey, &body));
        assert!(matches!(error, DetectionKeyError::Residue(_)), "{error}");
    }
}
