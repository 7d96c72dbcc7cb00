//! Columns of Arrow's types become a table's, one after another.

use arrow::array::Array;
use arrow::datatypes::DataType;
use omr_errors::Mismatch;

use super::arrays::{Natural, cells, natural};
use super::cell::Cell;
use super::fill::{Filled, Filler, Target};
use super::guess::Guess;
use super::select::Chosen;
use super::{ImportError, ImportOptions, Progress, Wanted};
use crate::Table;

/// Rows between two reports of progress.
const REPORT: u64 = 8192;

/// A source of columns.
pub(super) trait Columns {
    /// The type of a column.
    fn kind(&self, place: usize) -> &DataType;

    /// Hands every cell of a column on.
    fn cells(
        &self,
        column: &Chosen,
        take: &mut dyn FnMut(&Cell) -> Result<(), ImportError>,
    ) -> Result<(), ImportError>;
}

/// Fills a table with the chosen columns. `rows` is the expected number of rows, for reports of progress.
pub(super) fn fill_all(
    source: &impl Columns,
    chosen: &[Chosen],
    rows: u64,
    options: &ImportOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Table, ImportError> {
    let mut columns = Vec::new();
    for (place, column) in chosen.iter().enumerate() {
        let mut report = |done| {
            progress(Progress {
                done: place as u64 * rows + done,
                total: chosen.len() as u64 * rows,
            });
        };
        let filler = fill(source, column, options, &mut report)?;
        check_rows(column, &filler, &columns)?;
        columns.push(filler.finish());
    }
    Ok(Table::imported(&options.name, options.salt, columns))
}

/// Hands every cell of an array on.
pub(super) fn each_cell(
    column: &Chosen,
    array: &dyn Array,
    take: &mut dyn FnMut(&Cell) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut cells = cells(array).ok_or_else(|| ImportError::Type {
        column: column.name.clone(),
        found: array.data_type().to_string(),
    })?;
    cells.try_for_each(|cell| take(&cell))
}

/// Errors: `Type` for one that no table has.
pub(super) fn check_type(column: &Chosen, kind: &DataType) -> Result<Natural, ImportError> {
    natural(kind).ok_or_else(|| ImportError::Type {
        column: column.name.clone(),
        found: kind.to_string(),
    })
}

fn fill(
    source: &impl Columns,
    column: &Chosen,
    options: &ImportOptions,
    report: &mut dyn FnMut(u64),
) -> Result<Filler, ImportError> {
    let target = target(source, column, options)?;
    let mut filler = Filler::new(&column.name, target, options);
    source.cells(column, &mut |cell| {
        filler.push(cell)?;
        if filler.rows().is_multiple_of(REPORT) {
            report(filler.rows());
        }
        Ok(())
    })?;
    report(filler.rows());
    Ok(filler)
}

/// Returns the declared type, or else the column's own. Decimal places are measured where neither states their number.
fn target(
    source: &impl Columns,
    column: &Chosen,
    options: &ImportOptions,
) -> Result<Target, ImportError> {
    let natural = check_type(column, source.kind(column.place))?;
    match (column.wanted, natural) {
        (Some(Wanted::Exactly(kind)), _) => Ok(Target::Exactly(kind)),
        (Some(Wanted::Text), _) | (None, Natural::Text) => Ok(Target::MeasuredText),
        (None, Natural::Exactly(kind)) => Ok(Target::Exactly(kind)),
        (Some(Wanted::Decimal), _) | (None, Natural::Measured) => {
            let mut guess = Guess::new(Some(Wanted::Decimal));
            let mut rows = 0;
            source.cells(column, &mut |cell| {
                guess.push(cell);
                rows += 1;
                if rows > options.max_rows {
                    Err(ImportError::TooManyRows(options.max_rows))
                } else {
                    Ok(())
                }
            })?;
            guess.decimal(&column.name).map(Target::Exactly)
        }
    }
}

fn check_rows(column: &Chosen, filler: &Filler, columns: &[Filled]) -> Result<(), ImportError> {
    let found = filler.rows();
    let first = columns.first();
    let expected = first.map_or(found, |column| column.data.rows() as u64);
    if expected == found {
        return Ok(());
    }
    Err(ImportError::Rows(
        column.name.clone(),
        Mismatch::new(expected, found),
    ))
}
