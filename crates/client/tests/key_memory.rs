//! Tests of the memory for making detection keys: with the tables of the large ring, about that of one file.
#![cfg(target_os = "linux")]

mod common;

use common::{MIB, peak};
use omr_client::{identity, os_rng, write_detection_key};
use omr_protocol::params::DEFAULT;
use omr_protocol::{ClueKind, EngineKind, ParamSet};
use std::io::Write;

const MOST: usize = 150 * MIB;

/// A writer that counts bytes.
#[derive(Default)]
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

// This is a single test, because memory of tests that run at the same time would count.
#[test]
fn keys_are_made_in_little_memory() {
    for engine in [EngineKind::Instantomr, EngineKind::Sophomr] {
        let set = ParamSet::named(DEFAULT).unwrap();
        let (secret, _) = identity(set.clue(), ClueKind::Bound, &mut os_rng());
        let mut file = Counter::default();
        write_detection_key(&set, engine, &secret, None, &mut os_rng(), &mut file).unwrap();
        let expected = set.key_file_bytes(engine, ClueKind::Bound).unwrap();
        assert_eq!(file.0, expected, "{engine}");
        let taken = peak();
        println!("{engine}: {} MiB", taken / MIB);
        assert!(taken < MOST, "{engine}: {taken} bytes");
    }
}
