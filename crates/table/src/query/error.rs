//! Why a text is no query.

use thiserror::Error;

use super::ShapeError;

/// Why a text is no query that can be asked. Pieces of the text are cut to 80 characters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The text is too long.
    #[error("a query of {found} bytes: at most {most} are read")]
    TooLong {
        /// The length of the text in bytes.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// Too many words, operators and parentheses beside the constants of lists.
    #[error("a query of more than {most} words and operators")]
    TooManyWords {
        /// The limit.
        most: usize,
    },
    /// Parentheses or NOTs inside each other.
    #[error("more than {most} parentheses or NOTs inside each other")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// Not SQL.
    #[error("this is no SQL: {message}")]
    Syntax {
        /// What the parser says.
        message: String,
    },
    /// SQL, but none that can be asked.
    #[error("`{piece}` is not supported: {expected}")]
    Unsupported {
        /// The piece.
        piece: String,
        /// What is supported in its place.
        expected: &'static str,
    },
    /// Another table.
    #[error("there is no table `{found}`: this is `{expected}`")]
    Table {
        /// The name in the query.
        found: String,
        /// The name of the table.
        expected: String,
    },
    /// No column of that name.
    #[error("there is no column `{found}`{}", nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?")))]
    Column {
        /// The name in the query.
        found: String,
        /// The most similar one of the table.
        nearest: Option<String>,
    },
    /// A column is selected twice.
    #[error("column `{column}` is selected twice")]
    SelectedTwice {
        /// The column.
        column: String,
    },
    /// A constant that cannot be compared with the column.
    #[error("`{piece}` cannot be compared with column `{column}`: {expected} expected")]
    Constant {
        /// The constant.
        piece: String,
        /// The column.
        column: String,
        /// What can.
        expected: &'static str,
    },
    /// A date or a moment that does not exist.
    #[error("`{piece}` is no {expected}")]
    Moment {
        /// The text.
        piece: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A pattern with more than one part between `%`s.
    #[error("LIKE '{pattern}' has more than one part between %s: prefix%part%suffix is supported")]
    TooManyParts {
        /// The pattern.
        pattern: String,
    },
    /// A pattern that ends in its escape character.
    #[error("LIKE '{pattern}' ends in its escape character")]
    OpenEscape {
        /// The pattern.
        pattern: String,
    },
    /// A constant that no value of the column can equal, or the same one again, is to look like any other to the server, and
    /// the column's range leaves no ordinal for it.
    #[error(
        "column `{column}` ranges over all of 64 bits: nothing stands for a constant beyond, between two values or \
         there twice"
    )]
    NoRoom {
        /// The column.
        column: String,
    },
    /// The system gives no thread to parse on.
    #[error("no thread with a stack of {bytes} bytes to parse on")]
    NoStack {
        /// Bytes asked for.
        bytes: usize,
    },
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
