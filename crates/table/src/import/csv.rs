//! Imports CSV files.

mod records;

pub use records::CsvFault;

use std::io::{Read, Seek, SeekFrom};

use super::cell::Cell;
use super::fill::{Filler, Target};
use super::guess::Guess;
use super::select::{Chosen, choose};
use super::{ImportError, ImportOptions, Progress, Wanted};
use crate::Table;
use crate::value_parse::excerpt;
use records::{Record, RecordError, Records};

/// Characters besides the comma that separate fields in files of other programs.
const SEPARATORS: [char; 3] = [';', '\t', '|'];
/// Rows between two reports.
const REPORT_ROWS: u64 = 1 << 14;

/// Imports CSV with a header, strictly by RFC 4180: a file that other readers would have to repair is refused with its
/// line. Lines may end with a carriage return alone if all do.
///
/// Empty fields are absent values, quoted or not. So is a blank line of a file of one column; in a file of several
/// columns blank lines are skipped.
///
/// Types that are not declared are found out in a first pass over all rows: boolean, integer, decimal of as many
/// places as there are, date, timestamp, else text as long as its longest value. Numbers that begin with `+` or a
/// superfluous zero are text.
///
/// Errors: see [`ImportError`].
pub fn import_csv<R: Read + Seek>(
    mut source: R,
    options: &ImportOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Table, ImportError> {
    let length = source.seek(SeekFrom::End(0))?;
    let names = header(&mut source, options)?;
    let chosen = choose(&names, options)?;
    let known = chosen.iter().all(|column| known_target(column).is_some());
    let total = if known { length } else { 2 * length };
    let mut report = |done| progress(Progress { done, total });
    let targets = if known {
        chosen.iter().filter_map(known_target).collect()
    } else {
        guess(&mut source, options, &chosen, &mut report)?
    };
    let mut fillers: Vec<Filler> = chosen
        .iter()
        .zip(targets)
        .map(|(column, target)| Filler::new(&column.name, target, options))
        .collect();
    Pass::begin(&mut source, options)?.rows(
        &chosen,
        &mut |done| report(total - length + done),
        &mut |column, cell| fillers[column].push(cell),
    )?;
    report(total);
    let columns = fillers.into_iter().map(Filler::finish).collect();
    Ok(Table::imported(&options.name, options.salt, columns))
}

/// The names in the first line that is not blank.
pub(super) fn header<R: Read + Seek>(
    source: &mut R,
    options: &ImportOptions,
) -> Result<Vec<String>, ImportError> {
    Pass::begin(source, options)?.header(options.delimiter)
}

/// The type of a column that need not be looked at.
fn known_target(column: &Chosen) -> Option<Target> {
    match column.wanted? {
        Wanted::Exactly(kind) => Some(Target::Exactly(kind)),
        Wanted::Text => Some(Target::MeasuredText),
        Wanted::Decimal => None,
    }
}

/// The first pass.
fn guess<R: Read + Seek>(
    source: &mut R,
    options: &ImportOptions,
    chosen: &[Chosen],
    report: &mut dyn FnMut(u64),
) -> Result<Vec<Target>, ImportError> {
    let new = |column: &Chosen| Guess::new(column.wanted);
    let mut guesses: Vec<Guess> = chosen.iter().map(new).collect();
    let pass = Pass::begin(source, options)?;
    pass.rows(chosen, report, &mut |column, cell| {
        guesses[column].push(cell);
        Ok(())
    })?;
    let target = |(column, guess): (&Chosen, &Guess)| match column.wanted {
        Some(Wanted::Decimal) => guess.decimal(&column.name).map(Target::Exactly),
        _ => known_target(column).map_or_else(|| guess.target(&column.name), Ok),
    };
    chosen.iter().zip(&guesses).map(target).collect()
}

/// One reading of the file.
struct Pass<'a, R> {
    records: Records<&'a mut R>,
    limit: u64,
    max_rows: u64,
}

impl<'a, R: Read + Seek> Pass<'a, R> {
    fn begin(source: &'a mut R, options: &ImportOptions) -> Result<Self, ImportError> {
        source.rewind()?;
        let delimiter = options.delimiter.unwrap_or(b',');
        let limit = options.max_row_bytes;
        Ok(Pass {
            records: Records::new(source, delimiter, limit)?,
            limit,
            max_rows: options.max_rows,
        })
    }

    /// Takes the header, of at least one name.
    fn header(&mut self, delimiter: Option<u8>) -> Result<Vec<String>, ImportError> {
        let mut record = Record::default();
        loop {
            if !self.next(&mut record, 0)? {
                return Err(ImportError::Csv {
                    line: 1,
                    fault: CsvFault::NoHeader,
                });
            }
            if !record.is_blank() {
                break;
            }
        }
        let fault = |fault| ImportError::Csv {
            line: record.line,
            fault,
        };
        let mut names = Vec::new();
        for place in 0..record.len() {
            let name = record.field(place);
            if name.contains(&0) {
                return Err(fault(CsvFault::Zeros));
            }
            match std::str::from_utf8(name) {
                Ok(name) => names.push(name.to_owned()),
                Err(_) => return Err(fault(CsvFault::Utf8)),
            }
        }
        if let (None, [name]) = (delimiter, names.as_slice())
            && let Some(separator) = name.chars().find(|c| SEPARATORS.contains(c))
        {
            let name = excerpt(name);
            return Err(fault(CsvFault::Delimiter { name, separator }));
        }
        Ok(names)
    }

    /// Hands every chosen cell of every row on, with its place among the chosen.
    ///
    /// A blank line is a row of one column, whose value is absent. Of several columns it is none.
    fn rows(
        mut self,
        chosen: &[Chosen],
        report: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(usize, &Cell) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let expected = self.header(Some(self.records.delimiter()))?.len();
        let mut record = Record::default();
        let mut row = 0;
        while self.next(&mut record, row)? {
            let found = record.len();
            if record.is_blank() && expected > 1 {
                continue;
            }
            if found != expected {
                return Err(ImportError::Csv {
                    line: record.line,
                    fault: CsvFault::Fields { expected, found },
                });
            }
            if row == self.max_rows {
                return Err(ImportError::TooManyRows(row));
            }
            for (place, column) in chosen.iter().enumerate() {
                match std::str::from_utf8(record.field(column.place)) {
                    Ok("") => take(place, &Cell::Null)?,
                    Ok(text) => take(place, &Cell::Text(text))?,
                    Err(_) => {
                        let column = column.name.clone();
                        return Err(ImportError::Utf8 { row, column });
                    }
                }
            }
            row += 1;
            if row.is_multiple_of(REPORT_ROWS) {
                report(self.records.position());
            }
        }
        Ok(())
    }

    fn next(&mut self, record: &mut Record, row: u64) -> Result<bool, ImportError> {
        let limit = self.limit;
        self.records.next(record).map_err(|error| match error {
            RecordError::Io(error) => error.into(),
            RecordError::TooLong => ImportError::RowTooLong { row, limit },
            RecordError::Fault(line, fault) => ImportError::Csv { line, fault },
        })
    }
}
