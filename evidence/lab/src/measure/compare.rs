//! A comparison of every scheme on one machine, with equal messages and equal figures.

mod contender;
mod entry;

pub use contender::{Contender, contenders, named, of_set};
pub use entry::{ClueKind, Entry, Sizes, Work};

use crate::measure::set_file::SetFileError;
use crate::measure::{BenchError, Machine, PaperBenchError};
use omr_detector::Progress;
use omr_papers::clear::SetError;
use omr_protocol::ParamsError;
use serde::{Deserialize, Serialize};

/// The version of the document.
const FORMAT: &str = "omr compare 1";

/// The document: several schemes side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The version of the document.
    pub format: String,
    /// The commit of the build, or its version if the commit is unknown.
    pub build: String,
    /// The machine.
    pub machine: Machine,
    /// The number of threads in use.
    pub threads: usize,
    /// The work.
    pub work: Work,
    /// One entry for each scheme that ran.
    pub entries: Vec<Entry>,
    /// The schemes that failed, with reasons.
    pub failed: Vec<Failed>,
}

/// A scheme that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The name of the scheme.
    pub scheme: String,
    /// The reason.
    pub reason: String,
}

/// A scheme cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The scheme is unknown or too weak.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The parameter set of a scheme of the product is invalid.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A parameter set of the product cannot be read.
    #[error(transparent)]
    File(#[from] SetFileError),
    /// A scheme of the product failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A scheme of a paper failed.
    #[error(transparent)]
    Paper(#[from] PaperBenchError),
}

impl Comparison {
    /// Returns a document without entries.
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

    /// Runs a scheme as often as the work requires, each time with the next seed, and adds its entry.
    ///
    /// Errors: those of a run.
    pub fn run(
        &mut self,
        contender: &Contender,
        progress: &dyn Progress,
    ) -> Result<(), CompareError> {
        let seeds = (0..self.work.runs).map(|run| self.work.seed.wrapping_add(run.into()));
        let runs = seeds
            .map(|seed| contender.run(&self.work, seed, progress))
            .collect::<Result<Vec<_>, _>>()?;
        self.entries.extend(Entry::of_runs(runs));
        Ok(())
    }

    /// Returns the name of an entry among the others: its scheme, and its parameter set if another entry has the scheme,
    /// too.
    pub fn name(&self, entry: &Entry) -> String {
        let same = |other: &&Entry| other.scheme == entry.scheme;
        match self.entries.iter().filter(same).count() {
            1 => entry.scheme.clone(),
            _ => format!("{} {}", entry.scheme, entry.params),
        }
    }

    /// Returns whether every run of every scheme returned all pertinent messages, bit for bit.
    pub fn is_exact(&self) -> bool {
        self.failed.is_empty() && self.entries.iter().all(|entry| entry.exact == entry.runs)
    }
}
