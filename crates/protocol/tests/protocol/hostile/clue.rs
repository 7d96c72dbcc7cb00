//! Tests of parsing clues from arbitrary bytes.

use crate::hostile::forge::{noise, set_residue, tiny};
use omr_errors::Mismatch;
use omr_protocol::frame::{BitReader, FrameError};
use omr_protocol::{Clue, ClueError, ClueParser};
use proptest::prelude::*;

/// Bits of a posted residue.
const BITS: usize = 21;

/// The modulus of posted residues: half of 4,188,161, rounded up.
const POSTED: u64 = 2_094_081;

fn honest(seed: u64) -> Clue {
    let spec = &tiny().spec().clue;
    let word = |bytes: &[u8]| (u64::from_le_bytes(bytes.try_into().unwrap()) % POSTED) as u32;
    let bytes = noise(seed, 8 * (spec.n + spec.coordinates));
    let mut a: Vec<u32> = bytes.chunks(8).map(word).collect();
    let b = a.split_off(spec.n);
    Clue { a, b }
}

fn parse(bytes: &[u8]) -> Result<Clue, ClueError> {
    Clue::from_bytes(&tiny().clue, bytes)
}

#[test]
fn honest_clues_round_trip() {
    for seed in 0..50 {
        let clue = honest(seed);
        let bytes = clue.to_bytes(&tiny().clue);
        assert_eq!(bytes.len(), Clue::bytes(&tiny().clue));
        assert_eq!(parse(&bytes).unwrap(), clue);
    }
}

#[test]
fn other_lengths_are_refused() {
    let bytes = honest(1).to_bytes(&tiny().clue);
    let wrong = |found: &[u8]| match parse(found) {
        Err(ClueError::Length(Mismatch { expected, found: f })) => {
            assert_eq!((expected, f), (bytes.len(), found.len()));
        }
        other => panic!("{} bytes: {other:?}", found.len()),
    };
    (0..bytes.len()).for_each(|cut| wrong(&bytes[..cut]));
    wrong(&[&bytes[..], &[0]].concat());
    wrong(&[&bytes[..], &bytes[..]].concat());
    let text = parse(&bytes[..7]).unwrap_err().to_string();
    assert_eq!(
        text,
        format!("expected a clue of {} bytes, found 7", bytes.len())
    );
}

/// Clues carry no checksum: a flipped bit leads to an error or to another clue, which is written back as it is.
#[test]
fn a_flipped_bit_is_an_error_or_seen() {
    let clue = honest(2);
    let good = clue.to_bytes(&tiny().clue);
    let padding = 40 + BITS * ClueParser::new(&tiny().clue).residues();
    for bit in 0..8 * good.len() {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        match parse(&bad) {
            Ok(other) => {
                assert!(bit >= 40 && other != clue);
                assert_eq!(other.to_bytes(&tiny().clue), bad);
            }
            Err(ClueError::Kind(Mismatch { found, .. })) => {
                assert_eq!((bit / 8, found), (0, bad[0]))
            }
            Err(ClueError::Params(Mismatch { found, .. })) => {
                assert!((1..5).contains(&(bit / 8)));
                assert_eq!(found, bad[1..5]);
            }
            Err(ClueError::Coordinate(Mismatch {
                expected: modulus,
                found,
            })) => {
                assert!(bit >= 40 && found >= modulus && modulus == POSTED);
            }
            Err(ClueError::Frame(FrameError::Padding)) => assert!(bit >= padding),
            Err(other) => panic!("bit {bit}: {other}"),
        }
    }
}

#[test]
fn every_coordinate_is_reduced() {
    let spec = &tiny().spec().clue;
    for index in 0..spec.n + spec.coordinates {
        for value in [POSTED, POSTED + 1, (1 << BITS) - 1] {
            let mut bytes = honest(3).to_bytes(&tiny().clue);
            set_residue(&mut bytes[5..], index, BITS, value);
            match parse(&bytes) {
                Err(ClueError::Coordinate(Mismatch {
                    expected: POSTED,
                    found,
                })) => assert_eq!(found, value),
                other => panic!("coordinate {index}: {other:?}"),
            }
        }
    }
}

#[test]
fn kinds_and_parameters_are_named() {
    let good = honest(4).to_bytes(&tiny().clue);
    for kind in (0..=255).filter(|&kind| kind != 1) {
        let mut bad = good.clone();
        bad[0] = kind;
        let error = parse(&bad).unwrap_err();
        assert!(matches!(error, ClueError::Kind(Mismatch { expected: 1, found }) if found == kind));
        let named = error.to_string().contains("a bound clue, kind 2");
        assert_eq!(named, kind == 2, "{error}");
    }
    let mut bad = good;
    bad[1..5].copy_from_slice(&[1, 2, 3, 4]);
    let text = parse(&bad).unwrap_err().to_string();
    assert!(
        text.contains("insecure-tiny-v4") && text.contains("[01, 02, 03, 04]"),
        "{text}"
    );
}

#[test]
fn short_and_long_vectors_are_refused() {
    let posted = POSTED as u32;
    let with = |a: Vec<u32>| Clue { a, ..honest(5) };
    let n = tiny().spec().clue.n;
    let ternary = (0..n).map(|i| [0, 1, posted - 1][i % 3]).collect();
    for a in [vec![0; n], vec![1; n], vec![posted - 1; n], ternary] {
        match with(a).check_norm(&tiny().clue) {
            Err(ClueError::Norm { norm, least, .. }) => assert!(norm <= n as f64 && norm < least),
            other => panic!("{other:?}"),
        }
    }
    for a in [vec![posted / 2; n], vec![posted.div_ceil(2); n]] {
        match with(a).check_norm(&tiny().clue) {
            Err(ClueError::Norm { norm, most, .. }) => {
                assert!((1.49..1.51).contains(&(norm / most)))
            }
            other => panic!("{other:?}"),
        }
    }
    for seed in 0..20_000 {
        honest(seed).check_norm(&tiny().clue).unwrap();
    }
}

/// Reads a clue one residue after another and returns the values that the residues stand for.
fn plainly(bytes: &[u8]) -> Result<Vec<u32>, String> {
    let text = |error: ClueError| format!("{error:?}");
    if let Some(&found) = bytes.first().filter(|&&kind| kind != 1) {
        return Err(text(ClueError::Kind(Mismatch::new(1, found))));
    }
    if bytes.len() >= 5 && bytes[1..5] != tiny().clue.tag() {
        let (expected, found) = (tiny().name(), bytes[1..5].try_into().unwrap());
        return Err(text(ClueError::Params(Mismatch::new(expected, found))));
    }
    let (expected, found) = (Clue::bytes(&tiny().clue), bytes.len());
    if expected != found {
        return Err(text(ClueError::Length(Mismatch::new(expected, found))));
    }
    let (mut reader, modulus) = (BitReader::new(&bytes[5..]), POSTED);
    let residues = ClueParser::new(&tiny().clue).residues();
    let words: Vec<u64> = (0..residues)
        .map(|_| reader.take(BITS as u32).unwrap())
        .collect();
    reader.finish().map_err(|error| text(error.into()))?;
    match words.iter().find(|&&x| x >= modulus) {
        Some(&found) => Err(text(ClueError::Coordinate(Mismatch::new(modulus, found)))),
        None => {
            let spec = tiny().clue.spec();
            Ok(words.iter().map(|&x| spec.stands_for(x as u32)).collect())
        }
    }
}

proptest! {
    /// The clues are valid, truncated, of another kind or set, or out of range, and are read with one parser.
    #[test]
    fn the_parser_agrees_with_a_plain_reader(
        seed in 0u64..4,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        head in prop::option::weighted(0.2, (0usize..5, any::<u8>())),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        longer in prop::bool::weighted(0.1),
    ) {
        let mut bytes = honest(seed).to_bytes(&tiny().clue);
        for (place, value) in edits {
            let place = 5 + place.index(bytes.len() - 5);
            bytes[place] = value;
        }
        if let Some((place, value)) = head {
            bytes[place] = value;
        }
        bytes.extend(longer.then_some(0));
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let parser = ClueParser::new(&tiny().clue);
        let mut row = vec![7; parser.residues()];
        let parsed = parser.parse_into(&bytes, &mut row);
        prop_assert_eq!(parsed.map(|()| row).map_err(|error| format!("{error:?}")), plainly(&bytes));
    }

    #[test]
    fn any_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..400), keep in 0usize..=5) {
        let good = honest(6).to_bytes(&tiny().clue);
        let keep = keep.min(bytes.len());
        bytes[..keep].copy_from_slice(&good[..keep]);
        if let Ok(clue) = parse(&bytes) {
            prop_assert_eq!(clue.to_bytes(&tiny().clue), bytes);
        }
    }

    #[test]
    fn any_bytes_of_the_right_length(seed: u64) {
        let mut bytes = honest(7).to_bytes(&tiny().clue);
        let noise = noise(seed, bytes.len() - 5);
        bytes[5..].copy_from_slice(&noise);
        // The unused bits of the last byte.
        let used = BITS * ClueParser::new(&tiny().clue).residues() % 8;
        *bytes.last_mut().unwrap() &= (1 << used) - 1;
        match parse(&bytes) {
            Ok(clue) => prop_assert_eq!(clue.to_bytes(&tiny().clue), bytes),
            Err(error) => assert!(matches!(error, ClueError::Coordinate(_)), "{error}"),
        }
    }
}
