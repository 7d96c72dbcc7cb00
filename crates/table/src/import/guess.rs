//! Finds the type of a column from its values.

use super::cell::Cell;
use super::fill::Target;
use super::{ImportError, Wanted};
use crate::ColumnType;
use crate::calendar::{parse_date, parse_timestamp};
use crate::decimal::Written;
use crate::value_parse::parse_boolean;

/// Digits of a decimal.
const DIGITS: u32 = 18;

/// The types that all values of a column so far have. Absent values have every type.
#[derive(Clone, Debug)]
pub(super) struct Guess {
    /// Whether a decimal is wanted, however its numbers are written.
    decimal: bool,
    seen: bool,
    boolean: bool,
    integer: bool,
    number: bool,
    date: bool,
    timestamp: bool,
    /// Most digits before and behind the point.
    whole: u32,
    places: u32,
}

impl Guess {
    pub(super) fn new(wanted: Option<Wanted>) -> Self {
        Guess {
            decimal: wanted == Some(Wanted::Decimal),
            seen: false,
            boolean: true,
            integer: true,
            number: true,
            date: true,
            timestamp: true,
            whole: 0,
            places: 0,
        }
    }

    /// Takes the next value; of cells other than text and numbers it learns nothing.
    pub(super) fn push(&mut self, cell: &Cell) {
        match cell {
            Cell::Text(text) => self.push_text(text),
            Cell::Number(number) => {
                self.seen = true;
                self.measure(*number);
            }
            _ => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        self.seen = true;
        self.boolean = self.boolean && parse_boolean(text).is_some();
        self.date = self.date && parse_date(text).is_some();
        self.timestamp = self.timestamp && parse_timestamp(text).is_some();
        if self.number || self.decimal {
            let number = Written::parse(text);
            self.number = self.number && number.is_some() && !looks_like_a_code(text);
            self.integer = self.integer && text.parse::<i64>().is_ok();
            number.into_iter().for_each(|number| self.measure(number));
        }
    }

    fn measure(&mut self, number: Written) {
        self.whole = self.whole.max(number.whole_digits());
        self.places = self.places.max(number.places());
    }

    /// The type that all values have.
    ///
    /// Errors: numbers of too many digits.
    pub(super) fn target(&self, column: &str) -> Result<Target, ImportError> {
        Ok(match self {
            Guess { seen: false, .. } => Target::MeasuredText,
            Guess { boolean: true, .. } => Target::Exactly(ColumnType::Boolean),
            Guess {
                number: true,
                integer: true,
                ..
            } => Target::Exactly(ColumnType::Integer),
            Guess { number: true, .. } => Target::Exactly(self.decimal(column)?),
            Guess { date: true, .. } => Target::Exactly(ColumnType::Date),
            Guess {
                timestamp: true, ..
            } => Target::Exactly(ColumnType::Timestamp),
            _ => Target::MeasuredText,
        })
    }

    /// The decimal that holds all numbers.
    ///
    /// Errors: too many digits.
    pub(super) fn decimal(&self, column: &str) -> Result<ColumnType, ImportError> {
        if self.whole.saturating_add(self.places) <= DIGITS {
            Ok(ColumnType::Decimal {
                scale: self.places as u8,
            })
        } else {
            Err(ImportError::Digits {
                column: column.into(),
                whole: self.whole,
                places: self.places,
            })
        }
    }
}

/// Telephones and post codes begin with a plus or superfluous zeros, which numbers would lose.
pub(crate) fn looks_like_a_code(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    matches!(digits, [b'+', ..] | [b'0', b'0'..=b'9', ..])
}
