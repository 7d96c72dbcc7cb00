//! The errors of private database queries.

use omr_console::Code;
use omr_pdq::plan::MAX_BOUND;

/// An error of a private database query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PdqError {
    /// A table's file is invalid.
    #[error(transparent)]
    File(#[from] omr_table::FileError),
    /// An encrypted table's file is invalid.
    #[error(transparent)]
    TableFile(#[from] omr_pdq::TableFileError),
    /// The data make no table.
    #[error(transparent)]
    Import(#[from] omr_table::ImportError),
    /// A schema is invalid.
    #[error(transparent)]
    Schema(#[from] omr_table::SchemaError),
    /// The file is not a schema.
    #[error(
        "expected a schema, as `omr pdq schema TABLE --out FILE` writes it, found something else"
    )]
    NotASchema,
    /// The folder of a client's keys is a file.
    #[error("{}: expected the folder of a client's keys, as `omr pdq keygen --out` makes it, found a file", .0.display())]
    KeyFolder(std::path::PathBuf),
    /// A query is invalid.
    #[error(transparent)]
    Query(#[from] omr_table::QueryError),
    /// Rows were not written.
    #[error(transparent)]
    Output(#[from] omr_table::OutputError),
    /// The parameters are not published.
    #[error(transparent)]
    Params(#[from] omr_pdq::ParamsError),
    /// The query cannot be planned.
    #[error(transparent)]
    Plan(#[from] omr_pdq::PlanError),
    /// The query cannot be planned with this set, but with another.
    #[error("{0}, or with keys of --params {1}, which has enough")]
    Deeper(omr_pdq::PlanError, &'static str),
    /// A key is invalid.
    #[error(transparent)]
    Key(#[from] omr_pdq::KeyError),
    /// An encrypted query is invalid.
    #[error(transparent)]
    QueryFile(#[from] omr_pdq::QueryFileError),
    /// An answer is invalid.
    #[error(transparent)]
    Answer(#[from] omr_pdq::AnswerError),
    /// No answer was made.
    #[error(transparent)]
    Server(#[from] omr_pdq::ServerError),
    /// More rows match than the answer contains.
    #[error("overflow: {found} rows match, the answer holds {bound}: {}", advice(*found))]
    Overflow {
        /// The bound.
        bound: usize,
        /// The number of rows that match.
        found: u64,
    },
    /// The answer does not decode.
    #[error(transparent)]
    Decode(omr_pdq::DecodeError),
    /// The server does not serve tables.
    #[error(
        "the server serves no tables, it is perhaps a board's: `omr pdq serve TABLE` starts one that does, at \
         http://127.0.0.1:7601 by default"
    )]
    NoTableServer,
    /// The server has no table that the query names; these are its tables.
    #[error("expected one of the server's tables {0}, found none of them in the query")]
    NoTable(String),
    /// The server has several tables, these, and none was chosen.
    #[error("expected --table with one of the server's tables {0}, found none")]
    WhichTable(String),
    /// The table is read from standard input, which has no name.
    #[error("expected a name for the table, found standard input: pass --name")]
    NoName,
    /// The name of the file is not Unicode.
    #[error("expected a file's name in UTF-8 to name the table by, found {0:?}: pass --name")]
    Name(std::path::PathBuf),
    /// Standard output is a terminal, and the form is Arrow.
    #[error("expected --out with a file for Arrow, found a terminal")]
    Terminal,
    /// A table cannot be written to standard output.
    #[error("expected a file for the table, found -, which is standard output")]
    Standard,
}

/// Returns advice for this number of rows.
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
    /// Returns the kind of the error.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Overflow { .. } => Code::Overflow,
            _ => Code::Input,
        }
    }
}
