//! Tests of parsing digests from arbitrary bytes.

use crate::hostile::forge::{
    KEY_ID, announcing, body_of, damage_is_refused, file, headers_are_checked, noise, tiny,
};
use omr_errors::Mismatch;
use omr_protocol::frame::{FrameError, Kind};
use omr_protocol::sophomr::{BODY_BITS, Digest, DigestPlan, MASK_BITS};
use omr_protocol::{DigestError, DigestHeader, PackedCiphertext, PlanError, SEED_BYTES, Sealing};
use proptest::prelude::*;

const SCHEME: usize = 0;
const START: usize = 17;
const END: usize = 25;
const BOUND: usize = 33;
const PAYLOAD: usize = 37;
const SEALING: usize = 41;
const SEED: usize = 42;
const FIXED: usize = 74;

fn parse(bytes: &[u8]) -> Result<Digest, DigestError> {
    Digest::from_bytes(tiny(), bytes)
}

/// Returns a digest with random coefficients.
fn of_plan(plan: DigestPlan, seed: u64) -> Digest {
    let words = |seed, count, bits: u32| -> Vec<u64> {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap()) >> (64 - bits);
        noise(seed, 8 * count).chunks(8).map(word).collect()
    };
    let together = tiny().final_shape.parts;
    let ciphertext = |first: usize| {
        let part = |part| {
            let (round, ct) = plan.position(part);
            let count = plan.kept(round, ct).count();
            words(!seed ^ part as u64, count, BODY_BITS)
        };
        let parts = first..(first + together).min(plan.parts());
        PackedCiphertext {
            mask: words(seed ^ first as u64, tiny().final_ring.n(), MASK_BITS),
            parts: parts.map(part).collect(),
        }
    };
    let ciphertexts = (0..plan.parts())
        .step_by(together)
        .map(ciphertext)
        .collect();
    let header = DigestHeader {
        key_id: KEY_ID,
        board_id: [9; 16],
        sealing: Sealing::XWing,
        plan,
        seed: [8; SEED_BYTES],
    };
    Digest {
        header,
        ciphertexts,
    }
}

fn small() -> Vec<u8> {
    let plan = DigestPlan::new(tiny(), 5..105, 2, Some(1)).unwrap();
    of_plan(plan, 1).to_bytes(tiny()).unwrap()
}

#[track_caller]
fn frame_error(bytes: &[u8]) -> FrameError {
    match parse(bytes) {
        Err(DigestError::Frame(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Parses the small digest with some fields replaced and with right checksums.
fn forged(edits: &[(usize, &[u8])]) -> Result<Digest, DigestError> {
    let mut body = body_of(&small()).to_vec();
    for (at, bytes) in edits {
        body[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    parse(&file(Kind::Digest, &body))
}

#[test]
fn damage() {
    let good = small();
    damage_is_refused(&good, frame_error);
    headers_are_checked(&good, 1 << 33, frame_error);
    let truncated = frame_error(&announcing(&good, 1 << 33));
    assert!(matches!(truncated, FrameError::Truncated(_)), "{truncated}");
}

/// Two parts share a mask, over rounds, sets and groups; a single last part has its own mask.
#[test]
fn lengths_of_files() {
    let masks = |count: u64| count * (64 * 29_u64).div_ceil(8);
    let body = |sums: u64| (21 * sums).div_ceil(8);
    // Width 64 in a dimension of 256: 4 symbols in a part.
    for (messages, bound, payload, expected) in [
        (100, 64, None, masks(1) + body(128)),
        (100, 70, None, masks(1) + body(128) + body(12)),
        (100, 150, None, masks(2) + 2 * body(128) + body(44)),
        (100, 50, Some(2), masks(1) + body(200) + body(50)),
        (384 * 2048 + 1, 64, None, masks(1) + 2 * body(128)),
        (2 * 384 * 2048 + 1, 64, None, masks(2) + 3 * body(128)),
    ] {
        let plan = DigestPlan::new(tiny(), 0..messages, bound, payload).unwrap();
        let announced = Digest::file_bytes(&plan, tiny());
        let bytes = of_plan(plan, 3).to_bytes(tiny()).unwrap();
        assert_eq!(bytes.len() as u64, announced);
        assert_eq!(body_of(&bytes).len() as u64, FIXED as u64 + expected);
    }
}

#[test]
fn schemes_and_sealings_are_named() {
    for (found, text) in [
        (
            0,
            "expected the number of a digest's scheme, 1 to 5, found 0",
        ),
        (
            8,
            "expected the number of a digest's scheme, 1 to 5, found 8",
        ),
        (
            255,
            "expected the number of a digest's scheme, 1 to 5, found 255",
        ),
        (
            3,
            "expected a digest of sophomr or sophomd, found one of instantomr",
        ),
        (
            4,
            "expected payloads of 0 bytes in a digest of indices, found 1",
        ),
        (
            5,
            "expected a digest of sophomr or sophomd, found one of hybrid",
        ),
    ] {
        let error = forged(&[(SCHEME, &[found])]).unwrap_err();
        assert_eq!(error.to_string(), text);
        if found > 2 {
            let error = forged(&[(SEALING, &[found])]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("expected sealing tag 0, 1 or 2, found {found}")
            );
        }
    }
    let error = forged(&[(SCHEME, &[2])]).unwrap_err();
    assert!(matches!(error, DigestError::IndexPayload(1)), "{error}");
}

#[test]
fn any_seed_is_a_seed() {
    for byte in [0, 1, 0xff] {
        let digest = forged(&[(SEED, &[byte; SEED_BYTES])]).unwrap();
        assert_eq!(digest.header.seed, [byte; SEED_BYTES]);
    }
}

#[test]
fn absurd_bounds_and_payloads() {
    for found in [0u32, 4097, u32::MAX] {
        match forged(&[(BOUND, &found.to_le_bytes())]) {
            Err(DigestError::Plan(PlanError::Bound(f))) => {
                assert_eq!(f, found as usize);
            }
            other => panic!("{other:?}"),
        }
    }
    for found in [0u32, (1 << 20) + 1, u32::MAX] {
        match forged(&[(PAYLOAD, &found.to_le_bytes())]) {
            Err(DigestError::Plan(PlanError::Payload(f))) => {
                assert_eq!(f, found as usize);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn absurd_ranges() {
    let ranged =
        |start: u64, end: u64| forged(&[(START, &start.to_le_bytes()), (END, &end.to_le_bytes())]);
    for (start, end) in [(0, 0), (u64::MAX, u64::MAX), (7, 3), (u64::MAX, 0)] {
        match ranged(start, end) {
            Err(DigestError::Plan(PlanError::EmptyRange { start: s, end: e })) => {
                assert_eq!((s, e), (start, end));
            }
            other => panic!("{other:?}"),
        }
    }
    for (start, end) in [(0, u64::MAX), (0, (1 << 32) + 1), (1, u64::MAX - 1)] {
        match ranged(start, end) {
            Err(DigestError::Plan(PlanError::LongRange(Mismatch {
                expected: limit,
                found,
            }))) => {
                assert_eq!((limit, found), (1 << 32, end - start));
            }
            other => panic!("{other:?}"),
        }
    }
    // The range at the end of all indices has the same shape: there is no error and no overflow.
    let last = ranged(u64::MAX - 100, u64::MAX).unwrap();
    assert_eq!(last.header.plan.batch(0), u64::MAX - 100..u64::MAX);
}

#[test]
fn shapes_larger_than_the_file() {
    let all: [(usize, &[u8]); 4] = [
        (START, &0u64.to_le_bytes()),
        (END, &(1u64 << 32).to_le_bytes()),
        (BOUND, &4096u32.to_le_bytes()),
        (PAYLOAD, &(1u32 << 20).to_le_bytes()),
    ];
    let body = body_of(&small()).len() as u64;
    for edits in [&all[..2], &all[2..3], &all[3..], &all[..]] {
        match forged(edits) {
            Err(DigestError::Length(Mismatch { expected, found })) => {
                assert!(expected > found && found == body);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn lengths_that_do_not_fit() {
    let good = small();
    let body = body_of(&good);
    for cut in 0..body.len() {
        match parse(&file(Kind::Digest, &body[..cut])) {
            Err(DigestError::Length(Mismatch { expected, found })) => {
                let needed = if cut < FIXED { FIXED } else { body.len() };
                assert_eq!((expected, found), (needed as u64, cut as u64));
            }
            other => panic!("{cut} bytes: {other:?}"),
        }
    }
    let longer = parse(&file(Kind::Digest, &[body, &[0]].concat()));
    assert!(matches!(longer, Err(DigestError::Length(_))));
}

#[test]
fn unused_bits_are_zero() {
    // 10 sums of 21 bits leave 6 bits of their last byte.
    let at = body_of(&small()).len() - 1;
    let last = body_of(&small())[at];
    for bit in 2..8 {
        match forged(&[(at, &[last | 1 << bit])]) {
            Err(DigestError::Frame(FrameError::Padding)) => {}
            other => panic!("bit {bit}: {other:?}"),
        }
    }
    assert!(forged(&[(at, &[last ^ 1])]).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn digests_round_trip(
        start: u64,
        messages in 1u64..3_000_000,
        bound in 1usize..150,
        payload in prop::option::of(1usize..100),
        seed: u64,
    ) {
        let start = start.min(u64::MAX - messages);
        let plan = DigestPlan::new(tiny(), start..start + messages, bound, payload).unwrap();
        let digest = of_plan(plan, seed);
        let bytes = digest.to_bytes(tiny()).unwrap();
        prop_assert_eq!(parse(&bytes).unwrap(), digest);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(parse(&bytes).is_err());
        prop_assert!(parse(&file(Kind::Digest, &bytes)).is_err());
    }

    /// The header has random fields: if it parses, the digest is written back as it was.
    #[test]
    fn any_header(fields in prop::collection::vec(any::<u8>(), FIXED), scheme in 1u8..3) {
        let mut body = body_of(&small()).to_vec();
        body[..FIXED].copy_from_slice(&fields);
        body[SCHEME] = scheme;
        let bytes = file(Kind::Digest, &body);
        if let Ok(digest) = parse(&bytes) {
            prop_assert_eq!(digest.to_bytes(tiny()).unwrap(), bytes);
        }
    }
}
