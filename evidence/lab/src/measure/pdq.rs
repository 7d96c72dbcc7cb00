//! Private database queries: against DuckDB's answers, compression alone, and a whole query.

mod compression;
mod oracle;
mod questions;
mod tables;
mod whole;

pub use compression::{CompressBench, CompressFigures};
use omr_protocol::Mismatch;
pub use oracle::{Outcome, Verdict, ask};
pub use questions::{Answered, Question, Random, Typed, questions};
pub use tables::{read_tables, typed};
pub use whole::{QueryBench, QueryFigures};

pub use omr_pdq::plan::MAX_BOUND;
pub use omr_pdq::{Params, Quiet};

use chacha20::ChaCha20Rng;
use clap::builder::RangedU64ValueParser;
use omr_pdq::{EvaluationKey, SecretKey};
use rand_core::SeedableRng;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of an answer: as many as its plan may hold.
pub(crate) fn bound() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_BOUND as u64)
}

/// Rows of a table.
pub(crate) fn rows() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1 << 30)
}

/// Published sets. Errors: `Params`.
pub fn named(names: &[String]) -> Result<Vec<Arc<Params>>, PdqBenchError> {
    let named = names.iter().map(|name| Ok(Params::named(name)?));
    named.collect()
}

/// Keys that follow from a seed: for benchmarks alone.
pub fn keys(params: &Params, seed: u64) -> (SecretKey, EvaluationKey) {
    SecretKey::generate(params, &mut ChaCha20Rng::seed_from_u64(seed))
}

/// Why a benchmark of private queries failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PdqBenchError {
    /// The system refused.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, #[source] std::io::Error),
    /// A file that is no table.
    #[error("{}: {}", .0.display(), .1)]
    Import(PathBuf, #[source] omr_table::ImportError),
    /// A question about a table that is not there, or whose types are others than when it was asked.
    #[error("expected a table {} with the types that its questions were made for, found {}", .0.expected, .0.found)]
    Table(Mismatch<String>),
    /// A query that no table has.
    #[error("{sql}: {source}")]
    Sql {
        /// The query.
        sql: String,
        /// Why.
        source: omr_table::QueryError,
    },
    /// Too few random questions of the size wanted.
    #[error("expected {} random questions, found {} in a hundred draws each", .0.expected, .0.found)]
    TooFew(Mismatch<usize>),
    /// Unknown parameters.
    #[error(transparent)]
    Params(#[from] omr_pdq::ParamsError),
    /// A query that the parameters cannot answer.
    #[error(transparent)]
    Plan(#[from] omr_pdq::PlanError),
    /// A query's file.
    #[error(transparent)]
    Query(#[from] omr_pdq::QueryFileError),
    /// The server.
    #[error(transparent)]
    Server(#[from] omr_pdq::ServerError),
    /// An answer's file.
    #[error(transparent)]
    Answer(#[from] omr_pdq::AnswerError),
    /// An answer that does not decode.
    #[error(transparent)]
    Decode(#[from] omr_pdq::DecodeError),
    /// A schema that no table has.
    #[error(transparent)]
    Schema(#[from] omr_table::SchemaError),
    /// A table that cannot be made.
    #[error(transparent)]
    Build(#[from] omr_table::BuildError),
    /// Sums that cannot be made.
    #[error(transparent)]
    Shape(#[from] omr_compress::ShapeError),
    /// Ciphertexts of another shape.
    #[error(transparent)]
    Packed(#[from] omr_compress::PackedError),
    /// Sums of no rows.
    #[error(transparent)]
    Code(#[from] omr_codec::DecodeError),
    /// More rows than share an answer's sums.
    #[error("expected at most {} rows, found {}", .0.expected, .0.found)]
    Rows(Mismatch<usize>),
}
