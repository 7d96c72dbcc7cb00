//! Real payloads through the public interface.

use std::collections::HashSet;

use omr_transactions::{MIN_PAYLOAD_BYTES, TransactionsError, real_payloads};
use sha2::{Digest, Sha256};

const BOARD: usize = 65_536;
const CYCLE: usize = 55 + 6 + 205 + 2_500;

#[test]
fn sources_count_what_they_hold() {
    let payloads = real_payloads(612).unwrap();
    let counts: Vec<_> = payloads
        .sources()
        .iter()
        .map(|s| (s.name, s.count))
        .collect();
    let expected = [
        ("zcash sapling outputs", 55),
        ("zcash orchard actions", 6),
        ("zcash transactions", 205),
        ("bitcoin transactions", 2_500),
    ];
    assert_eq!(counts, expected);
    assert_eq!(payloads.cycle(), CYCLE);
}

#[test]
fn a_full_board_of_payloads_is_distinct() {
    for payload_bytes in [MIN_PAYLOAD_BYTES, 612] {
        let payloads = real_payloads(payload_bytes).unwrap();
        let distinct: HashSet<_> = payloads.iter().take(BOARD).collect();
        assert_eq!(distinct.len(), BOARD);
        assert!(
            distinct
                .iter()
                .all(|payload| payload.len() == payload_bytes)
        );
    }
}

#[test]
fn payloads_never_change() {
    let mut hash = Sha256::new();
    for payload in real_payloads(612).unwrap().iter().take(2 * CYCLE) {
        hash.update(payload);
    }
    let digest: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        digest,
        "3a6408c97c20c7b43d0d71d6f3f1f180f177e4d151ab1c115e023071bb036ef2"
    );
}

#[test]
fn later_cycles_replace_only_the_last_eight_bytes() {
    let payloads = real_payloads(1_000).unwrap();
    for i in [0, 60, 265, CYCLE - 1] {
        let (first, third) = (payloads.payload(i), payloads.payload(i + 2 * CYCLE));
        assert_eq!(third[..992], first[..992]);
        assert_eq!(third[992..], ((i + 2 * CYCLE) as u64).to_le_bytes());
    }
}

#[test]
fn short_records_are_padded_with_zeros() {
    let payload = real_payloads(1_000).unwrap().payload(0);
    assert_eq!(payload[612..], [0; 388]);
    assert_eq!(payload[..612], real_payloads(612).unwrap().payload(0));
}

#[test]
fn payloads_below_the_minimum_are_refused() {
    let expected = TransactionsError::PayloadTooShort {
        expected: 64,
        found: 63,
    };
    assert_eq!(real_payloads(63).unwrap_err(), expected);
    assert!(real_payloads(64).is_ok());
}

/// The part of the notebook below `python/notebooks` that the test reads.
const OUTPUTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../python/notebooks/zcash-outputs.bin"
);

#[test]
fn the_notebook_has_the_real_outputs() {
    let payloads = real_payloads(612).unwrap();
    let outputs: usize = payloads.sources()[..2].iter().map(|s| s.count).sum();
    let expected: Vec<u8> = payloads.iter().take(outputs).flatten().collect();
    assert_eq!(std::fs::read(OUTPUTS).unwrap(), expected);
}
