//! Reads and checks a table's file.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::{CHECKSUM_BYTES, FileError, HEAD_BYTES, MAGIC, ROWS_AT_ONCE, VERSION, width};
use crate::bits::Bits;
use crate::column::{ColumnData, OrdinalData, TextData};
use crate::{Column, ColumnType, MAX_SCHEMA_BYTES, Schema, Table};
use omr_errors::{Mismatch, OtherVersion};

impl Table {
    /// Reads a table's file and checks all of it: checksum, schema, every value.
    ///
    /// What it takes from memory is at most some ten times the file.
    ///
    /// Errors: see [`FileError`].
    pub fn open(path: &Path) -> Result<Table, FileError> {
        let io = |source| FileError::Io(path.into(), source);
        let file = File::open(path).map_err(io)?;
        let found = file.metadata().map_err(io)?.len();
        let mut reader = Reader {
            file: BufReader::with_capacity(1 << 20, file),
            path,
            left: found,
        };
        let schema_bytes = reader.head(found)?;
        reader.checksum(found)?;
        reader.left = found - (HEAD_BYTES + CHECKSUM_BYTES) as u64;
        reader.seek(HEAD_BYTES as u64)?;
        let schema = Schema::from_json(&reader.take(schema_bytes)?)?;
        reader.check_length(&schema, found)?;
        let columns = schema
            .columns
            .iter()
            .map(|column| reader.column(column, schema.rows as usize))
            .collect::<Result<Vec<_>, _>>()?;
        match reader.left {
            0 => Ok(Table::with_schema(schema, columns)),
            left => Err(FileError::Oversized(Mismatch::new(found - left, found))),
        }
    }
}

/// A file, with the number of bytes that are left before its checksum.
struct Reader<'a> {
    file: BufReader<File>,
    path: &'a Path,
    left: u64,
}

impl Reader<'_> {
    fn io(&self, source: io::Error) -> FileError {
        FileError::Io(self.path.into(), source)
    }

    /// Checks the file's first bytes and returns the length of its schema.
    fn head(&mut self, found: u64) -> Result<usize, FileError> {
        let magic = self.take(found.min(8) as usize)?;
        if magic != MAGIC {
            return Err(FileError::NotATable(magic));
        }
        let least = (HEAD_BYTES + CHECKSUM_BYTES) as u64;
        if found < least {
            return Err(truncated(least, found));
        }
        let version = u32::from_le_bytes(self.array()?);
        OtherVersion::check(VERSION, version).map_err(FileError::Version)?;
        let schema = u32::from_le_bytes(self.array()?) as usize;
        let expected = u64::from_le_bytes(self.array()?);
        match expected {
            _ if found < expected => Err(truncated(expected, found)),
            _ if found > expected => Err(FileError::Oversized(Mismatch::new(expected, found))),
            _ if schema > MAX_SCHEMA_BYTES => Err(crate::SchemaError::Long(schema).into()),
            _ => Ok(schema),
        }
    }

    fn checksum(&mut self, found: u64) -> Result<(), FileError> {
        self.seek(0)?;
        let mut hasher = blake3::Hasher::new();
        let body = (&mut self.file).take(found - CHECKSUM_BYTES as u64);
        match hasher.update_reader(body) {
            Ok(_) => {}
            Err(error) => return Err(self.io(error)),
        }
        let mut expected = [0; CHECKSUM_BYTES];
        self.file
            .read_exact(&mut expected)
            .map_err(|error| self.io(error))?;
        let (expected, found) = (blake3::Hash::from_bytes(expected), hasher.finalize());
        if expected == found {
            Ok(())
        } else {
            Err(FileError::Corrupted(Mismatch::new(expected, found)))
        }
    }

    fn seek(&mut self, place: u64) -> Result<(), FileError> {
        match self.file.seek(SeekFrom::Start(place)) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.io(error)),
        }
    }

    /// Checks that the file has at least a byte for each value. It is called before memory for the rows is allocated.
    ///
    /// Errors: `Truncated`.
    fn check_length(&self, schema: &Schema, found: u64) -> Result<(), FileError> {
        let least: u64 = schema
            .columns
            .iter()
            .map(|column| least(column, schema.rows))
            .sum();
        if self.left >= least {
            Ok(())
        } else {
            Err(truncated(found - self.left + least, found))
        }
    }

    fn take(&mut self, bytes: usize) -> Result<Vec<u8>, FileError> {
        self.left = match self.left.checked_sub(bytes as u64) {
            Some(left) => left,
            None => return Err(truncated(bytes as u64, self.left)),
        };
        let mut taken = vec![0; bytes];
        match self.file.read_exact(&mut taken) {
            Ok(()) => Ok(taken),
            Err(error) => Err(self.io(error)),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("as many as were asked for"))
    }

    fn column(&mut self, column: &Column, rows: usize) -> Result<ColumnData, FileError> {
        let present = self.bits(column, rows)?;
        match column.kind {
            ColumnType::Text { max_bytes } => self
                .texts(column, present, max_bytes)
                .map(ColumnData::Texts),
            _ => self.ordinals(column, present).map(ColumnData::Ordinals),
        }
    }

    fn bits(&mut self, column: &Column, rows: usize) -> Result<Bits, FileError> {
        if !column.nullable {
            return Ok(Bits::ones(rows));
        }
        let bytes = self.take(rows.div_ceil(8))?;
        Bits::from_bytes(&bytes, rows).ok_or_else(|| wrong(column, "zero bits behind the last row"))
    }

    fn ordinals(&mut self, column: &Column, present: Bits) -> Result<OrdinalData, FileError> {
        let width = width(column.domain);
        let mut values = Vec::with_capacity(present.len());
        while values.len() < present.len() {
            let rows = ROWS_AT_ONCE.min(present.len() - values.len());
            let block = self.take(rows * width)?;
            for bytes in block.chunks_exact(width) {
                let mut number = [0; 8];
                number[..width].copy_from_slice(bytes);
                let present = present.at(values.len());
                values.push(ordinal(column, u64::from_le_bytes(number), present)?);
            }
        }
        Ok(OrdinalData { values, present })
    }

    fn texts(&mut self, column: &Column, present: Bits, max: u8) -> Result<TextData, FileError> {
        let lengths = self.take(present.len())?;
        let mut end = 0;
        let mut ends = Vec::with_capacity(lengths.len());
        for (row, &length) in lengths.iter().enumerate() {
            if length > max || (length > 0 && !present.at(row)) {
                return Err(wrong(
                    column,
                    "no text longer than its type's, none where absent",
                ));
            }
            end += u64::from(length);
            ends.push(end);
        }
        let text =
            String::from_utf8(self.take(end as usize)?).map_err(|_| wrong(column, "UTF-8"))?;
        let data = TextData {
            text,
            ends,
            present,
        };
        if data
            .ends
            .iter()
            .all(|&end| data.text.is_char_boundary(end as usize))
        {
            Ok(data)
        } else {
            Err(wrong(column, "texts that end where a character does"))
        }
    }
}

/// The value of a number of a file.
fn ordinal(column: &Column, number: u64, present: bool) -> Result<i64, FileError> {
    match column.domain {
        Some(domain) if present && number <= domain.max.abs_diff(domain.min) => {
            Ok(domain.min.wrapping_add_unsigned(number))
        }
        _ if !present && number == 0 => Ok(0),
        _ => Err(wrong(column, "numbers of its domain, zero where absent")),
    }
}

/// The fewest bytes of a column.
fn least(column: &Column, rows: u64) -> u64 {
    let bits = if column.nullable { rows.div_ceil(8) } else { 0 };
    let values = match column.kind {
        ColumnType::Text { .. } => rows,
        _ => rows * width(column.domain) as u64,
    };
    bits + values
}

fn truncated(expected: u64, found: u64) -> FileError {
    FileError::Truncated(Mismatch::new(expected, found))
}

fn wrong(column: &Column, expected: &'static str) -> FileError {
    FileError::Column {
        column: column.name.clone(),
        expected,
    }
}
