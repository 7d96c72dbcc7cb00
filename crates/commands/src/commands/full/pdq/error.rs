//! What can be wrong with private database queries.

use omr_console::Code;
use omr_pdq::plan::MAX_BOUND;

/// Why a table, a key, a query or an answer could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PdqError {
    /// Not a table's file.
    #[error(transparent)]
    File(#[from] omr_table::FileError),
    /// Not an encrypted table's file.
    #[error(transparent)]
    TableFile(#[from] omr_pdq::TableFileError),
    /// No table can be made of it.
    #[error(transparent)]
    Import(#[from] omr_table::ImportError),
    /// Not a schema.
    #[error(transparent)]
    Schema(#[from] omr_table::SchemaError),
    /// Something else than a schema.
    #[error(
        "expected a schema, as `omr pdq schema TABLE --out FILE` writes it, found something else"
    )]
    NotASchema,
    /// A file where the folder of a client's keys would be.
    #[error("{}: expected the folder of a client's keys, as `omr pdq keygen --out` makes it, found a file", .0.display())]
    KeyFolder(std::path::PathBuf),
    /// Not a query.
    #[error(transparent)]
    Query(#[from] omr_table::QueryError),
    /// Rows were not written.
    #[error(transparent)]
    Output(#[from] omr_table::OutputError),
    /// Parameters that are not published.
    #[error(transparent)]
    Params(#[from] omr_pdq::ParamsError),
    /// A query that cannot be planned.
    #[error(transparent)]
    Plan(#[from] omr_pdq::PlanError),
    /// A query that this other set plans.
    #[error("{0}, or with keys of --params {1}, which has enough")]
    Deeper(omr_pdq::PlanError, &'static str),
    /// Not a key.
    #[error(transparent)]
    Key(#[from] omr_pdq::KeyError),
    /// Not an encrypted query.
    #[error(transparent)]
    QueryFile(#[from] omr_pdq::QueryFileError),
    /// Not an answer.
    #[error(transparent)]
    Answer(#[from] omr_pdq::AnswerError),
    /// No answer was made.
    #[error(transparent)]
    Server(#[from] omr_pdq::ServerError),
    /// More rows match than the answer holds.
    #[error("overflow: {found} rows match, the answer holds {bound}: {}", advice(*found))]
    Overflow {
        /// The bound.
        bound: usize,
        /// Rows that match.
        found: u64,
    },
    /// An answer that does not decode.
    #[error(transparent)]
    Decode(omr_pdq::DecodeError),
    /// A server of something else.
    #[error(
        "the server serves no tables, it is perhaps a board's: `omr pdq serve TABLE` starts one that does, at \
         http://127.0.0.1:7601 unless told otherwise"
    )]
    NoTableServer,
    /// A server with no table that the query names; these are its tables.
    #[error("expected one of the server's tables {0}, found none of them in the query")]
    NoTable(String),
    /// A server with several tables, these, none of them chosen.
    #[error("expected --table with one of the server's tables {0}, found none")]
    WhichTable(String),
    /// Standard input, which has no name that a table could have.
    #[error("expected a name for the table, found standard input: pass --name")]
    NoName,
    /// A file whose name is not Unicode.
    #[error("expected a file's name in UTF-8 to name the table by, found {0:?}: pass --name")]
    Name(std::path::PathBuf),
    /// Arrow's bytes on a terminal.
    #[error("expected --out with a file for Arrow, found a terminal")]
    Terminal,
    /// A table to standard output.
    #[error("expected a file for the table, found -, which is standard output")]
    Standard,
}

/// What to do about so many rows.
fn advice(found: u64) -> String {
    if found <= MAX_BOUND as u64 {
        format!("ask again with --bound {found}, or a narrower condition")
    } else {
        format!("ask with a narrower condition, an answer holds at most {MAX_BOUND} rows")
    }
}

impl From<omr_pdq::DecodeError> for PdqError {
    fn from(error: omr_pdq::DecodeError) -> Self {
        match error {
            omr_pdq::DecodeError::Overflow { bound, found } => Self::Overflow { bound, found },
            error => Self::Decode(error),
        }
    }
}

impl PdqError {
    /// What kind of error it is.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Overflow { .. } => Code::Overflow,
            _ => Code::Input,
        }
    }
}
