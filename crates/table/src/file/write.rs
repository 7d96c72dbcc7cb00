//! Writes a table's file.

use std::io::{self, BufWriter, Write};

use super::{CHECKSUM_BYTES, HEAD_BYTES, MAGIC, ROWS_AT_ONCE, VERSION, width};
use crate::bits::Bits;
use crate::column::{ColumnData, OrdinalData, TextData};
use crate::{Column, Table};

impl Table {
    /// Writes the table's file.
    ///
    /// Errors: those of `out`.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = Hashing {
            out: BufWriter::with_capacity(1 << 20, out),
            hasher: blake3::Hasher::new(),
        };
        self.write_body(&mut out)?;
        let checksum = out.hasher.finalize();
        out.out.write_all(checksum.as_bytes())?;
        out.out.flush()
    }

    fn write_body(&self, out: &mut impl Write) -> io::Result<()> {
        let schema = self.schema().to_json();
        let columns = || self.schema().columns.iter().zip(self.data());
        let body: u64 = columns().map(|(column, data)| bytes(column, data)).sum();
        let total = (HEAD_BYTES + schema.len() + CHECKSUM_BYTES) as u64 + body;
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(schema.len() as u32).to_le_bytes())?;
        out.write_all(&total.to_le_bytes())?;
        out.write_all(schema.as_bytes())?;
        columns().try_for_each(|(column, data)| {
            if column.nullable {
                write_bits(out, data.present())?;
            }
            match data {
                ColumnData::Ordinals(data) => write_ordinals(out, column, data),
                ColumnData::Texts(data) => write_texts(out, data),
            }
        })
    }
}

/// Bytes of a column.
fn bytes(column: &Column, data: &ColumnData) -> u64 {
    let rows = data.rows();
    let bits = if column.nullable { rows.div_ceil(8) } else { 0 };
    let values = match data {
        ColumnData::Ordinals(_) => rows * width(column.domain),
        ColumnData::Texts(data) => rows + data.text.len(),
    };
    (bits + values) as u64
}

fn write_bits(out: &mut impl Write, bits: &Bits) -> io::Result<()> {
    let mut left = bits.len().div_ceil(8);
    for word in bits.words() {
        let bytes = word.to_le_bytes();
        let used = left.min(8);
        out.write_all(&bytes[..used])?;
        left -= used;
    }
    Ok(())
}

fn write_ordinals(out: &mut impl Write, column: &Column, data: &OrdinalData) -> io::Result<()> {
    let min = column.domain.map_or(0, |domain| domain.min);
    let width = width(column.domain);
    let mut block = Vec::with_capacity(ROWS_AT_ONCE * width);
    for (rows, values) in data.values.chunks(ROWS_AT_ONCE).enumerate() {
        block.clear();
        for (row, value) in values.iter().enumerate() {
            let present = data.present.at(rows * ROWS_AT_ONCE + row);
            let number = if present { value.abs_diff(min) } else { 0 };
            block.extend_from_slice(&number.to_le_bytes()[..width]);
        }
        out.write_all(&block)?;
    }
    Ok(())
}

fn write_texts(out: &mut impl Write, data: &TextData) -> io::Result<()> {
    let mut begin = 0;
    for ends in data.ends.chunks(ROWS_AT_ONCE) {
        let length = |&end: &u64| (end - std::mem::replace(&mut begin, end)) as u8;
        let lengths: Vec<u8> = ends.iter().map(length).collect();
        out.write_all(&lengths)?;
    }
    out.write_all(data.text.as_bytes())
}

/// Hashes what it writes.
struct Hashing<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
