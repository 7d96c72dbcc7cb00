//! Why a command of the lab failed.

use crate::measure::compare::CompareError;
use crate::measure::pdq::PdqBenchError;
use crate::measure::{BenchError, BuildError, Incomparable};
use crate::trials::TrialError;
use omr_client::DecodeError;
use omr_console::{Code, ConsoleError};
use omr_fpga::FpgaError;
use omr_protocol::Mismatch;
use omr_protocol::{ParamsError, PlanError};
use omr_store::StoreError;
use std::io;
use std::path::PathBuf;

/// Why a benchmark, a trial, a comparison or a search failed, or what it found that should not be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A file, standard output or the threads.
    #[error(transparent)]
    Console(#[from] ConsoleError),
    /// Unknown or impossible parameters.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// No such set of a scheme of a paper.
    #[error(transparent)]
    Set(#[from] omr_papers::clear::SetError),
    /// A digest of this shape cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Threads for one part of a benchmark could not be started.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// A benchmark failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A benchmark of private queries failed.
    #[error(transparent)]
    PdqBench(#[from] PdqBenchError),
    /// A scheme that is compared, or its set.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// A trial failed, or found what should not be.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The board that is posted to failed.
    #[error("{}", .0.display())]
    Board(PathBuf, #[source] StoreError),
    /// A benchmark retrieved other messages than were sent.
    #[error(
        "retrieved {exact} of {expected} messages bit for bit, with {false_positives} false positives"
    )]
    Inexact {
        /// Messages sent.
        expected: usize,
        /// Messages that came out bit for bit.
        exact: usize,
        /// Messages of others.
        false_positives: usize,
    },
    /// Digests of a benchmark held other messages than they should.
    #[error("{exact} of {digests} digests are exact")]
    InexactDigests {
        /// Exact digests.
        exact: u64,
        /// All digests.
        digests: u64,
    },
    /// Private queries with other answers than another database's.
    #[error("{different} of {questions} questions have other rows or values")]
    Differs {
        /// How many.
        different: usize,
        /// Of so many.
        questions: usize,
    },
    /// How many schemes did not run.
    #[error("{0} schemes did not run")]
    NotCompared(usize),
    /// Several recipients for a scheme that serves each alone.
    #[error(
        "--recipients is for sophomr and sophomd: InstantOMR shares no work between recipients"
    )]
    Recipients,
    /// A replay of no or too many messages.
    #[error("expected --rate and --seconds above 0, and at most 100 million messages")]
    Rate,
    /// A soak with more pertinent messages than its bound.
    #[error("expected at most {} pertinent messages, the bound, found {}", .0.expected, .0.found)]
    SoakBound(Mismatch<usize>),
    /// More pertinent messages than messages.
    #[error("expected at most {} pertinent messages, as many as messages, found {}", .0.expected, .0.found)]
    Pertinent(Mismatch<u64, usize>),
    /// Two documents of benchmarks do not compare.
    #[error(transparent)]
    Incomparable(#[from] Incomparable),
    /// Two builds were not compared.
    #[error(transparent)]
    Builds(#[from] BuildError),
    /// Not a document of `omr-lab bench all`.
    #[error("{}: expected a document of `omr-lab bench all --json`", .0.display())]
    Report(PathBuf, #[source] serde_json::Error),
    /// Not questions that another database answered.
    #[error("{}: expected questions as reference/pdq_oracle.py answers them", .0.display())]
    Questions(PathBuf, #[source] serde_json::Error),
    /// Cycles of blocks that do not read.
    #[error("{}", .0.display())]
    Cycles(PathBuf, #[source] FpgaError),
    /// A set or a design that the model of an FPGA does not take.
    #[error(transparent)]
    Fpga(#[from] FpgaError),
    /// Costs of this machine that could not be read.
    #[error("{}", .0.display())]
    Unread(PathBuf, #[source] io::Error),
    /// Not what a bench saves of costs.
    #[error(
        "{}: expected costs of {expected:?} as the option --save of this bench writes them, found others",
        path.display()
    )]
    Sizing {
        /// The file.
        path: PathBuf,
        /// The parameter set asked about.
        expected: String,
    },
    /// This file has no yardstick to scale by.
    #[error("{}: expected costs with a yardstick, and one above 0 for the machine asked about: measure with a \
         build that has the feature `yardstick`",
        .0.display())]
    NoYardstick(PathBuf),
}

impl LabError {
    /// What kind of error it is, and so the exit code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Console(error) => error.code(),
            Self::Bench(BenchError::Decode(error)) => match error {
                DecodeError::Overflow { .. } => Code::Overflow,
                _ => Code::Damaged,
            },
            Self::Fpga(
                FpgaError::PrimeBits { .. }
                | FpgaError::Ring { .. }
                | FpgaError::Limit { .. }
                | FpgaError::Part { .. },
            ) => Code::Usage,
            Self::Pertinent(_) | Self::SoakBound(_) => Code::Usage,
            Self::Board(..)
            | Self::Report(..)
            | Self::Questions(..)
            | Self::Unread(..)
            | Self::Cycles(..)
            | Self::Sizing { .. }
            | Self::NoYardstick(_) => Code::Input,
            _ => Code::Failure,
        }
    }
}
