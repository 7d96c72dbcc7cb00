//! `omr pdq import`: a table from a CSV or Parquet file.

use super::files::of_file;
use crate::args::PdqImport;
use crate::error::{CliError, PdqError};
use crate::io::{self, Access, Output};
use omr_console::Ui;
use omr_console::thousands;
use omr_table::{Column, ImportOptions, Schema, Table, Texts, Value, import_file, is_other_date};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Report<'a> {
    name: &'a str,
    rows: u64,
    bytes: u64,
    columns: &'a [Column],
}

pub(super) fn run(args: &PdqImport, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.out, args.force)?;
    let mut salt = [0; 16];
    rand_core::Rng::fill_bytes(&mut omr_client::os_rng(), &mut salt);
    let mut options = ImportOptions::new(name(args)?, salt);
    options.declared = args.types.clone();
    options.select = args.columns.clone();
    options.truncate = args.truncate;
    options.gzip = args.gzip;
    let bar = ui.bar();
    let table = import_file(&args.file, &options, &mut |progress| {
        bar.at("import".into(), progress.done, progress.total);
    });
    drop(bar);
    let table = table.map_err(of_file(&args.file))?;
    warn_of_dates(&table, ui);
    let mut bytes = 0;
    // What it holds is the owner's to show.
    let staged = io::stage(out.path(), Access::Private, |file| {
        table.write(&mut *file)?;
        bytes = file.metadata()?.len();
        Ok(())
    })?;
    staged.commit(args.force)?;
    print_report(args, table.schema(), bytes)
}

/// Rows that are looked at for dates in other forms.
const LOOKED_AT: usize = 1000;

/// Tells of columns that are text though all their values look like dates: as text they have no order.
fn warn_of_dates(table: &Table, ui: &Ui) {
    for (place, column) in table.schema().columns.iter().enumerate() {
        let texts = table.texts(place).into_iter().flat_map(Texts::iter);
        let mut texts = texts.flatten().take(LOOKED_AT).peekable();
        let Some(first) = texts.peek().map(|text| text.to_string()) else {
            continue;
        };
        if texts.all(is_other_date) {
            ui.warn(&format!(
                "column {:?} is text: {first:?} looks like a date, which is written as 2012-12-31; text has no order \
                 to ask for",
                column.name
            ));
        }
    }
}

fn name(args: &PdqImport) -> Result<String, PdqError> {
    let stem = |path: &Path| Some(path.file_stem()?.to_str()?.to_owned());
    let name = args.name.clone().or_else(|| stem(&args.file));
    name.ok_or_else(|| PdqError::NoName(args.file.clone()))
}

fn print_report(args: &PdqImport, schema: &Schema, bytes: u64) -> Result<(), CliError> {
    if args.json {
        return Ok(io::print_json(&Report {
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
    Ok(io::print(&format!(
        "{name}: {rows} rows, {bytes} bytes\n{lines}"
    ))?)
}

/// The range of a column's values in words.
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
