//! Why a text is no query.

use omr_errors::Mismatch;
use thiserror::Error;

use super::ShapeError;

/// The text before a line and a column in messages of the parser.
pub(super) const PLACE: &str = " at Line: ";

/// The number of columns that an error names.
pub(super) const NAMED: usize = 16;

/// Returns advice for a column that does not exist.
fn advice(nearest: Option<&str>, columns: &[String]) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => format!(": the table has `{}`", columns.join("`, `")),
    }
}

/// The reason why a text is not a supported query. Pieces of the text are cut to 80 characters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The text is too long.
    #[error("a query of {} bytes: at most {} are read", .0.found, .0.expected)]
    TooLong(Mismatch<usize>),
    /// The query has more than this number of words, operators and parentheses, constants of lists not counted.
    #[error("a query of more than {0} words and operators")]
    TooManyWords(usize),
    /// Parentheses or NOTs are nested deeper than this number.
    #[error("more than {0} parentheses or NOTs inside each other")]
    TooDeep(usize),
    /// The text is not SQL; contains the parser's message.
    #[error("this is no SQL: {0}")]
    Syntax(String),
    /// The text is SQL that is not supported.
    #[error("`{piece}` is not supported: {expected}")]
    Unsupported {
        /// The piece.
        piece: String,
        /// A description of the SQL that is supported in its place.
        expected: &'static str,
    },
    /// Another table.
    #[error("there is no table `{}`: this is `{}`", .0.found, .0.expected)]
    Table(Mismatch<String>),
    /// No column of that name.
    #[error("there is no column `{found}`{}", advice(nearest.as_deref(), columns))]
    Column {
        /// The name in the query.
        found: String,
        /// The most similar one of the table.
        nearest: Option<String>,
        /// The names of the table's first columns, at most 16.
        columns: Vec<String>,
    },
    /// This column is selected twice.
    #[error("column `{0}` is selected twice")]
    SelectedTwice(String),
    /// A constant that cannot be compared with the column.
    #[error("`{piece}` cannot be compared with column `{column}`: {expected} expected")]
    Constant {
        /// The constant.
        piece: String,
        /// The column.
        column: String,
        /// A description of the constants that can be compared with it.
        expected: &'static str,
    },
    /// A date or a moment that does not exist.
    #[error("`{piece}` is no {expected}")]
    Moment {
        /// The text.
        piece: String,
        /// A description of the expected text.
        expected: &'static str,
    },
    /// A pattern with more than one part between `%`s.
    #[error("LIKE '{0}' has more than one part between %s: prefix%part%suffix is supported")]
    TooManyParts(String),
    /// A pattern that ends in its escape character.
    #[error("LIKE '{0}' ends in its escape character")]
    OpenEscape(String),
    /// A constant that no value of the column can equal, or the same one again, is to look like any other to the server, and
    /// the column's range leaves no ordinal for it.
    #[error(
        "column `{0}` ranges over all of 64 bits: nothing stands for a constant beyond, between two values or \
         there twice"
    )]
    NoRoom(String),
    /// The system refuses to start a parsing thread with a stack of this number of bytes.
    #[error("no thread with a stack of {0} bytes to parse on")]
    NoStack(usize),
    /// The query breaks a rule of all questions.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl QueryError {
    pub(super) fn unsupported(piece: impl ToString, expected: &'static str) -> Self {
        Self::Unsupported {
            piece: cut(&piece.to_string()),
            expected,
        }
    }
}

/// The beginning of a piece of the query.
pub(super) fn cut(piece: &str) -> String {
    const MOST: usize = 80;
    match piece.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &piece[..end]),
        None => piece.to_owned(),
    }
}

/// A message of the parser, with the place that it ends in whole.
pub(super) fn cut_message(message: &str) -> String {
    match message.rsplit_once(PLACE) {
        Some((text, place)) => format!("{}{PLACE}{place}", cut(text)),
        None => cut(message),
    }
}
