//! The errors of parameters and of plans of private database queries.

use omr_protocol::Mismatch;

/// The errors of parameters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// No published set has this name.
    #[error("expected one of the parameter sets {}, found {:?}", .0.expected, .0.found)]
    Unknown(Mismatch<String>),
    /// A key would fall below 128 bits of security.
    #[error(
        "expected log2(PQ) of at most {limit} bits in dimension {n} for 128-bit security, found {found:.1}"
    )]
    Insecure {
        /// Ring dimension.
        n: usize,
        /// The largest modulus that is estimated secure.
        limit: f64,
        /// The key's modulus.
        found: f64,
    },
    /// A prime does not exist or does not fit.
    #[error(transparent)]
    Ring(#[from] omr_ring::RingError),
    /// The sparse-recovery code does not fit the plaintext modulus.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
}

/// A query that cannot be planned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The bound is 0 or too large.
    #[error("expected a bound of 1 to {limit} rows, found {0}", limit = crate::plan::MAX_BOUND)]
    Bound(usize),
    /// The circuit is too deep for the parameters.
    #[error("expected a query of at most {} products one after another, found {}: ask for fewer \
         conditions at once, or shorter ones", .0.expected, .0.found)]
    Depth(Mismatch<usize>),
    /// The public part of an encrypted table.
    #[error("expected {what} of an encrypted table: {expected}, found {found}")]
    Head {
        /// The part.
        what: &'static str,
        /// The values that are allowed.
        expected: String,
        /// The value that was found.
        found: usize,
    },
    /// The schema of an encrypted table.
    #[error(transparent)]
    Schema(#[from] omr_table::SchemaError),
    /// An encrypted table has no fingerprints of this column for a pattern.
    #[error(
        "expected a pattern that the encrypted table has fingerprints for, found another one of column {0}: \
         its owner names patterns when encrypting it"
    )]
    NotIndexed(String),
    /// The index would be too noisy to be compressed.
    #[error("expected an index of at most {:.1} bits of noise, found {:.1}: ask for fewer alternatives at once", .0.expected, .0.found)]
    Noise(Mismatch<f64>),
    /// The query does not fit the table.
    #[error(transparent)]
    Shape(#[from] omr_table::ShapeError),
    /// The columns do not make a row.
    #[error(transparent)]
    Row(#[from] omr_table::RowError),
}

/// A key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file's length does not fit the parameter set.
    #[error("expected a key of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<u64>),
    /// A part of it.
    #[error(transparent)]
    Part(#[from] omr_protocol::DetectionKeyError),
    /// The file around it.
    #[error(transparent)]
    Frame(#[from] omr_protocol::frame::FrameError),
}

impl From<std::io::Error> for KeyError {
    fn from(error: std::io::Error) -> Self {
        Self::Frame(error.into())
    }
}

/// A query's file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryFileError {
    /// The query is shorter or longer than the plan of its public part requires.
    #[error("expected {} bytes of a query, found {}", .0.expected, .0.found)]
    Length(Mismatch<usize>),
    /// The public part is too long.
    #[error("expected a public part of a query of at most {} bytes, found {}", .0.expected, .0.found)]
    LongHead(Mismatch<usize>),
    /// The public part is not what this version reads.
    #[error("expected the public part of a query: {0}")]
    Head(serde_json::Error),
    /// The query was made for another table.
    #[error("expected a query for the table whose schema has the fingerprint {}, found one for {}: \
         fetch the schema again", .0.expected, .0.found)]
    Schema(Mismatch<String>),
    /// The query was made with parameters other than those of the encrypted table.
    #[error("expected a query with the parameters {} of the encrypted table, found {}", .0.expected, .0.found)]
    Params(Mismatch<&'static str>),
    /// The query was made with other keys.
    #[error("expected a query under key {}, found one under {}", .0.expected, .0.found)]
    Key(Mismatch<String>),
    /// The plan of its public part.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A ciphertext.
    #[error(transparent)]
    Part(#[from] omr_protocol::DetectionKeyError),
    /// The file around it.
    #[error(transparent)]
    Frame(#[from] omr_protocol::frame::FrameError),
}

impl From<std::io::Error> for QueryFileError {
    fn from(error: std::io::Error) -> Self {
        Self::Frame(error.into())
    }
}

/// An answer's file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The answer's length is not that of an answer to the query.
    #[error("expected an answer of {} bytes, found {}: it is the answer to another query", .0.expected, .0.found)]
    Length(Mismatch<usize>),
    /// The file around it.
    #[error(transparent)]
    Frame(#[from] omr_protocol::frame::FrameError),
}

/// A query that cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The query.
    #[error(transparent)]
    Query(#[from] QueryFileError),
    /// The plan, which should have been checked.
    #[error(transparent)]
    Evaluation(omr_bgv::EvalError),
    /// A row.
    #[error(transparent)]
    Row(#[from] omr_table::RowError),
    /// The answer's file.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// A key of parameters without two-sided privacy.
    #[error(
        "expected a key with an encryption of zero, as two-sided privacy takes it, found one without"
    )]
    PublicKey,
    /// Nobody waits for the answer any more, or it takes too long.
    #[error("the query was stopped before its answer was whole")]
    Stopped,
    /// The system gives no randomness.
    #[error("expected randomness of the system, found none: {0}")]
    NoRandomness(getrandom::Error),
    /// Symbols of a row.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
}

impl From<omr_bgv::EvalError> for ServerError {
    fn from(error: omr_bgv::EvalError) -> Self {
        match error {
            omr_bgv::EvalError::Stopped => Self::Stopped,
            error => Self::Evaluation(error),
        }
    }
}

/// An encrypted table's file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableFileError {
    /// The file's length is not the one that follows from its public part.
    #[error("expected an encrypted table of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<u64>),
    /// The public part is not what this version reads.
    #[error("expected the public part of an encrypted table: {0}")]
    Head(serde_json::Error),
    /// The public part does not fit the parameters.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No such parameters.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A table in the clear.
    #[error(transparent)]
    Clear(#[from] omr_table::FileError),
    /// A ciphertext.
    #[error(transparent)]
    Part(#[from] omr_protocol::DetectionKeyError),
    /// The file around it.
    #[error(transparent)]
    Frame(#[from] omr_protocol::frame::FrameError),
}

impl From<std::io::Error> for TableFileError {
    fn from(error: std::io::Error) -> Self {
        Self::Frame(error.into())
    }
}
