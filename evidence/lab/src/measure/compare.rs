//! Every scheme on one machine: the same messages, one shape of figures.

mod contender;
mod entry;

pub use contender::{Contender, contenders, named};
pub use entry::{ClueKind, Entry, Sizes, Work};

use crate::measure::{BenchError, Machine, PaperBenchError};
use omr_detector::Progress;
use omr_papers::clear::SetError;
use omr_protocol::ParamsError;
use serde::{Deserialize, Serialize};

/// Version of the document.
const FORMAT: &str = "omr compare 1";

/// The document: several schemes side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Version of the document.
    pub format: String,
    /// The commit, or a version where it is not known.
    pub build: String,
    /// Where.
    pub machine: Machine,
    /// Threads in use.
    pub threads: usize,
    /// The work.
    pub work: Work,
    /// One for each scheme that ran.
    pub entries: Vec<Entry>,
    /// Schemes that did not, and why.
    pub failed: Vec<Failed>,
}

/// A scheme that did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Its name.
    pub scheme: String,
    /// Why.
    pub reason: String,
}

/// Why a scheme did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// An unknown scheme, or one that is too weak.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A set of today.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A scheme of today.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// An earlier one.
    #[error(transparent)]
    Earlier(#[from] PaperBenchError),
}

impl Comparison {
    /// Without entries.
    pub fn new(build: &str, machine: Machine, threads: usize, work: Work) -> Self {
        Self {
            format: FORMAT.to_owned(),
            build: build.to_owned(),
            machine,
            threads,
            work,
            entries: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Runs a scheme as often as the work says, each time with the next seed, and adds its entry.
    ///
    /// Errors: a run's.
    pub fn run(
        &mut self,
        contender: &Contender,
        progress: &dyn Progress,
    ) -> Result<(), CompareError> {
        let seeds = (0..self.work.runs).map(|run| self.work.seed.wrapping_add(run.into()));
        let runs = seeds.map(|seed| contender.run(&self.work, seed, progress));
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        self.entries.extend(Entry::of_runs(runs));
        Ok(())
    }

    /// Whether every run of every scheme gave all pertinent messages, bit for bit.
    pub fn is_exact(&self) -> bool {
        self.failed.is_empty() && self.entries.iter().all(|entry| entry.exact == entry.runs)
    }
}
