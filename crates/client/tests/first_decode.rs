//! Tests that the first decoding in a process needs neither the time nor the memory of the large ring's tables.
#![cfg(target_os = "linux")]

mod common;

use common::{MIB, peak};
use omr_client::{decode, identity, os_rng};
use omr_compress::PackedCiphertext;
use omr_protocol::params::{DEFAULT, SOPHOMR};
use omr_protocol::sophomr::{Digest, DigestPlan};
use omr_protocol::{ClueKind, DigestHeader, ParamSet, Response, Sealing};
use std::time::Instant;

const MESSAGES: u64 = 65_536;

/// Returns a digest of zeros, which has no pertinent messages for any key.
fn empty(set: &ParamSet, key_id: [u8; 16]) -> Vec<u8> {
    let params = set.sophomr_recipient().unwrap();
    let plan = DigestPlan::new(params, 0..MESSAGES, 50, Some(612)).unwrap();
    let plan = plan.for_clues(params, ClueKind::Bound);
    let parts: Vec<Vec<u64>> = (0..plan.parts())
        .map(|part| vec![0; plan.part_len(part)])
        .collect();
    let together = parts.chunks(params.final_shape.parts);
    let ciphertexts = together.map(|parts| PackedCiphertext {
        mask: vec![0; params.final_ring.n()],
        parts: parts.to_vec(),
    });
    let digest = Digest {
        ciphertexts: ciphertexts.collect(),
        header: DigestHeader {
            plan,
            key_id,
            board_id: [1; 16],
            sealing: Sealing::HpkeX25519,
            seed: [2; 32],
        },
    };
    digest.to_bytes(params).unwrap()
}

// This is a single test, because memory of tests that run at the same time would count.
#[test]
fn the_first_digest_needs_no_tables_of_the_large_ring() {
    for name in [SOPHOMR, DEFAULT] {
        let set = ParamSet::named(name).unwrap();
        let (secret, _) = identity(set.clue(), ClueKind::Bound, &mut os_rng());
        let bytes = empty(&set, secret.key_id(omr_protocol::EngineKind::Sophomr));
        drop(set);

        let (before, start) = (peak(), Instant::now());
        let set = ParamSet::named(name).unwrap();
        let decoded = |start: Instant| {
            let response = Response::from_bytes(&set, &bytes).unwrap();
            assert!(decode(&set, &secret, &response).unwrap().is_empty());
            start.elapsed().as_secs_f64() * 1e3
        };
        let first = decoded(start);
        let taken = peak() - before;
        let later = (0..5)
            .map(|_| decoded(Instant::now()))
            .fold(f64::INFINITY, f64::min);
        println!(
            "{name}: {first:.1} ms, {} KiB; later {later:.1} ms",
            taken >> 10
        );
        assert!(taken < 10 * MIB, "{name}: {taken} bytes");
    }
}
