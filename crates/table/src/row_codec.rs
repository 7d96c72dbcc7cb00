//! Rows as a fixed number of bytes: `docs/table.md`, section 4.

use crate::{Column, ColumnType, Domain, Schema, Table, Value};
use omr_errors::Mismatch;

/// Most bytes of an encoded row.
pub const MAX_ROW_BYTES: usize = 2048;

/// Fills texts up. Neither byte occurs in UTF-8.
const FILL: u8 = 0xFF;
/// The first byte of an absent text.
const ABSENT: u8 = 0xFE;

/// Why a row could not be encoded or decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// No columns were asked for.
    #[error("expected at least one column, found none")]
    NoColumns,
    /// A column is not there.
    #[error("column {}, counted from 0: expected one of {}", .0.found, .0.expected)]
    NoColumn(Mismatch<usize>),
    /// A row of the columns takes too many bytes: this number.
    #[error("a row of these columns: expected at most {MAX_ROW_BYTES} bytes, found {0}")]
    TooWide(usize),
    /// The table has no such row.
    #[error("row {}, counted from 0: expected one of {}", .0.found, .0.expected)]
    NoRow(Mismatch<usize>),
    /// The bytes are not as many as a row has.
    #[error("a row: expected {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<usize>),
    /// The table is of another schema than the codec, in this column.
    #[error("column {0:?}: expected a value of its schema's type and domain, found another")]
    OtherTable(String),
    /// A number lies outside its column's domain.
    #[error("column {column:?}: expected one of {states} states, found number {found}")]
    Outside {
        /// The column.
        column: String,
        /// States there are.
        states: u128,
        /// The number found.
        found: u128,
    },
    /// A text of this column is not UTF-8, or not filled up as it must be.
    #[error("column {0:?}: expected UTF-8 filled up with 0xFF, found other bytes")]
    Text(String),
    /// Bits that must be zero are not.
    #[error("bits between numbers and texts: expected zeros, found {0:#04x}")]
    Padding(u8),
}

/// Encodes some columns of a row in a fixed number of bytes, as few as their domains allow without mixing them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCodec {
    fields: Vec<Field>,
    number_bits: usize,
    bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    place: usize,
    name: String,
    kind: ColumnType,
    nullable: bool,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Bits of the number.
    Number { domain: Option<Domain>, bits: u32 },
    /// Bytes of the text.
    Text { bytes: usize },
}

impl RowCodec {
    /// The codec of `columns`, by their places in the schema, in that order, repeated ones included.
    ///
    /// Errors: no columns, one that is not there, more than [`MAX_ROW_BYTES`] together.
    pub fn new(schema: &Schema, columns: &[usize]) -> Result<Self, RowError> {
        if columns.is_empty() {
            return Err(RowError::NoColumns);
        }
        let field = |&place: &usize| match schema.columns.get(place) {
            Some(column) => Ok(Field::new(place, column)),
            None => Err(RowError::NoColumn(Mismatch::new(
                schema.columns.len(),
                place,
            ))),
        };
        let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
        let (mut number_bits, mut text_bytes) = (0, 0);
        for field in &fields {
            match field.form {
                Form::Number { bits, .. } => number_bits += bits as usize,
                Form::Text { bytes } => text_bytes += bytes,
            }
        }
        // Columns that hold one value each take no bits, but a row is at least a byte.
        let bytes = (number_bits.div_ceil(8) + text_bytes).max(1);
        if bytes <= MAX_ROW_BYTES {
            Ok(RowCodec {
                fields,
                number_bits,
                bytes,
            })
        } else {
            Err(RowError::TooWide(bytes))
        }
    }

    /// Bytes of a row, 1 to [`MAX_ROW_BYTES`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where texts begin.
    fn text_begin(&self) -> usize {
        let texts = self.fields.iter().map(|field| match field.form {
            Form::Number { .. } => 0,
            Form::Text { bytes } => bytes,
        });
        self.bytes - texts.sum::<usize>()
    }

    /// Writes a row, all of `out`.
    ///
    /// Errors: no such row, another length than [`RowCodec::bytes`], a table of another schema.
    pub fn encode(&self, table: &Table, row: usize, out: &mut [u8]) -> Result<(), RowError> {
        self.check_length(out.len())?;
        if row >= table.rows() {
            return Err(RowError::NoRow(Mismatch::new(table.rows(), row)));
        }
        let (numbers, mut texts) = out.split_at_mut(self.text_begin());
        numbers.fill(0);
        let mut bit = 0;
        for field in &self.fields {
            field.check_table(table)?;
            match field.form {
                Form::Number { bits, .. } => {
                    write_bits(numbers, bit, bits, field.code(table, row)?);
                    bit += bits as usize;
                }
                Form::Text { bytes } => {
                    let (text, rest) = texts.split_at_mut(bytes);
                    field.write_text(table, row, text)?;
                    texts = rest;
                }
            }
        }
        Ok(())
    }

    /// Reads a row: one value a column.
    ///
    /// Errors: another length, a number outside its domain, text that is not UTF-8 or not filled up, bits set
    /// that must be zero: no bytes but those that [`RowCodec::encode`] could have written for some row pass.
    pub fn decode(&self, bytes: &[u8]) -> Result<Vec<Value>, RowError> {
        self.check_length(bytes.len())?;
        let (numbers, mut texts) = bytes.split_at(self.text_begin());
        self.check_padding(numbers)?;
        let mut bit = 0;
        let read = |field: &Field| match field.form {
            Form::Number { bits, .. } => {
                let code = read_bits(numbers, bit, bits);
                bit += bits as usize;
                field.number(code)
            }
            Form::Text { bytes } => {
                let (text, rest) = texts.split_at(bytes);
                texts = rest;
                field.text(text)
            }
        };
        self.fields.iter().map(read).collect()
    }

    fn check_length(&self, found: usize) -> Result<(), RowError> {
        if found == self.bytes {
            Ok(())
        } else {
            Err(RowError::Length(Mismatch::new(self.bytes, found)))
        }
    }

    fn check_padding(&self, numbers: &[u8]) -> Result<(), RowError> {
        let used = self.number_bits % 8;
        let found = match numbers.last() {
            // The one byte of a row without bits.
            Some(last) if self.number_bits == 0 => *last,
            Some(last) if used > 0 => last >> used << used,
            _ => 0,
        };
        match found {
            0 => Ok(()),
            found => Err(RowError::Padding(found)),
        }
    }
}

impl Field {
    fn new(place: usize, column: &Column) -> Self {
        let form = match column.kind {
            ColumnType::Text { max_bytes } => Form::Text {
                bytes: usize::from(max_bytes),
            },
            _ => Form::Number {
                domain: column.domain,
                bits: bits_of(states(column.domain, column.nullable)),
            },
        };
        Field {
            place,
            name: column.name.clone(),
            kind: column.kind,
            nullable: column.nullable,
            form,
        }
    }

    fn other_table(&self) -> RowError {
        RowError::OtherTable(self.name.clone())
    }

    fn check_table(&self, table: &Table) -> Result<(), RowError> {
        match table.schema().columns.get(self.place) {
            Some(column) if column.kind == self.kind => Ok(()),
            _ => Err(self.other_table()),
        }
    }

    /// The state of a row's value.
    fn code(&self, table: &Table, row: usize) -> Result<u128, RowError> {
        let Form::Number { domain, .. } = self.form else {
            return Err(self.other_table());
        };
        match (table.ordinal(row, self.place), domain) {
            (None, None) => Ok(0),
            (None, Some(_)) if self.nullable => Ok(0),
            (Some(ordinal), Some(domain)) if (domain.min..=domain.max).contains(&ordinal) => {
                Ok(u128::from(ordinal.abs_diff(domain.min)) + u128::from(self.nullable))
            }
            _ => Err(self.other_table()),
        }
    }

    /// The value of a state.
    fn number(&self, code: u128) -> Result<Value, RowError> {
        let Form::Number { domain, .. } = self.form else {
            return Err(self.other_table());
        };
        let states = states(domain, self.nullable);
        let outside = || RowError::Outside {
            column: self.name.clone(),
            states,
            found: code,
        };
        if code >= states {
            return Err(outside());
        }
        let Some(domain) = domain.filter(|_| !self.nullable || code > 0) else {
            return Ok(Value::Null);
        };
        let ordinal = i128::from(domain.min) + (code - u128::from(self.nullable)) as i128;
        let ordinal = i64::try_from(ordinal).map_err(|_| outside())?;
        Value::from_ordinal(self.kind, ordinal).ok_or_else(outside)
    }

    fn write_text(&self, table: &Table, row: usize, out: &mut [u8]) -> Result<(), RowError> {
        out.fill(FILL);
        match table.text(row, self.place) {
            Some(text) => out
                .get_mut(..text.len())
                .ok_or_else(|| self.other_table())?
                .copy_from_slice(text.as_bytes()),
            None if self.nullable => out[0] = ABSENT,
            None => return Err(self.other_table()),
        }
        Ok(())
    }

    fn text(&self, bytes: &[u8]) -> Result<Value, RowError> {
        let length = bytes.iter().rposition(|&byte| byte != FILL);
        let bytes = &bytes[..length.map_or(0, |last| last + 1)];
        if self.nullable && bytes == [ABSENT] {
            return Ok(Value::Null);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::Text(text.to_owned())),
            Err(_) => Err(RowError::Text(self.name.clone())),
        }
    }
}

/// States of a number's column, at least one; at most 2^64 + 1.
fn states(domain: Option<Domain>, nullable: bool) -> u128 {
    match domain {
        Some(Domain { min, max }) => u128::from(max.abs_diff(min)) + 1 + u128::from(nullable),
        None => 1,
    }
}

/// Returns the number of bits that distinguish `states` states.
fn bits_of(states: u128) -> u32 {
    u128::BITS - (states - 1).leading_zeros()
}

/// Writes the `bits` lowest bits of `number` from bit `begin` on; the place holds zeros.
fn write_bits(out: &mut [u8], begin: usize, bits: u32, number: u128) {
    let mut written = 0;
    while written < bits as usize {
        let place = begin + written;
        out[place / 8] |= ((number >> written) << (place % 8)) as u8;
        written += 8 - place % 8;
    }
}

/// Reads `bits` bits from bit `begin` on.
fn read_bits(bytes: &[u8], begin: usize, bits: u32) -> u128 {
    let mut number = 0;
    let mut read = 0;
    while read < bits as usize {
        let place = begin + read;
        number |= u128::from(bytes[place / 8] >> (place % 8)) << read;
        read += 8 - place % 8;
    }
    number & ((1 << bits) - 1)
}
