//! The error of imports.

use std::io;

use super::csv::CsvFault;
use crate::{SchemaError, ValueError};
use omr_errors::Mismatch;

/// Why a file was not imported. Rows are counted from 0, without a header.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The system refused.
    #[error("reading: {0}")]
    Io(#[from] io::Error),
    /// A line of CSV is malformed.
    #[error("line {line}: {fault}")]
    Csv {
        /// The line, counted from 1; of a row of several lines the first, unless the fault is in a later one.
        line: u64,
        /// The fault of the line.
        fault: CsvFault,
    },
    /// The file is of a format that is not imported.
    #[error("expected CSV{}, found {found}", if cfg!(feature = "parquet") { " or Parquet" } else { "" })]
    Format {
        /// The format, and what to do about it.
        found: &'static str,
    },
    /// No delimiter of CSV.
    #[error("expected a delimiter of one character, such as ; or tab, found {0:?}")]
    Delimiter(String),
    /// The file cannot be read twice.
    #[error("expected a file, found a pipe or a device, which cannot be read twice")]
    Pipe,
    /// Parquet, which this build does not read.
    #[error(
        "this build of omr does not read Parquet: build it with the feature `parquet`, or import CSV"
    )]
    LeftOut,
    /// No Parquet, or one that is damaged.
    #[cfg(feature = "parquet")]
    #[error("Parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// A column's type is none that Parquet has, such as a list in the form of an old writer.
    #[cfg(feature = "parquet")]
    #[error(
        "column {column:?}: expected a type of Parquet, found another: {error}: write the file without the column"
    )]
    ColumnType {
        /// The column.
        column: String,
        /// The fault of its type.
        error: ::parquet::errors::ParquetError,
    },
    /// Arrow's arrays of a Parquet file are damaged.
    #[cfg(feature = "parquet")]
    #[error("Parquet: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// The Parquet file is damaged in a way that its reader does not foresee.
    #[error("Parquet: damaged, its reader stopped: {0}")]
    Damaged(String),
    /// Names, types or numbers of columns or rows.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A column that the options name is not there.
    #[error("expected a column {:?}, found {}", .0.expected, .0.found.join(", "))]
    NoColumn(Mismatch<String, Vec<String>>),
    /// Columns of Parquet have different numbers of rows.
    #[error("column {:?}: expected {} rows, found {}", .0, .1.expected, .1.found)]
    Rows(String, Mismatch<u64>),
    /// The source has more rows than the options allow: this number.
    #[error("expected at most {0} rows, found more")]
    TooManyRows(u64),
    /// A row of CSV is too long: perhaps a quote is missing.
    #[error("row {row}, counted from 0: expected at most {limit} bytes, found more")]
    RowTooLong {
        /// The row.
        row: u64,
        /// The limit.
        limit: u64,
    },
    /// A value does not fit its column.
    #[error(
        "row {row}, counted from 0, column {column:?}: {error}{}",
        advice(error)
    )]
    Value {
        /// The row.
        row: u64,
        /// The column.
        column: String,
        /// The reason why the value is refused.
        error: ValueError,
    },
    /// A number of Parquet exceeds the type that its column is annotated with.
    #[error(
        "row {row}, counted from 0, column {column:?}: expected a number of type {expected}, found {found}"
    )]
    Annotation {
        /// The row.
        row: u64,
        /// The column.
        column: String,
        /// The type.
        expected: String,
        /// The number.
        found: i32,
    },
    /// A text is not UTF-8.
    #[error(
        "row {row}, counted from 0, column {column:?}: expected UTF-8, found other bytes: convert the file"
    )]
    Utf8 {
        /// The row.
        row: u64,
        /// The column.
        column: String,
    },
    /// A column's numbers have too many digits for a type found out.
    #[error(
        "column {column:?}: expected numbers of at most 18 digits, found {whole} before the point and {places} behind \
         it: declare it as text, or as decimal with a scale, to which its numbers are rounded"
    )]
    Digits {
        /// The column.
        column: String,
        /// The most digits before the point.
        whole: u32,
        /// The most decimal places.
        places: u32,
    },
    /// Parquet's type has no place in a table.
    #[error(
        "column {column:?}: expected boolean, numbers, dates, timestamps or text, found {found}: leave it out"
    )]
    Type {
        /// The column.
        column: String,
        /// The type in the file.
        found: String,
    },
    /// A column of Parquet is compressed otherwise than we read.
    #[error(
        "column {column:?}: compressed by {found}, expected snappy, lz4, zstd, gzip or none: write the file with zstd"
    )]
    Compression {
        /// The column.
        column: String,
        /// The compression in the file.
        found: String,
    },
    /// This column of Parquet is compressed by gzip.
    #[error(
        "column {0:?}: compressed by gzip, which tells no size beforehand: write the file with zstd or snappy, or \
         allow gzip (omr pdq import --gzip) if you trust it"
    )]
    Gzip(String),
}

fn advice(error: &ValueError) -> &'static str {
    match error {
        ValueError::TooLong(_) | ValueError::Fraction(_) => ": leave the column out, or truncate",
        _ => "",
    }
}
