//! Tests of parsing clue keys from arbitrary bytes.

use crate::hostile::forge::{
    KEY_ID, announcing, body_of, damage_is_refused, file, headers_are_checked,
};
use crate::hostile::forge::{noise, set_residue, tiny};
use omr_errors::Mismatch;
use omr_protocol::clue::{ClueKindError, SEAL_PUBLIC_BYTES};
use omr_protocol::frame::{FrameError, Kind};
use omr_protocol::{ClueError, ClueKey, ClueKind};
use proptest::prelude::*;

fn parse(bytes: &[u8]) -> Result<ClueKey, ClueError> {
    ClueKey::from_bytes(&tiny().clue, bytes)
}

fn honest() -> ClueKey {
    let beta = (0..tiny().spec().clue.n as u32)
        .map(|i| i * 12_345 % 4_188_161)
        .collect();
    let seal = noise(9, SEAL_PUBLIC_BYTES).try_into().unwrap();
    ClueKey {
        kind: ClueKind::Bound,
        id: KEY_ID,
        seed: [7; 32],
        beta,
        seal,
    }
}

#[track_caller]
fn frame_error(bytes: &[u8]) -> FrameError {
    match parse(bytes) {
        Err(ClueError::Frame(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn damage() {
    let good = honest().to_bytes(&tiny().clue).unwrap();
    assert_eq!(parse(&good).unwrap(), honest());
    damage_is_refused(&good, frame_error);
    headers_are_checked(&good, 1 << 20, frame_error);
}

#[test]
fn lengths_that_do_not_fit() {
    let good = honest().to_bytes(&tiny().clue).unwrap();
    let body = body_of(&good);
    for cut in 0..body.len() {
        match parse(&file(Kind::ClueKey, &body[..cut])) {
            Err(ClueError::Length(Mismatch { expected, found })) => {
                assert_eq!((expected, found), (body.len(), cut));
            }
            other => panic!("{cut} bytes: {other:?}"),
        }
    }
    let longer = [body, &[0]].concat();
    assert!(matches!(
        parse(&file(Kind::ClueKey, &longer)),
        Err(ClueError::Length(_))
    ));
    // A length that appears only in the header.
    let truncated = frame_error(&announcing(&good, 1 << 20));
    assert!(matches!(truncated, FrameError::Truncated(_)), "{truncated}");
}

#[test]
fn forged_bodies() {
    let good = honest().to_bytes(&tiny().clue).unwrap();
    for kind in [0, 3, 255] {
        let mut body = body_of(&good).to_vec();
        body[0] = kind;
        let error = parse(&file(Kind::ClueKey, &body)).unwrap_err();
        let unknown = ClueKindError::Tag(kind);
        assert!(matches!(error, ClueError::KeyKind(error) if error == unknown));
    }
    for index in 0..tiny().spec().clue.n {
        let mut body = body_of(&good).to_vec();
        set_residue(&mut body[33..], index, 22, 4_194_000);
        let error = parse(&file(Kind::ClueKey, &body)).unwrap_err();
        let text = "expected clue coordinates below 4188161, found 4194000";
        assert_eq!(error.to_string(), text);
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        prop_assert!(parse(&bytes).is_err());
        prop_assert!(parse(&file(Kind::ClueKey, &bytes)).is_err());
    }

    #[test]
    fn any_body_of_the_right_length(seed: u64) {
        let len = body_of(&honest().to_bytes(&tiny().clue).unwrap()).len();
        let mut body = noise(seed, len);
        body[0] = 1;
        let bytes = file(Kind::ClueKey, &body);
        match parse(&bytes) {
            Ok(key) => prop_assert_eq!(key.to_bytes(&tiny().clue).unwrap(), bytes),
            Err(error) => assert!(matches!(error, ClueError::Coordinate(_)), "{error}"),
        }
    }
}
