//! The values of one column, one after another.

use crate::bits::Bits;
use crate::{ColumnType, Domain, Value};

/// A column's values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnData {
    Ordinals(OrdinalData),
    Texts(TextData),
}

/// 8 bytes and a bit a row; absent values are 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OrdinalData {
    pub(crate) values: Vec<i64>,
    pub(crate) present: Bits,
}

/// All text in one, 8 bytes and a bit a row beside it; absent values are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TextData {
    pub(crate) text: String,
    /// Where each row's text ends, and the next one's begins.
    pub(crate) ends: Vec<u64>,
    pub(crate) present: Bits,
}

impl ColumnData {
    pub(crate) fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Text { .. } => ColumnData::Texts(TextData::default()),
            _ => ColumnData::Ordinals(OrdinalData::default()),
        }
    }

    /// Adds a value that has been checked to be of the column's type.
    pub(crate) fn push(&mut self, value: &Value) {
        match (self, value) {
            (ColumnData::Texts(data), Value::Text(text)) => data.push(Some(text)),
            (ColumnData::Texts(data), _) => data.push(None),
            (ColumnData::Ordinals(data), value) => data.push(value.ordinal()),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.present().len()
    }

    pub(crate) fn present(&self) -> &Bits {
        match self {
            ColumnData::Ordinals(data) => &data.present,
            ColumnData::Texts(data) => &data.present,
        }
    }

    /// The range of the ordinals that are present.
    pub(crate) fn domain(&self) -> Option<Domain> {
        let ColumnData::Ordinals(data) = self else {
            return None;
        };
        data.view().iter().flatten().fold(None, |domain, ordinal| {
            let Domain { min, max } = domain.unwrap_or(Domain::new(ordinal, ordinal));
            Some(Domain::new(min.min(ordinal), max.max(ordinal)))
        })
    }
}

impl OrdinalData {
    pub(crate) fn push(&mut self, ordinal: Option<i64>) {
        self.values.push(ordinal.unwrap_or(0));
        self.present.push(ordinal.is_some());
    }

    pub(crate) fn view(&self) -> Ordinals<'_> {
        Ordinals { data: self }
    }
}

impl TextData {
    pub(crate) fn push(&mut self, text: Option<&str>) {
        self.text.push_str(text.unwrap_or(""));
        self.ends.push(self.text.len() as u64);
        self.present.push(text.is_some());
    }

    pub(crate) fn view(&self) -> Texts<'_> {
        Texts { data: self }
    }

    /// Bytes of the longest text.
    pub(crate) fn longest(&self) -> usize {
        let mut begin = 0;
        let lengths = self.ends.iter().map(|&end| {
            let length = end - begin;
            begin = end;
            length as usize
        });
        lengths.max().unwrap_or(0)
    }
}

/// The ordinals of a column, for fast scans.
#[derive(Clone, Copy, Debug)]
pub struct Ordinals<'a> {
    data: &'a OrdinalData,
}

impl<'a> Ordinals<'a> {
    /// One number a row; 0 where the value is absent.
    pub fn values(self) -> &'a [i64] {
        &self.data.values
    }

    /// Returns the bits of present values: 64 rows a word, the first row lowest, 0 behind the last row.
    pub fn present(self) -> &'a [u64] {
        self.data.present.words()
    }

    /// The ordinal of a row, `None` where it is absent. Panics: no such row.
    pub fn at(self, row: usize) -> Option<i64> {
        self.data.present.at(row).then(|| self.data.values[row])
    }

    /// All rows in their order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Option<i64>> + 'a {
        (0..self.data.values.len()).map(move |row| self.at(row))
    }
}

/// The texts of a column.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    data: &'a TextData,
}

impl<'a> Texts<'a> {
    /// The text of a row, `None` where it is absent. Panics: no such row.
    pub fn at(self, row: usize) -> Option<&'a str> {
        let begin = match row {
            0 => 0,
            _ => self.data.ends[row - 1] as usize,
        };
        let present = self.data.present.at(row);
        present.then(|| &self.data.text[begin..self.data.ends[row] as usize])
    }

    /// All rows in their order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Option<&'a str>> + 'a {
        (0..self.data.ends.len()).map(move |row| self.at(row))
    }
}
