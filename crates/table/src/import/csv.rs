//! Imports CSV files.

use std::cell::Cell as Counter;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use ::csv::{ByteRecord, Reader, ReaderBuilder};

use super::cell::Cell;
use super::fill::{Filler, Target};
use super::guess::Guess;
use super::select::{Chosen, choose};
use super::{ImportError, ImportOptions, Progress, Wanted};
use crate::Table;

/// Bytes read at once.
const BUFFER: usize = 1 << 18;
/// Rows between two reports.
const REPORT_ROWS: u64 = 1 << 14;

/// Imports CSV with a header, by its quotes as RFC 4180 has them; empty fields are absent values.
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
    let names = Pass::begin(&mut source, options)?.names()?;
    let chosen = choose(&names, options)?;
    let known = chosen.iter().all(|column| known_target(column).is_some());
    let total = if known { length } else { 2 * length };
    let mut report = |done| progress(Progress { done, total });
    let targets = match known {
        true => chosen.iter().filter_map(known_target).collect(),
        false => guess(&mut source, options, &chosen, &mut report)?,
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
    Ok(Table::new(options.name.clone(), options.salt, columns))
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
    reader: Reader<Limited<&'a mut R>>,
    since: Rc<Counter<u64>>,
    limit: u64,
    max_rows: u64,
}

impl<'a, R: Read + Seek> Pass<'a, R> {
    fn begin(source: &'a mut R, options: &ImportOptions) -> Result<Self, ImportError> {
        source.rewind()?;
        let since = Rc::new(Counter::new(0));
        let limited = Limited {
            source,
            since: since.clone(),
            limit: options.max_row_bytes,
        };
        let mut builder = ReaderBuilder::new();
        builder.delimiter(options.delimiter).buffer_capacity(BUFFER);
        Ok(Pass {
            reader: builder.from_reader(limited),
            since,
            limit: options.max_row_bytes,
            max_rows: options.max_rows,
        })
    }

    /// The header.
    fn names(mut self) -> Result<Vec<String>, ImportError> {
        let limit = self.limit;
        let headers = self
            .reader
            .headers()
            .map_err(|error| match error.is_io_error() {
                true if self.since.get() > limit => ImportError::RowTooLong { row: 0, limit },
                _ => error.into(),
            });
        Ok(headers?.iter().map(String::from).collect())
    }

    /// Hands every chosen cell of every row on, with its place among the chosen.
    fn rows(
        mut self,
        chosen: &[Chosen],
        report: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(usize, &Cell) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let mut record = ByteRecord::new();
        let mut row = 0;
        while self.next(&mut record, row)? {
            if row == self.max_rows {
                return Err(ImportError::TooManyRows(row));
            }
            for (place, column) in chosen.iter().enumerate() {
                let field = &record[column.place];
                match std::str::from_utf8(field) {
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
                report(self.reader.position().byte());
            }
        }
        Ok(())
    }

    fn next(&mut self, record: &mut ByteRecord, row: u64) -> Result<bool, ImportError> {
        self.since.set(0);
        let limit = self.limit;
        self.reader
            .read_byte_record(record)
            .map_err(|error| match error.is_io_error() {
                true if self.since.get() > limit => ImportError::RowTooLong { row, limit },
                _ => error.into(),
            })
    }
}

/// Ends a row that takes too many bytes before it takes memory.
struct Limited<R> {
    source: R,
    /// Bytes read since the last row ended.
    since: Rc<Counter<u64>>,
    limit: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.since.get() > self.limit {
            return Err(io::Error::other("a row too long"));
        }
        let read = self.source.read(out)?;
        self.since.set(self.since.get() + read as u64);
        Ok(read)
    }
}
