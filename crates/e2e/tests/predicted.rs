//! The memory that runs take against what is predicted of it.
#![cfg(target_os = "linux")]

use chacha20::ChaCha20Rng;
use omr_client::sophomr::keygen_in_epoch;
use omr_detector::Quiet;
use omr_detector::sophomr::{Detector, digests};
use omr_lab::measure::Workload;
use omr_protocol::sophomr::{DetectionKey, DigestPlan, Epoch};
use omr_protocol::{ClueKind, EngineKind, ParamSet, SEED_BYTES, Sealing};
use omr_work::Needs;
use rand_core::SeedableRng;
use std::sync::Arc;

const BOARD: [u8; 16] = [1; 16];
const PAYLOAD_BYTES: usize = 612;

/// A figure of this process in bytes.
fn figure(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() << 10
}

/// Bytes that a run takes at its peak, the keys among them, which are read for it.
fn measured(set: &ParamSet, recipients: u64, batches: u64) -> u64 {
    let params = set.sophomr().unwrap();
    let epoch = Epoch {
        board: BOARD,
        number: 1,
    };
    let (mut files, mut clue_key) = (Vec::new(), None);
    for seed in 0..recipients {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let keys = keygen_in_epoch(params, ClueKind::Bound, &epoch, &mut rng);
        let mut file = Vec::new();
        keys.detection.write(params, &mut file).unwrap();
        files.push(file);
        clue_key.get_or_insert(keys.clue);
    }
    let messages = batches * params.slots() as u64;
    let clue = params.clue.clone();
    let mut board = Workload::new(clue, clue_key.unwrap(), messages, 5, PAYLOAD_BYTES, 2);
    let plan = DigestPlan::new(params, 0..messages, 5, Some(PAYLOAD_BYTES)).unwrap();
    omr_detector::release_memory();
    // The peak begins anew.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = figure("VmRSS:");
    let load = |file: &Vec<u8>| {
        let key = DetectionKey::read(params, &file[..]).unwrap();
        Detector::new(params.clone(), key)
    };
    let detectors: Vec<Detector> = files.iter().map(load).collect();
    let detectors: Vec<&Detector> = detectors.iter().collect();
    let seed = [2; SEED_BYTES];
    let made = digests(
        &detectors,
        &mut board,
        &plan,
        BOARD,
        Sealing::None,
        seed,
        &Quiet,
    );
    assert_eq!(made.unwrap().len() as u64, recipients);
    figure("VmHWM:") - before
}

// One test: what others take at the same time would count.
#[test]
fn runs_take_no_more_than_predicted_and_not_much_less() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build_global()
        .unwrap();
    for set in ["insecure-tiny-v3", "insecure-tiny-v4"] {
        let needs = Needs {
            set: Arc::new(ParamSet::named(set).unwrap()),
            clues: ClueKind::Bound,
            threads: 2,
            cache_bytes: 0,
            keys: 0,
        };
        for (recipients, batches) in [(1, 1), (4, 1), (1, 3)] {
            let found = measured(&needs.set, recipients, batches);
            let expected = needs.run(&[EngineKind::Sophomr], recipients as usize, batches);
            println!("{set}, {recipients}, {batches}: predicted {expected}, measured {found}");
            // What earlier ones took from the allocator is there for later ones.
            assert!(found < expected * 5 / 4, "{found} of {expected}");
            assert!(found > expected / 4, "{found} of {expected}");
        }
    }
}
