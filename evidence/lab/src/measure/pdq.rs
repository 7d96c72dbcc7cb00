//! Benchmarks of private database queries: comparison with DuckDB's answers, compression alone, and a whole query.

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

/// Parses the number of rows of an answer, up to the limit of a plan.
pub(crate) fn bound() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_BOUND as u64)
}

/// Parses the number of rows of a table.
pub(crate) fn rows() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1 << 30)
}

/// Returns published sets.
///
/// Errors: `Params`.
pub fn named(names: &[String]) -> Result<Vec<Arc<Params>>, PdqBenchError> {
    let named = names.iter().map(|name| Ok(Params::named(name)?));
    named.collect()
}

/// Generates keys from a seed, for benchmarks only.
pub fn keys(params: &Params, seed: u64) -> (SecretKey, EvaluationKey) {
    SecretKey::generate(params, &mut ChaCha20Rng::seed_from_u64(seed))
}

/// A benchmark of private queries failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PdqBenchError {
    /// Reading or writing a file failed.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, #[source] std::io::Error),
    /// A file is not a table.
    #[error("{}: {}", .0.display(), .1)]
    Import(PathBuf, #[source] omr_table::ImportError),
    /// A question is about a missing table, or about one with other types.
    #[error("expected a table {} with the types that its questions were made for, found {}", .0.expected, .0.found)]
    Table(Mismatch<String>),
    /// A query does not suit the table.
    #[error("{sql}: {source}")]
    Sql {
        /// The query.
        sql: String,
        /// The error.
        source: omr_table::QueryError,
    },
    /// There are too few random questions of the requested size.
    #[error("expected {} random questions, found {} in a hundred draws each", .0.expected, .0.found)]
    TooFew(Mismatch<usize>),
    /// The parameters are unknown.
    #[error(transparent)]
    Params(#[from] omr_pdq::ParamsError),
    /// The parameters cannot answer a query.
    #[error(transparent)]
    Plan(#[from] omr_pdq::PlanError),
    /// A query's file is invalid.
    #[error(transparent)]
    Query(#[from] omr_pdq::QueryFileError),
    /// The server failed.
    #[error(transparent)]
    Server(#[from] omr_pdq::ServerError),
    /// An answer's file is invalid.
    #[error(transparent)]
    Answer(#[from] omr_pdq::AnswerError),
    /// An answer does not decode.
    #[error(transparent)]
    Decode(#[from] omr_pdq::DecodeError),
    /// A schema is invalid.
    #[error(transparent)]
    Schema(#[from] omr_table::SchemaError),
    /// A table cannot be made.
    #[error(transparent)]
    Build(#[from] omr_table::BuildError),
    /// Sums have an invalid shape.
    #[error(transparent)]
    Shape(#[from] omr_compress::ShapeError),
    /// Ciphertexts have another shape.
    #[error(transparent)]
    Packed(#[from] omr_compress::PackedError),
    /// The sums are those of no rows.
    #[error(transparent)]
    Code(#[from] omr_codec::DecodeError),
    /// There are more rows than share an answer's sums.
    #[error("expected at most {} rows, found {}", .0.expected, .0.found)]
    Rows(Mismatch<usize>),
}
