//! The bytes that the documentation of `format.rs` defines, written out by hand.

use crate::format::{History, Layout, State, decode_config, encode_config, open_row, seal_row};
use crate::store::frames::{header, push_frame};
use crate::store::sealed;
use crate::{BoardConfig, Clues};

/// Computes the CRC-32C one bit at a time.
fn crc(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x1EDC_6F41u32.reverse_bits() & (crc & 1).wrapping_neg());
        }
    }
    (!crc).to_le_bytes()
}

fn config() -> BoardConfig {
    BoardConfig {
        board_id: *b"0123456789abcdef",
        params_id: "toy".into(),
        sealing: "no".into(),
        clue_bytes: 3,
        payload_bytes: 2,
        clues: Clues::Plain,
    }
}

#[test]
fn a_segment() {
    let layout = Layout::new(&config());
    let mut records = Vec::new();
    layout.push_record(5, &[1, 2, 3], &[4, 5], &mut records);
    let mut input = b"0123456789abcdef".to_vec();
    input.extend([5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5]);
    assert_eq!(records, [&[1, 2, 3, 4, 5][..], &crc(&input)].concat());
    let (segment, bytes) = sealed::build(&layout, &config().board_id, 5, &records);
    let mut expected = b"omr-seg\n\x01\0\0\x000123456789abcdef".to_vec();
    expected.extend([
        5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0,
    ]);
    expected.extend(crc(&expected));
    assert_eq!(expected.len(), 56);
    expected.extend(records);
    let hash = blake3::hash(&expected);
    expected.extend(hash.as_bytes());
    assert_eq!(bytes, expected);
    assert_eq!(
        segment.name(),
        format!("segments/00000000000000000005-{}.seg", hash.to_hex())
    );
    assert_eq!(
        (segment.first, segment.count, segment.bytes),
        (5, 1, 56 + 9 + 32)
    );
}

#[test]
fn a_row() {
    let seed = Layout::new(&config()).seed;
    let row = seal_row(seed, "keys", &[9, 8], &[1, 2, 3]);
    let input = b"0123456789abcdef\x04\0\0\0keys\x02\0\0\0\x09\x08\x01\x02\x03";
    assert_eq!(row, [&[1, 2, 3][..], &crc(input)].concat());
    assert_eq!(open_row(seed, "keys", &[9, 8], &row).unwrap(), [1, 2, 3]);
    for bit in 0..row.len() * 8 {
        let mut flipped = row.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        open_row(seed, "keys", &[9, 8], &flipped).unwrap_err();
    }
    open_row(seed, "key", &[9, 8], &row).unwrap_err();
    open_row(seed, "keys", &[9], &row).unwrap_err();
    open_row(seed, "keys", &[9, 8], &row[..3]).unwrap_err();
}

#[test]
fn configuration_and_state() {
    let bytes = encode_config(&config());
    let mut expected = b"0123456789abcdef\x03\0\0\0\x02\0\0\0\x03toy\x02no\x01".to_vec();
    expected.extend(crc(&expected));
    assert_eq!(bytes, expected);
    let mut without_kind = expected[..expected.len() - 5].to_vec();
    without_kind.extend(crc(&without_kind));
    assert_eq!(decode_config(&without_kind), None);
    let bound = BoardConfig {
        clues: Clues::Bound,
        clue_bytes: 100,
        ..config()
    };
    let bytes = encode_config(&bound);
    assert_eq!(bytes[bytes.len() - 5], 2);
    assert_eq!(decode_config(&bytes), Some(bound));
    let bytes = encode_config(&config());
    assert_eq!(decode_config(&bytes), Some(config()));
    for len in 0..bytes.len() {
        assert_eq!(decode_config(&bytes[..len]), None);
    }
    let state = State {
        sequence: 1,
        len: 4,
        sealed: 3,
        clock: 9,
        first: 2,
        base: [5; 32],
        head: [6; 32],
    };
    let hashes = [[5; 32], [6; 32]].concat();
    let row = |numbers: [u64; 5]| [numbers.map(u64::to_le_bytes).concat(), hashes.clone()].concat();
    let expected = row([1, 4, 3, 9, 2]);
    assert_eq!(state.encode(), expected);
    assert_eq!(State::decode(&expected).unwrap(), state);
    for wrong in [[1, 3, 4, 9, 0], [1, 4, 3, 9, 4]] {
        State::decode(&row(wrong)).unwrap_err();
    }
    for len in 0..expected.len() {
        State::decode(&expected[..len]).unwrap_err();
    }
    let history = History::first(&config());
    let restored = History {
        id: [7; 16],
        start: state.len,
        sequence: state.sequence,
    };
    let bytes = History::encode_all(&[history, restored]);
    let mut expected = [&b"0123456789abcdef"[..], &[0; 16], &[7; 16]].concat();
    expected.extend([4u64, 1].map(u64::to_le_bytes).as_flattened());
    assert_eq!(bytes, expected);
    let decoded = History::decode_all(&bytes).unwrap();
    assert_eq!(History::encode_all(&decoded), bytes);
    for len in (0..bytes.len()).filter(|len| *len != 32) {
        History::decode_all(&bytes[..len]).unwrap_err();
    }
}

#[test]
fn a_row_of_a_segment() {
    let layout = Layout::new(&config());
    let mut records = Vec::new();
    layout.push_record(5, &[1, 2, 3], &[4, 5], &mut records);
    let (segment, _) = sealed::build(&layout, &config().board_id, 5, &records);
    let mut expected = [1u64, 97].map(u64::to_le_bytes).concat();
    expected.extend(segment.hash);
    // A row made again from its object has no time.
    assert_eq!(segment.encode(), expected);
    let key = 5u64.to_be_bytes();
    assert_eq!(crate::Segment::decode(&key, &expected).unwrap(), segment);
    let timed = crate::Segment {
        sealed_at: Some(9),
        ..segment
    };
    expected.extend(9u64.to_le_bytes());
    assert_eq!(timed.encode(), expected);
    assert_eq!(crate::Segment::decode(&key, &expected).unwrap(), timed);
    for len in (0..expected.len()).filter(|len| *len != 48) {
        crate::Segment::decode(&key, &expected[..len]).unwrap_err();
    }
}

#[test]
fn a_frame() {
    assert_eq!(header(), b"omr-bak\n\x01\0\0\0");
    let mut frame = Vec::new();
    push_frame(16, &[7], &[1, 2], &mut frame);
    let mut expected = vec![16, 1, 0, 0, 0, 2, 0, 0, 0, 7, 1, 2];
    expected.extend(crc(&expected));
    assert_eq!(frame, expected);
}
