//! Rows of an answer for people and programs.

use crate::commands::full::PdqError;
use crate::error::CliError;
use crate::io::{Output, is_standard};
use omr_client::fragment::visible;
use omr_table::{Column, Rows};
use std::io::IsTerminal;
use std::path::PathBuf;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RowFormat {
    /// Columns for people
    Table,
    /// CSV with a header
    Csv,
    /// A JSON array of objects
    Json,
    /// An Arrow IPC file, where this build has the feature parquet
    Arrow,
}

/// The output of rows.
#[derive(clap::Args)]
pub(crate) struct RowsOut {
    /// Form of the rows
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = RowFormat::Table)]
    pub(crate) format: RowFormat,
    /// File for the rows; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Report figures as one JSON object (on standard error if the rows go to standard output)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Writes rows in the requested form.
///
/// Errors: `Pdq`, `Write`, `Output`, `Exists`.
pub(super) fn write(rows: &Rows, format: RowFormat, to: &Output) -> Result<(), CliError> {
    let mut bytes = Vec::new();
    let written = match format {
        RowFormat::Csv => rows.write_csv(&mut bytes),
        RowFormat::Json => rows.write_json(&mut bytes),
        RowFormat::Arrow => rows.write_arrow(&mut bytes),
        RowFormat::Table => {
            bytes = table(rows).into_bytes();
            Ok(())
        }
    };
    written.map_err(PdqError::from)?;
    if format == RowFormat::Json {
        bytes.push(b'\n');
    }
    if is_standard(to.path()) && std::io::stdout().is_terminal() {
        if format == RowFormat::Arrow {
            return Err(PdqError::Terminal.into());
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<String> = text.split('\n').map(in_one_line).collect();
        bytes = lines.join("\n").into_bytes();
    }
    Ok(to.write(&bytes)?)
}

/// Returns text that cannot steer a terminal: control characters and line ends are marked, characters without width or
/// with a direction are left out.
fn in_one_line(text: &str) -> String {
    visible(&text.replace(char::is_control, "\u{fffd}"))
}

/// Returns aligned columns, one row per line.
fn table(rows: &Rows) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let name = |column: &Column| in_one_line(&column.name);
    let mut head: Vec<String> = rows.columns.iter().map(name).collect();
    if rows.numbers.is_some() {
        head.insert(0, "row".into());
    }
    lines.push(head);
    for (i, values) in rows.rows.iter().enumerate() {
        let number = rows.numbers.iter().map(|numbers| numbers[i].to_string());
        let shown = values
            .iter()
            .zip(&rows.columns)
            .map(|(value, column)| in_one_line(&value.show(column.kind).to_string()));
        lines.push(number.chain(shown).collect());
    }
    let width = |place: usize| {
        let cell = |line: &Vec<String>| line[place].chars().count();
        lines.iter().map(cell).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths);
        let padded: Vec<String> = padded
            .map(|(cell, &width)| format!("{cell:<width$}"))
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    lines.iter().map(line).collect()
}
