//! Secret key files that are damaged, forged, or of other kinds.

use crate::world::{World, tiny};
use omr_client::{SecretKey, SecretKeyError};
use omr_protocol::Mismatch;
use omr_protocol::frame::{FrameError, FrameHeader, FramePart, Kind, write_frame_vec};
use proptest::prelude::*;

/// The position of the clue secret, after the two names.
const CLUE: usize = 32;

fn good() -> Vec<u8> {
    World::shared()
        .secret
        .to_bytes(&tiny().clue)
        .unwrap()
        .to_vec()
}

fn header() -> FrameHeader {
    FrameHeader::new(
        Kind::SecretKey,
        tiny().name(),
        World::shared().secret.address_id,
    )
}

fn body() -> Vec<u8> {
    let good = good();
    let start = header().file_len(0) as usize - 32;
    good[start..good.len() - 32].to_vec()
}

fn forged(body: &[u8]) -> Vec<u8> {
    write_frame_vec(&header(), body).unwrap()
}

fn parse(bytes: &[u8]) -> Result<SecretKey, SecretKeyError> {
    SecretKey::from_bytes(&tiny().clue, bytes)
}

#[track_caller]
fn refused(bytes: &[u8]) -> SecretKeyError {
    parse(bytes).err().expect("a bad key")
}

#[test]
fn keys_round_trip() {
    assert_eq!(forged(&body()), good());
    let key = parse(&good()).unwrap();
    assert_eq!(*key.to_bytes(&tiny().clue).unwrap(), good());
    assert_eq!(key.detection_id, World::shared().secret.detection_id);
}

#[test]
fn every_truncation_is_refused() {
    let good = good();
    for cut in 0..good.len() {
        match refused(&good[..cut]) {
            SecretKeyError::Frame(FrameError::Truncated(Mismatch { expected, found })) => {
                assert!(found == cut as u64 && expected > found);
            }
            error => panic!("cut at {cut}: {error}"),
        }
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let (mut bad, head) = (good(), good().len() - body().len() - 32);
    for bit in 0..8 * bad.len() {
        bad[bit / 8] ^= 1 << (bit % 8);
        let error = refused(&bad);
        if bit / 8 >= head {
            let sum = FrameError::Checksum(FramePart::Body);
            assert_eq!(error.to_string(), sum.to_string(), "bit {bit}");
        }
        bad[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn lengths_that_do_not_fit() {
    let body = body();
    let longer = [&body[..], &[0]].concat();
    let shorter = (0..body.len()).map(|cut| body[..cut].to_vec());
    for wrong in shorter.chain([longer]) {
        match refused(&forged(&wrong)) {
            SecretKeyError::Length(Mismatch { expected, found }) => {
                assert_eq!((expected, found), (body.len(), wrong.len()));
            }
            error => panic!("{} bytes: {error}", wrong.len()),
        }
    }
}

#[test]
fn other_files_are_named() {
    let file = |kind, params_id: &str| {
        let header = FrameHeader {
            kind,
            params_id: params_id.into(),
            ..header()
        };
        write_frame_vec(&header, &body()).unwrap()
    };
    let error = refused(&file(Kind::ClueKey, tiny().name()));
    assert_eq!(error.to_string(), "expected a secret key, found a clue key");
    let error = refused(&file(Kind::SecretKey, "sophomr-v5"));
    let text = "expected parameter set insecure-tiny-v4, found sophomr-v5";
    assert_eq!(error.to_string(), text);
    let large = write_frame_vec(&header(), &vec![0; (1 << 20) + 1]).unwrap();
    let error = refused(&large);
    assert!(matches!(
        error,
        SecretKeyError::Frame(FrameError::TooLarge(Mismatch {
            expected: 0x10_0000,
            found: 0x10_0001
        }))
    ));
}

#[test]
fn the_two_names_agree() {
    let mut body = body();
    body[0] ^= 1;
    match refused(&forged(&body)) {
        SecretKeyError::Frame(FrameError::KeyId(Mismatch { expected, found })) => {
            assert_eq!((&expected[..], found), (&body[..16], header().key_id));
        }
        error => panic!("{error}"),
    }
}

/// Writes coefficients with two bits each: 0, 1, 2 for -1, 0, 1; 3 is invalid.
#[test]
fn secrets_are_ternary() {
    let n = tiny().spec().clue.n;
    for index in 0..n {
        let mut body = body();
        body[CLUE + index / 4] |= 3 << (index % 4 * 2);
        assert!(
            matches!(refused(&forged(&body)), SecretKeyError::Coefficients),
            "{index}"
        );
    }
}

#[test]
fn the_clue_secret_has_its_weight() {
    let bytes = tiny().spec().clue.n / 4;
    // All zero, all one, and one coefficient more or fewer.
    for fill in [0b01_01_01_01, 0b10_10_10_10] {
        let mut body = body();
        body[CLUE..CLUE + bytes].fill(fill);
        assert!(matches!(
            refused(&forged(&body)),
            SecretKeyError::Coefficients
        ));
    }
    for index in 0..4 * bytes {
        let mut body = body();
        let (at, shift) = (CLUE + index / 4, index % 4 * 2);
        let old = body[at] >> shift & 3;
        let new = if old == 1 { 2 } else { 1 };
        body[at] ^= (old ^ new) << shift;
        assert!(
            matches!(refused(&forged(&body)), SecretKeyError::Coefficients),
            "{index}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..1000)) {
        prop_assert!(parse(&bytes).is_err());
        prop_assert!(parse(&forged(&bytes)).is_err());
    }

    /// Random secrets of the right length are refused: none has the right weight by chance.
    #[test]
    fn any_body(noise in prop::collection::vec(any::<u8>(), body().len() - CLUE)) {
        let bytes = forged(&[&body()[..CLUE], &noise].concat());
        prop_assert!(matches!(refused(&bytes), SecretKeyError::Coefficients));
    }
}
