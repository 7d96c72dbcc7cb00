//! The memory that a process needs to make digests, and the number of recipients that fit its memory.

use omr_cuda::Cards;
use omr_detector::memory::{Shape, key_bytes, run_bytes};
use omr_memory::Memory;
use omr_protocol::{ClueKind, EngineKind, ParamSet};
use std::sync::Arc;

/// Properties that determine the memory of making digests.
#[derive(Clone)]
pub struct Needs {
    /// The board's parameter set.
    pub set: Arc<ParamSet>,
    /// The kind of the board's clues.
    pub clues: ClueKind,
    /// Number of threads.
    pub threads: usize,
    /// Number of keys that stay in memory between runs.
    pub keys: usize,
}

impl Needs {
    /// Returns the bytes in use while a run of some engines makes digests for `recipients` recipients over `batches`
    /// batches, including the keys that stay in memory.
    #[must_use]
    pub fn run(&self, engines: &[EngineKind], recipients: usize, batches: u64) -> u64 {
        let shape = Shape {
            recipients,
            batches: batches.max(1),
            threads: self.threads,
        };
        // A set without an engine has no runs of it.
        let works: u64 = engines
            .iter()
            .filter_map(|&engine| run_bytes(&self.set, engine, self.clues, shape).ok())
            .sum();
        let of_one: u64 = engines.iter().map(|&engine| self.key(engine)).sum();
        let kept = self.keys.saturating_sub(recipients * engines.len()) as u64;
        let largest = engines.iter().map(|&engine| self.key(engine)).max();
        let keys = recipients as u64 * of_one + kept * largest.unwrap_or(0);
        works + keys
    }

    /// Returns the bytes of a key in memory; 0 if the set lacks the engine.
    #[must_use]
    pub fn key(&self, engine: EngineKind) -> u64 {
        let file = self.set.key_file_bytes(engine, self.clues);
        file.map_or(0, |bytes| key_bytes(engine, bytes))
    }

    /// Returns the largest number of recipients, at most `most`, for whom a run needs at most `bytes` bytes; 0 if not
    /// even one fits.
    #[must_use]
    pub fn recipients(
        &self,
        engines: &[EngineKind],
        most: usize,
        batches: u64,
        bytes: u64,
    ) -> usize {
        let fits = |&recipients: &usize| self.run(engines, recipients, batches) <= bytes;
        (1..=most).rev().find(fits).unwrap_or(0)
    }
}

/// Returns the bytes that runs may use now in a process that uses `beside` bytes without runs: the memory that is
/// available to it, and the memory that earlier runs have kept for the next. The number is unbounded if the system
/// reports no figures.
#[must_use]
pub fn room(memory: Memory, beside: u64) -> u64 {
    let (Some(used), Some(available)) = (memory.used, memory.available) else {
        return u64::MAX;
    };
    (used + available).saturating_sub(beside)
}

/// Returns whether runs use this machine's memory rather than a card's.
#[must_use]
pub fn works_here(cards: &Cards) -> bool {
    cards.card().is_none()
}

/// Returns a number of bytes in text, as 1.9 GB or 32 MB.
#[must_use]
pub fn in_words(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{:.1} GB", bytes as f64 / 1e9),
        _ => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(set: &str) -> Needs {
        Needs {
            set: Arc::new(ParamSet::named(set).unwrap()),
            clues: ClueKind::Bound,
            threads: 1,
            keys: 1,
        }
    }

    /// The peaks in docs/performance.md, including 0.2 GB of tables that a process has before any run.
    #[test]
    fn predicted_memory_of_full_sets_is_the_measured_memory() {
        let needs = needs("sophomr-v5");
        let sophomr = [EngineKind::Sophomr];
        // The second one is a digest of 500 messages, whose rounds are made together.
        let runs = [(1, 1, 1.64), (1, 1, 1.83), (1, 8, 2.4), (8, 1, 6.1)];
        for (recipients, batches, measured) in runs {
            let run = needs.run(&sophomr, recipients, batches) as f64 / 1e9 + 0.2;
            let share = run / measured;
            assert!((0.95..1.3).contains(&share), "{run} for {measured}");
        }
        let hybrid = Needs {
            keys: 2,
            ..self::needs("hybrid-v4")
        };
        let instant = hybrid.run(&[EngineKind::Instantomr], 1, 1);
        // The second key that stays in memory counts as well.
        assert!((360_000_000..900_000_000).contains(&instant), "{instant}");
    }

    #[test]
    fn as_many_fit_as_there_is_room_for() {
        let needs = needs("insecure-tiny-v4");
        let sophomr = [EngineKind::Sophomr];
        let of = |recipients| needs.run(&sophomr, recipients, 1);
        assert!(of(1) < of(2) && of(2) < of(4));
        assert!(needs.run(&sophomr, 1, 2) > of(1));
        let fitting = |bytes| needs.recipients(&sophomr, 4, 1, bytes);
        assert_eq!(fitting(of(4)), 4);
        assert_eq!(fitting(of(4) - 1), 3);
        assert_eq!(fitting(of(1)), 1);
        assert_eq!(fitting(of(1) - 1), 0);
        assert_eq!(needs.recipients(&sophomr, 2, 1, u64::MAX), 2);
    }

    #[test]
    fn room_is_what_is_left_and_what_runs_hold() {
        let memory = Memory {
            used: Some(50),
            limit: Some(100),
            addresses: false,
            available: Some(30),
        };
        assert_eq!(room(memory, 20), 60);
        assert_eq!(room(memory, 90), 0);
        assert_eq!(room(Memory::default(), 20), u64::MAX);
    }
}
