//! Converts a column's cells to values of its type and stores them.

use super::cell::Cell;
use super::{ImportError, ImportOptions};
use crate::calendar::{Moment, far_timestamp_text, in_years, parse_timestamp};
use crate::column::{ColumnData, OrdinalData, TextData};
use crate::decimal::{Misfit, Written};
use crate::value_parse::{check_ordinal, check_text, excerpt, misfit_error};
use crate::{ColumnType, MAX_TEXT_BYTES, Value, ValueError};
use omr_errors::Mismatch;

/// Takes a column's cells and keeps their values.
pub(super) struct Filler {
    name: String,
    kind: ColumnType,
    data: ColumnData,
    /// Whether the longest text decides the type.
    measured: bool,
    truncate: bool,
    cuts: Cuts,
    max_rows: u64,
}

/// The values of a column that were cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cuts {
    /// The first row with a value that was cut, counted from 0.
    pub(crate) first: u64,
    /// The number of values that were cut.
    pub(crate) values: u64,
    /// The number of texts without a character that fits.
    pub(crate) empty: u64,
}

/// The part of a value that remains where cuts are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    All,
    Part,
    Nothing,
}

/// The type that a column is filled as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Exactly(ColumnType),
    /// Text as long as the longest value.
    MeasuredText,
}

impl Filler {
    pub(super) fn new(name: &str, target: Target, options: &ImportOptions) -> Self {
        let kind = match target {
            Target::Exactly(kind) => kind,
            Target::MeasuredText => ColumnType::Text {
                max_bytes: MAX_TEXT_BYTES,
            },
        };
        Filler {
            name: name.into(),
            kind,
            data: ColumnData::new(kind),
            measured: target == Target::MeasuredText,
            truncate: options.truncate,
            cuts: Cuts::default(),
            max_rows: options.max_rows.min(crate::MAX_ROWS),
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.data.rows() as u64
    }

    /// Takes the next row's cell.
    pub(super) fn push(&mut self, cell: &Cell) -> Result<(), ImportError> {
        if self.rows() == self.max_rows {
            return Err(ImportError::TooManyRows(self.max_rows));
        }
        let (kind, truncate) = (self.kind, self.truncate);
        let pushed = match &mut self.data {
            ColumnData::Ordinals(data) => push_ordinal(data, cell, kind, truncate),
            ColumnData::Texts(data) => push_text(data, cell, kind, truncate),
        };
        let left = pushed.map_err(|error| ImportError::Value {
            row: self.rows(),
            column: self.name.clone(),
            error,
        })?;
        if left != Left::All {
            if self.cuts.values == 0 {
                self.cuts.first = self.rows() - 1;
            }
            self.cuts.values += 1;
            self.cuts.empty += u64::from(left == Left::Nothing);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Filled {
        let kind = match &self.data {
            ColumnData::Texts(data) if self.measured => ColumnType::Text {
                max_bytes: data.longest().max(1) as u8,
            },
            _ => self.kind,
        };
        Filled {
            name: self.name,
            kind,
            data: self.data,
            cuts: self.cuts,
        }
    }
}

/// A column as it was imported.
pub(crate) struct Filled {
    pub(crate) name: String,
    pub(crate) kind: ColumnType,
    pub(crate) data: ColumnData,
    pub(crate) cuts: Cuts,
}

fn push_ordinal(
    data: &mut OrdinalData,
    cell: &Cell,
    kind: ColumnType,
    truncate: bool,
) -> Result<Left, ValueError> {
    let moment = match cell {
        Cell::Text(text) if kind == ColumnType::Timestamp && truncate => parse_timestamp(text),
        Cell::Moment(moment) if kind == ColumnType::Timestamp => Some(*moment),
        _ => None,
    };
    let ordinal = match (cell, moment) {
        (Cell::Null, _) => None,
        (_, Some(moment)) => Some(seconds(moment, truncate)?),
        (Cell::Text(text), None) => Some(read(text, kind)?),
        (cell, None) => Some(ordinal(cell, kind)?),
    };
    if let Some(ordinal) = ordinal {
        check_ordinal(ordinal, kind)?;
    }
    data.push(ordinal);
    match moment {
        Some(moment) if moment.fraction => Ok(Left::Part),
        _ => Ok(Left::All),
    }
}

/// The ordinal of a text.
fn read(text: &str, kind: ColumnType) -> Result<i64, ValueError> {
    match kind {
        ColumnType::Decimal { scale } => match Written::parse(text) {
            Some(number) => rounded(number, scale),
            None => ordinal_of(Value::parse(text, kind)?, kind),
        },
        // Whole numbers that a program wrote as 12.0.
        ColumnType::Integer => match (text.parse(), Written::parse(text)) {
            (Ok(number), _) => Ok(number),
            (Err(_), Some(number)) if text.contains('.') => whole(number),
            _ => ordinal_of(Value::parse(text, kind)?, kind),
        },
        _ => ordinal_of(Value::parse(text, kind)?, kind),
    }
}

fn ordinal_of(value: Value, kind: ColumnType) -> Result<i64, ValueError> {
    value
        .ordinal()
        .ok_or(ValueError::Kind(Mismatch::new(kind, value.noun())))
}

/// The ordinal of a cell other than text.
fn ordinal(cell: &Cell, kind: ColumnType) -> Result<i64, ValueError> {
    match (kind, cell) {
        (ColumnType::Boolean, Cell::Boolean(truth)) => Ok(i64::from(*truth)),
        (ColumnType::Integer, Cell::Integer(number)) => {
            i64::try_from(*number).map_err(|_| out_of_range(kind, number.to_string()))
        }
        (ColumnType::Integer, Cell::Number(number)) => whole(*number),
        (ColumnType::Date, Cell::Date(days)) => Ok(*days),
        // Days that a program wrote as their midnights.
        (ColumnType::Date, Cell::Moment(moment)) => match moment.seconds.rem_euclid(86_400) {
            0 if !moment.fraction => Ok(moment.seconds.div_euclid(86_400)),
            _ => Err(ValueError::Kind(Mismatch::new(kind, cell.noun()))),
        },
        (ColumnType::Timestamp, Cell::Date(days)) => days
            .checked_mul(86_400)
            .ok_or_else(|| out_of_range(kind, format!("{days} days"))),
        (ColumnType::Decimal { scale }, Cell::Number(number)) => rounded(*number, scale),
        (ColumnType::Decimal { scale }, Cell::Integer(number)) => {
            rounded(Written::new(*number, 0), scale)
        }
        (_, Cell::Odd(found)) => Err(out_of_range(kind, found.clone())),
        (_, cell) => Err(ValueError::Kind(Mismatch::new(kind, cell.noun()))),
    }
}

fn out_of_range(expected: ColumnType, found: String) -> ValueError {
    ValueError::Range(Mismatch::new(expected, found))
}

fn rounded(number: Written, scale: u8) -> Result<i64, ValueError> {
    number
        .rounded(scale)
        .map_err(|misfit| misfit_error(misfit, scale, &number.to_string()))
}

/// A number without a fraction.
fn whole(number: Written) -> Result<i64, ValueError> {
    number.whole().map_err(|misfit| match misfit {
        Misfit::Places => misfit_error(misfit, 0, &number.to_string()),
        Misfit::Digits => out_of_range(ColumnType::Integer, number.to_string()),
    })
}

fn seconds(moment: Moment, truncate: bool) -> Result<i64, ValueError> {
    // Where the second is out of range that matters more than its fraction.
    if moment.fraction && !truncate && in_years(moment.seconds) {
        let second = far_timestamp_text(moment.seconds);
        return Err(ValueError::Fraction(format!("{second} and a fraction")));
    }
    Ok(moment.seconds)
}

fn push_text(
    data: &mut TextData,
    cell: &Cell,
    kind: ColumnType,
    truncate: bool,
) -> Result<Left, ValueError> {
    let ColumnType::Text { max_bytes } = kind else {
        return Err(ValueError::Kind(Mismatch::new(kind, "text")));
    };
    let written;
    let text = match cell {
        Cell::Null => {
            data.push(None);
            return Ok(Left::All);
        }
        Cell::Text(text) => *text,
        cell => {
            written = write(cell, kind)?;
            &written
        }
    };
    let end = if truncate {
        text.floor_char_boundary(usize::from(max_bytes))
    } else {
        text.len()
    };
    check_text(&text[..end], max_bytes)?;
    data.push(Some(&text[..end]));
    if end == text.len() {
        Ok(Left::All)
    } else if end > 0 {
        Ok(Left::Part)
    } else {
        Ok(Left::Nothing)
    }
}

/// Numbers and truths as text, where that was asked for.
fn write(cell: &Cell, kind: ColumnType) -> Result<String, ValueError> {
    match cell {
        Cell::Boolean(truth) => Ok(truth.to_string()),
        Cell::Integer(number) => Ok(number.to_string()),
        Cell::Number(number) => Ok(number.to_string()),
        Cell::Odd(found) => Ok(excerpt(found)),
        cell => Err(ValueError::Kind(Mismatch::new(kind, cell.noun()))),
    }
}
