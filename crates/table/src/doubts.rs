//! Checks an imported table for content that its owner may not have meant.

use std::fmt;

use crate::calendar::{is_other_date, is_other_moment, parse_date, parse_timestamp};
use crate::decimal::Written;
use crate::import::looks_like_a_code;
use crate::value_parse::{excerpt, parse_boolean};
use crate::{ColumnType, Declared, Table};

/// Something in an imported table that its owner may not have meant. `Display` prints a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// A column is text because some of its values are, though at least half look like another type.
    Text {
        /// The column.
        column: String,
        /// The type that the others look like.
        looks: Looks,
        /// The first row, counted from 0, whose value is not written as that type is.
        row: u64,
        /// The value in that row, cut to 60 characters.
        value: String,
        /// The number of values that are written as that type is.
        written: u64,
        /// The number of values that are present.
        present: u64,
    },
    /// Columns have names that could be values of theirs: the file has perhaps no header.
    Header(Vec<String>),
    /// The name of a column begins or ends with a space.
    Space(String),
    /// Values of a column were cut, as an option allowed.
    Cut {
        /// The column.
        column: String,
        /// The type of the column.
        kind: ColumnType,
        /// The first row with a value that was cut, counted from 0.
        row: u64,
        /// The number of values that were cut.
        values: u64,
        /// The number of texts without a character that fits, which became empty.
        empty: u64,
    },
}

/// A type that texts look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Looks {
    /// Numbers.
    Number,
    /// Days.
    Date,
    /// Moments.
    Timestamp,
    /// Truths.
    Boolean,
}

impl Looks {
    const ALL: [Looks; 4] = [Looks::Boolean, Looks::Number, Looks::Date, Looks::Timestamp];

    /// How its values are written.
    fn form(self) -> &'static str {
        match self {
            Looks::Number => "a number such as -12.5",
            Looks::Date => "a date such as 2012-12-31",
            Looks::Timestamp => "a moment such as 2012-12-31 18:20:00",
            Looks::Boolean => "true or false",
        }
    }

    /// Whether a text is written as values of the type are.
    fn is_written(self, text: &str) -> bool {
        match self {
            Looks::Number => Written::parse(text).is_some() && !looks_like_a_code(text),
            Looks::Date => parse_date(text).is_some(),
            Looks::Timestamp => parse_timestamp(text).is_some(),
            Looks::Boolean => parse_boolean(text).is_some(),
        }
    }

    /// Whether a text means a value of the type, but is not written as those are.
    fn is_meant(self, text: &str) -> bool {
        match self {
            Looks::Number => is_other_number(text),
            Looks::Date => is_other_date(text),
            Looks::Timestamp => is_other_date(text) || is_other_moment(text),
            Looks::Boolean => parse_boolean(text.trim()).is_some(),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Text {
                column,
                looks,
                row,
                value,
                written,
                present,
            } => {
                let form = looks.form();
                write!(
                    f,
                    "column {column:?} is text, which has no order to ask for: row {row}, counted from 0, has \
                     {value:?}, expected {form}"
                )?;
                match written {
                    0 => {}
                    _ => write!(f, ", as {written} of {present} values are")?,
                }
                f.write_str(": declare the column as text if it is meant")
            }
            Doubt::Header(names) => write!(
                f,
                "columns are called {}, which could be values of theirs: expected their names in the first line",
                names.join(", ")
            ),
            Doubt::Cut {
                column,
                kind,
                row,
                values,
                empty,
            } => {
                let what = match kind {
                    ColumnType::Text { max_bytes } => format!("to {max_bytes} bytes"),
                    _ => "to whole seconds".to_owned(),
                };
                write!(
                    f,
                    "column {column:?}: {values} values were cut {what}, the first in row {row}, counted from 0"
                )?;
                match empty {
                    0 => Ok(()),
                    _ => write!(f, "; nothing is left of {empty} of them"),
                }
            }
            Doubt::Space(name) => write!(
                f,
                "column {name:?} begins or ends with a space, which queries must contain, too"
            ),
        }
    }
}

impl Table {
    /// Returns what in a table that was just imported is perhaps not meant. Types that were declared are.
    pub fn doubts(&self, declared: &[Declared]) -> Vec<Doubt> {
        let columns = &self.schema().columns;
        let mut doubts: Vec<Doubt> = self.header().into_iter().collect();
        for (place, column) in columns.iter().enumerate() {
            let cuts = self.cuts().get(place).copied().unwrap_or_default();
            if cuts.values > 0 {
                doubts.push(Doubt::Cut {
                    column: column.name.clone(),
                    kind: column.kind,
                    row: cuts.first,
                    values: cuts.values,
                    empty: cuts.empty,
                });
            }
            if column.name.trim() != column.name {
                doubts.push(Doubt::Space(column.name.clone()));
            }
            let name = column.name.to_lowercase();
            if !declared
                .iter()
                .any(|other| other.name.to_lowercase() == name)
            {
                doubts.extend(self.text_doubt(place));
            }
        }
        doubts
    }

    /// Doubts the header where every column but those of text has a name that is a value of its type.
    fn header(&self) -> Option<Doubt> {
        let columns = self.schema().columns.iter();
        let mut typed = columns.filter(|column| !matches!(column.kind, ColumnType::Text { .. }));
        let is_value = |name: &str| Looks::ALL.iter().any(|looks| looks.is_written(name));
        let names: Vec<String> = typed.clone().map(|column| column.name.clone()).collect();
        let doubted = !names.is_empty() && typed.all(|column| is_value(&column.name));
        doubted.then_some(Doubt::Header(names))
    }

    fn text_doubt(&self, place: usize) -> Option<Doubt> {
        let texts = self.texts(place)?;
        let mut found = Looks::ALL.map(|looks| Found {
            looks,
            written: 0,
            meant: 0,
            odd: None,
        });
        let mut present = 0;
        for (row, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            present += 1;
            for found in &mut found {
                found.push(row, text);
            }
        }
        // The first of types that fit as many values: a day alone is also a moment.
        let mut likely: Option<&Found> = None;
        for found in &found {
            if likely.is_none_or(|likely| found.fitting() > likely.fitting()) {
                likely = Some(found);
            }
        }
        let likely = likely.filter(|found| found.fitting() * 2 >= present.max(1))?;
        let row = likely.odd?;
        Some(Doubt::Text {
            column: self.schema().columns[place].name.clone(),
            looks: likely.looks,
            row: row as u64,
            value: excerpt(texts.at(row)?),
            written: likely.written,
            present,
        })
    }
}

/// How many texts look like a type.
struct Found {
    looks: Looks,
    written: u64,
    meant: u64,
    /// The first row whose text is not written as the type is.
    odd: Option<usize>,
}

impl Found {
    fn push(&mut self, row: usize, text: &str) {
        if self.looks.is_written(text) {
            self.written += 1;
            return;
        }
        self.odd = self.odd.or(Some(row));
        self.meant += u64::from(self.looks.is_meant(text));
    }

    fn fitting(&self) -> u64 {
        self.written + self.meant
    }
}

/// Whether a text is a number in another form: with spaces around it, a currency or percent sign, thousands apart, or a
/// comma before the decimals.
fn is_other_number(text: &str) -> bool {
    let signs = |c: char| c.is_whitespace() || matches!(c, '$' | '€' | '£' | '¥' | '%');
    let text = text.trim_matches(signs);
    if looks_like_a_code(text) {
        return false;
    }
    let text = text
        .strip_prefix('-')
        .unwrap_or(text)
        .trim_start_matches(signs);
    if Written::parse(text).is_some() {
        return true;
    }
    let last = text.rfind([',', '.']);
    let [point, thousands] = match last.map(|last| text.as_bytes()[last]) {
        Some(b',') => [',', '.'],
        _ => ['.', ','],
    };
    let (whole, decimals) = text.split_once(point).unwrap_or((text, "0"));
    is_digits(decimals) && is_grouped(whole, &[thousands, '\'', ' ', '\u{a0}', '\u{202f}'])
        // Commas may also stand between thousands alone.
        || is_grouped(text, &[','])
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is digits, perhaps in groups of three with one of the separators between.
fn is_grouped(text: &str, separators: &[char]) -> bool {
    let Some(separator) = text.chars().find(|c| separators.contains(c)) else {
        return is_digits(text);
    };
    let mut groups = text.split(separator);
    let first = groups.next().unwrap_or_default();
    is_digits(first) && first.len() <= 3 && groups.all(|group| is_digits(group) && group.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_other_forms() {
        for text in [
            " 1",
            "2.5 ",
            "1,5",
            "$1.50",
            "-$3",
            "12 %",
            "1,000",
            "1,234,567.89",
            "1.234,5",
            "1'000.5",
            "12 345,6",
            "€ 1.000,00",
        ] {
            assert!(is_other_number(text), "{text}");
        }
        for text in [
            "",
            " ",
            "NA",
            "007",
            "+49 30 1234",
            "10.0.0.1",
            "1,2,3",
            "555 1234",
            "12-31",
            "1.2.3",
            "$",
            "%",
            "a1",
            "2012-12-31",
        ] {
            assert!(!is_other_number(text), "{text}");
        }
    }
}
