//! The times of the stages of an answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The parts of an answer, one after another for every few blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The query's ciphertexts become one for each constant.
    Expansion,
    /// The numbers that rows are compared by, and their entries of encrypted truth tables.
    Selections,
    /// The circuit: products, sums, complements.
    Products,
    /// To the small ring.
    Descent,
    /// Powers of nodes times the index.
    Codes,
    /// Rows as symbols, encoded and multiplied with the codes.
    Symbols,
    /// Sums into the ciphertexts of the answer.
    Packing,
}

impl Stage {
    /// All of them in their order.
    pub const ALL: [Self; 7] = [
        Self::Expansion,
        Self::Selections,
        Self::Products,
        Self::Descent,
        Self::Codes,
        Self::Symbols,
        Self::Packing,
    ];

    /// The stage's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expansion => "expansion",
            Self::Selections => "selections",
            Self::Products => "products",
            Self::Descent => "descent",
            Self::Codes => "codes",
            Self::Symbols => "symbols",
            Self::Packing => "packing",
        }
    }
}

/// Time on the wall by stage, added up over blocks.
#[derive(Debug, Default)]
pub struct Times([AtomicU64; Stage::ALL.len()]);

impl Times {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a part of a stage.
    pub fn of<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        let nanos = start.elapsed().as_nanos() as u64;
        self.0[stage as usize].fetch_add(nanos, Ordering::Relaxed);
        done
    }

    /// Seconds of a stage so far.
    pub fn seconds(&self, stage: Stage) -> f64 {
        self.0[stage as usize].load(Ordering::Relaxed) as f64 * 1e-9
    }
}
