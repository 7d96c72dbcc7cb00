//! Tables from CSV, Parquet and Arrow's batches.
//!
//! Values are taken as they are or refused with their row and column: nothing is rounded, cut or dropped unless an
//! option or a declared type requires it. An import takes the memory of the table, plus one row of CSV or one page and one
//! batch of a column of Parquet.

#[cfg(feature = "arrow")]
mod arrays;
#[cfg(feature = "arrow")]
mod batches;
mod cell;
#[cfg(feature = "arrow")]
mod columns;
mod csv;
mod error;
mod fill;
mod format;
mod guess;
#[cfg(feature = "parquet")]
mod parquet;
mod select;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::str::FromStr;

#[cfg(feature = "arrow")]
pub use batches::import_batches;
pub use csv::{CsvFault, import_csv};
pub use error::ImportError;
pub(crate) use fill::{Cuts, Filled};
pub(crate) use guess::looks_like_a_code;
#[cfg(feature = "parquet")]
pub use parquet::import_parquet;

use format::{Format, HEAD_BYTES, format};

use crate::{ColumnType, MAX_ROWS, SchemaError, Table};

/// Options of an import.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The table's name.
    pub name: String,
    /// The key of the fingerprints of text, to be drawn at random for each table.
    pub salt: [u8; 16],
    /// Declared types of columns; the types of other columns are inferred.
    pub declared: Vec<Declared>,
    /// The columns wanted, in that order; `None`: all.
    pub select: Option<Vec<String>>,
    /// Columns left out.
    pub drop: Vec<String>,
    /// Cut texts that are too long, at the end of a character, and fractions of seconds.
    pub truncate: bool,
    /// The character that separates fields of CSV. `None` stands for commas; a header that has no comma, but another usual
    /// separator, is refused then.
    pub delimiter: Option<u8>,
    /// Refuse more rows.
    pub max_rows: u64,
    /// Refuse longer rows of CSV, in bytes.
    pub max_row_bytes: u64,
    /// Take columns of Parquet that gzip compressed: their size is not known before they are in memory, up to a
    /// thousand times the file's. For files that are trusted.
    pub gzip: bool,
}

impl ImportOptions {
    /// Options for all columns, with types inferred, nothing cut, commas, as many rows as a table holds, 1 MiB a row.
    pub fn new(name: impl Into<String>, salt: [u8; 16]) -> Self {
        ImportOptions {
            name: name.into(),
            salt,
            declared: Vec::new(),
            select: None,
            drop: Vec::new(),
            truncate: false,
            delimiter: None,
            max_rows: MAX_ROWS,
            max_row_bytes: 1 << 20,
            gzip: false,
        }
    }
}

/// The declared type of a column: `fare:decimal(2)`, `name:text(32)`, `when:date`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The column, in any case.
    pub name: String,
    /// The type.
    pub wanted: Wanted,
}

/// The declared part of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The whole type; numbers are rounded to a decimal's scale.
    Exactly(ColumnType),
    /// `text`: as long as the longest value, up to [`crate::MAX_TEXT_BYTES`].
    Text,
    /// `decimal`: as many places as the values have.
    Decimal,
}

impl FromStr for Declared {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<Self, SchemaError> {
        let (name, kind) = text
            .rsplit_once(':')
            .ok_or_else(|| SchemaError::Type(text.into()))?;
        let wanted = match kind.trim().to_ascii_lowercase().as_str() {
            "text" => Wanted::Text,
            "decimal" => Wanted::Decimal,
            kind => Wanted::Exactly(kind.parse()?),
        };
        Ok(Declared {
            name: name.into(),
            wanted,
        })
    }
}

/// Names of columns, written as a line of CSV: `a,"b,c"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnNames(pub Vec<String>);

impl FromStr for ColumnNames {
    type Err = ImportError;

    fn from_str(line: &str) -> Result<Self, ImportError> {
        let mut options = ImportOptions::new("", [0; 16]);
        options.delimiter = Some(b',');
        csv::header(&mut io::Cursor::new(line), &options).map(ColumnNames)
    }
}

/// The separator of fields of CSV: one ASCII character that is no letter, digit, quote or end of a line. `tab` is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiter(pub u8);

impl FromStr for Delimiter {
    type Err = ImportError;

    fn from_str(text: &str) -> Result<Self, ImportError> {
        match text.as_bytes() {
            b"tab" => Ok(Delimiter(b'\t')),
            [byte @ (b'\t' | b' '..=b'~')] if *byte != b'"' && !byte.is_ascii_alphanumeric() => {
                Ok(Delimiter(*byte))
            }
            _ => Err(ImportError::Delimiter(text.into())),
        }
    }
}

/// How far an import has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Work done: bytes of CSV, values of Parquet.
    pub done: u64,
    /// The total work, as far as the file determines it; CSV whose types are inferred is read twice.
    pub total: u64,
}

/// Imports a file: Parquet if it begins as such, else CSV.
///
/// Errors: see [`ImportError`]; a pipe; a file that begins as another known format does.
pub fn import_file(
    mut file: File,
    options: &ImportOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Table, ImportError> {
    if let Err(error) = file.rewind() {
        return Err(match error.kind() {
            io::ErrorKind::NotSeekable => ImportError::Pipe,
            _ => error.into(),
        });
    }
    let mut head = Vec::new();
    (&mut file).take(HEAD_BYTES).read_to_end(&mut head)?;
    match format(&head) {
        Format::Csv => import_csv(file, options, progress),
        #[cfg(feature = "parquet")]
        Format::Parquet => import_parquet(file, options, progress),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(ImportError::LeftOut),
        Format::Other(found) => Err(ImportError::Format { found }),
    }
}
