//! `omr pdq import`: makes a table from a CSV or Parquet file.

use super::files::{self, of_file};
use crate::commands::full::PdqError;
use crate::error::CliError;
use crate::io::{Access, is_standard, print, print_json, stage};
use omr_console::{ReadError, Ui, thousands};
use omr_disk::temporary::{Unfinished, sweep, temporary};
use omr_table::{Column, ImportOptions, Schema, Value, import_file};
use omr_table::{ColumnNames, Declared, Delimiter};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct PdqImport {
    /// CSV with a header, or Parquet where this build has the feature parquet; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// File for the table
    #[arg(long, value_name = "TABLE")]
    pub(crate) out: PathBuf,
    /// Name of the table in queries [default: the file's]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Columns to import, in this order; a name with a comma is quoted, as in CSV [default: all]
    #[arg(long, value_name = "A,B")]
    pub(crate) columns: Option<ColumnNames>,
    /// Character between fields of CSV, or `tab` [default: a comma]
    #[arg(long, value_name = "C")]
    pub(crate) delimiter: Option<Delimiter>,
    /// Type of a column: boolean, integer, date, timestamp, decimal(S), text(BYTES) [default: inferred]
    #[arg(long = "type", value_name = "COLUMN:TYPE")]
    pub(crate) types: Vec<Declared>,
    /// Cut texts that are too long, and fractions of seconds
    #[arg(long)]
    pub(crate) truncate: bool,
    /// Accept gzip in Parquet, whose size is unknown before it is in memory. For files that you trust
    #[arg(long)]
    pub(crate) gzip: bool,
    /// Replace a table
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const PDQ_IMPORT: &str = "\
Examples:
  omr pdq import people.csv --out people.table
  omr pdq import people.csv --out few.table --columns name,age
  omr pdq import people.csv --out typed.table --type 'name:text(32)'

CSV needs a header line; Parquet may be compressed by snappy, lz4 or zstd. Types are inferred unless declared, and \
printed: a column of dates in another form than 2012-12-31 is text.";

#[derive(Serialize)]
struct Report<'a> {
    name: &'a str,
    rows: u64,
    bytes: u64,
    columns: &'a [Column],
}

pub(super) fn run(args: &PdqImport, ui: &Ui) -> Result<(), CliError> {
    let out = files::table_output(&args.out, args.force)?.apart_from([&args.file])?;
    let mut salt = [0; 16];
    rand_core::Rng::fill_bytes(&mut omr_client::os_rng(), &mut salt);
    let mut options = ImportOptions::new(name(args)?, salt);
    options.declared = args.types.clone();
    options.select = args.columns.clone().map(|columns| columns.0);
    options.delimiter = args.delimiter.map(|delimiter| delimiter.0);
    options.truncate = args.truncate;
    options.gzip = args.gzip;
    let source = Source::open(&args.file)?;
    let bar = ui.bar();
    let table = import_file(source.file, &options, &mut |progress| {
        bar.at("import".into(), progress.done, progress.total);
    });
    drop(bar);
    let table = table.map_err(of_file(&args.file))?;
    for doubt in table.doubts(&args.types) {
        ui.warn(&doubt.to_string());
    }
    let mut bytes = 0;
    // The content is the owner's secret.
    let staged = stage(out.path(), Access::Private, |file| {
        table.write(&mut *file)?;
        bytes = file.metadata()?.len();
        Ok(())
    })?;
    staged.commit(args.force)?;
    print_report(args, table.schema(), bytes)
}

/// A file that can be read twice.
struct Source {
    file: File,
    /// The copy of standard input or a pipe.
    _copy: Option<Unfinished>,
}

/// The highest number of bytes of standard input or a pipe.
const MAX_PIPE_BYTES: u64 = 16 << 30;

impl Source {
    /// Opens a file. Input that cannot be read twice is copied to a private temporary file.
    fn open(path: &Path) -> Result<Self, CliError> {
        let input = |error: io::Error| CliError::input(path)(error.into());
        if is_standard(path) {
            return Self::copy(path, io::stdin().lock());
        }
        let file = File::open(path).map_err(input)?;
        let kind = file.metadata().map_err(input)?.file_type();
        if kind.is_file() || kind.is_dir() {
            Ok(Self { file, _copy: None })
        } else {
            Self::copy(path, file)
        }
    }

    fn copy(path: &Path, from: impl Read) -> Result<Self, CliError> {
        let place = std::env::temp_dir();
        sweep(&place);
        let copy = Unfinished::new(|| temporary(&place, Access::Private));
        let mut copy = copy.map_err(|error| CliError::write(&place, error))?;
        let limit = MAX_PIPE_BYTES;
        let mut copied = 0;
        let mut from = from.take(limit + 1);
        let mut block = vec![0; 1 << 16];
        loop {
            let read = match from.read(&mut block) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(CliError::input(path)(error.into())),
            };
            copied += read as u64;
            if copied > limit {
                return Err(CliError::input(path)(ReadError::TooLarge(limit).into()));
            }
            let written = copy.file().write_all(&block[..read]);
            written.map_err(|error| CliError::write(copy.path(), error))?;
        }
        let file = copy.file().try_clone();
        let file = file.map_err(|error| CliError::write(copy.path(), error))?;
        Ok(Self {
            file,
            _copy: Some(copy),
        })
    }
}

fn name(args: &PdqImport) -> Result<String, PdqError> {
    if let Some(name) = &args.name {
        return Ok(name.clone());
    }
    match args.file.file_stem() {
        Some(stem) if !is_standard(&args.file) => match stem.to_str() {
            Some(stem) => Ok(stem.to_owned()),
            None => Err(PdqError::Name(args.file.clone())),
        },
        _ => Err(PdqError::NoName),
    }
}

fn print_report(args: &PdqImport, schema: &Schema, bytes: u64) -> Result<(), CliError> {
    if args.json {
        return Ok(print_json(&Report {
            name: &schema.name,
            rows: schema.rows,
            bytes,
            columns: &schema.columns,
        })?);
    }
    let width = schema.columns.iter().map(|column| column.name.len()).max();
    let line = |column: &Column| {
        format!(
            "  {:<width$}  {:<14}  {}{}\n",
            column.name,
            column.kind.to_string(),
            domain(column),
            if column.nullable {
                ", may be absent"
            } else {
                ""
            },
            width = width.unwrap_or(0)
        )
    };
    let lines: String = schema.columns.iter().map(line).collect();
    let (rows, bytes) = (thousands(schema.rows), thousands(bytes));
    let name = &schema.name;
    Ok(print(&format!(
        "{name}: {rows} rows, {bytes} bytes\n{lines}"
    ))?)
}

/// Returns the range of a column's values as text.
fn domain(column: &Column) -> String {
    let Some(domain) = column.domain else {
        return "any".into();
    };
    let show = |ordinal| {
        let value = Value::from_ordinal(column.kind, ordinal);
        value.map_or_else(
            || ordinal.to_string(),
            |value| value.show(column.kind).to_string(),
        )
    };
    format!("{} to {}", show(domain.min), show(domain.max))
}
