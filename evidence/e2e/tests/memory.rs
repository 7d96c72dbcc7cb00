//! The memory that a detector allocates and frees.
#![cfg(target_os = "linux")]

use chacha20::ChaCha20Rng;
use omr_client::sophomr::keygen;
use omr_detector::Quiet;
use omr_detector::sophomr::Detector;
use omr_lab::measure::Workload;
use omr_protocol::sophomr::{DigestPlan, FinalRingSpec, Params, ParamsSpec};
use omr_protocol::{ClueKind, SEED_BYTES, Sealing};
use omr_ring::{Kernels, fresh_bytes};
use rand_core::SeedableRng;
use std::sync::Arc;

const MIB: usize = 1 << 20;
const MESSAGES: u64 = 64;
const PAYLOAD_BYTES: usize = 16;

/// Returns a set of half the dimension of `sophomr-v5` that is otherwise equal.
fn params() -> Arc<Params> {
    let spec = Params::named("sophomr-v5").unwrap().spec().clone();
    let half = ParamsSpec {
        name: "insecure-half-v1",
        insecure: true,
        n: spec.n / 2,
        small_n: spec.small_n / 2,
        final_ring: FinalRingSpec {
            n: spec.final_ring.n / 2,
            ..spec.final_ring
        },
        weight: spec.weight / 2,
        ..spec
    };
    Arc::new(Params::new(half, Kernels::detect()).unwrap())
}

/// Returns the resident memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<usize>().unwrap() << 10
}

// There is one test, because memory of others at the same time would count.
#[test]
fn the_first_digest_takes_what_digests_need_and_the_last_detector_gives_it_back() {
    let params = params();
    let keys = keygen(&params, ClueKind::Plain, &mut ChaCha20Rng::seed_from_u64(1));
    omr_detector::release_memory();
    let before = resident();
    let detector = Detector::new(params.clone(), keys.detection);
    let taken = resident() - before;
    println!("a detector takes {} MiB", taken / MIB);
    assert!(taken < 32 * MIB, "{taken}");
    detector.take_memory();
    let taken = resident() - before;
    println!("digests take {} MiB", taken / MIB);
    assert!(taken > 384 * MIB, "{taken}");

    let mut board = Workload::new(
        params.clue.clone(),
        keys.clue,
        MESSAGES,
        1,
        PAYLOAD_BYTES,
        2,
    );
    let plan = DigestPlan::new(&params, 0..MESSAGES, 1, Some(PAYLOAD_BYTES)).unwrap();
    let fresh = fresh_bytes();
    let (id, seed) = ([1; 16], [2; SEED_BYTES]);
    let digest = detector.digest(&mut board, &plan, id, Sealing::None, seed, &Quiet);
    digest.unwrap();
    let more = fresh_bytes() - fresh;
    println!("a digest takes {more} bytes more");
    assert!(more < 128 * MIB, "{more}");

    drop(detector);
    let after = resident();
    println!("{} MiB before, {} MiB after", before / MIB, after / MIB);
    assert!(after < before + 32 * MIB, "{before} before, {after} after");
}
