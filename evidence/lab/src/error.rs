//! Errors of the lab's commands.

use crate::measure::compare::CompareError;
use crate::measure::pdq::PdqBenchError;
use crate::measure::set_file::SetFileError;
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

/// A benchmark, trial, comparison or search failed, or found an unexpected result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A file, standard output or the threads failed.
    #[error(transparent)]
    Console(#[from] ConsoleError),
    /// The parameters are unknown or impossible.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A paper's scheme has no set with this name.
    #[error(transparent)]
    Set(#[from] omr_papers::clear::SetError),
    /// A parameter set cannot be read.
    #[error(transparent)]
    SetFile(#[from] SetFileError),
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
    /// A compared scheme or its set failed.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// A trial failed, or found a broken promise.
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
        /// The number of messages sent.
        expected: usize,
        /// The number of messages that were returned bit for bit.
        exact: usize,
        /// The number of other recipients' messages.
        false_positives: usize,
    },
    /// Digests or fetches of a benchmark contained other messages than they should.
    #[error("{exact} of {results} results are exact")]
    InexactResults {
        /// The number of exact results.
        exact: u64,
        /// The number of all results.
        results: u64,
    },
    /// Answers to private queries differ from another database's.
    #[error("{different} of {questions} questions have other rows or values")]
    Differs {
        /// The number of questions with different answers.
        different: usize,
        /// The number of all questions.
        questions: usize,
    },
    /// The number of schemes that did not run.
    #[error("{0} schemes did not run")]
    NotCompared(usize),
    /// No paper has this name.
    #[error("expected one of the papers {}, found {:?}", .0.expected, .0.found)]
    Paper(Mismatch<String>),
    /// No compared set serves a scheme.
    #[error("expected one of the schemes of the sets, {}, found {}", .0.expected, .0.found)]
    NotServed(Mismatch<String>),
    /// Several recipients were requested for a scheme that serves each alone.
    #[error(
        "--recipients is for sophomr and sophomd: InstantOMR shares no work between recipients"
    )]
    Recipients,
    /// A replay would have no messages, or too many.
    #[error("expected --rate and --seconds above 0, and at most 100 million messages")]
    Rate,
    /// A soak test has more pertinent messages than its bound.
    #[error("expected at most {} pertinent messages, the bound, found {}", .0.expected, .0.found)]
    SoakBound(Mismatch<usize>),
    /// There are more pertinent messages than messages.
    #[error("expected at most {} pertinent messages, as many as messages, found {}", .0.expected, .0.found)]
    Pertinent(Mismatch<u64, usize>),
    /// Two documents of benchmarks cannot be compared.
    #[error(transparent)]
    Incomparable(#[from] Incomparable),
    /// A benchmark does not print the figure that is to be drawn.
    #[error("expected a figure of the benchmark, one of {expected}, found {found:?}")]
    Figure {
        /// The names of the benchmark's figures.
        expected: String,
        /// The name that was given.
        found: String,
    },
    /// Two builds could not be compared.
    #[error(transparent)]
    Builds(#[from] BuildError),
    /// A file is not a document of `omr-lab bench all`.
    #[error("{}: expected a document of `omr-lab bench all --json`", .0.display())]
    Report(PathBuf, #[source] serde_json::Error),
    /// A file does not contain questions that another database answered.
    #[error("{}: expected questions as reference/pdq_oracle.py answers them", .0.display())]
    Questions(PathBuf, #[source] serde_json::Error),
    /// A file does not contain valid cycles of blocks.
    #[error("{}", .0.display())]
    Cycles(PathBuf, #[source] FpgaError),
    /// The model of an FPGA does not support a set or a design.
    #[error(transparent)]
    Fpga(#[from] FpgaError),
    /// The costs of this machine could not be read.
    #[error("{}", .0.display())]
    Unread(PathBuf, #[source] io::Error),
    /// A file does not contain costs that a benchmark saved.
    #[error(
        "{}: expected costs of {expected:?} as the option --save of this bench writes them, found others",
        path.display()
    )]
    Sizing {
        /// The path of the file.
        path: PathBuf,
        /// The parameter set of the benchmark.
        expected: String,
    },
    /// The costs have no yardstick to scale by.
    #[error("{}: expected costs with a yardstick, and one above 0 for the machine asked about: measure with a \
         build that has the feature `yardstick`",
        .0.display())]
    NoYardstick(PathBuf),
}

impl LabError {
    /// Returns the kind of the error as an exit code.
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
            Self::Pertinent(_)
            | Self::SoakBound(_)
            | Self::Figure { .. }
            | Self::NotServed(_)
            | Self::Paper(_) => Code::Usage,
            Self::SetFile(_)
            | Self::Bench(BenchError::Set(_))
            | Self::Compare(CompareError::File(_))
            | Self::Board(..)
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
