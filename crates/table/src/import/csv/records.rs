//! Records of CSV, strictly by RFC 4180.
//!
//! Readers of CSV at large repair what is malformed: they close a quote that the file leaves open, drop blank lines,
//! take any carriage return for the end of a row. Each repair may move or swallow values, so that this reader refuses
//! instead, and names the line.

use std::io::{self, Read};

/// Bytes read at once.
const BUFFER: usize = 1 << 18;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A fault in a line of CSV. Fields are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CsvFault {
    /// A quote opens a field and is not closed before the end of the file.
    #[error("field {field}: expected a closing quote, found the end of the file")]
    Unclosed {
        /// The field.
        field: usize,
    },
    /// Something follows a closing quote.
    #[error(
        "field {field}: expected the end of the field after its closing quote, found {found:?}: a quote inside quoted \
         text is written twice"
    )]
    AfterQuote {
        /// The field.
        field: usize,
        /// The character that follows.
        found: char,
    },
    /// Spaces precede an opening quote, which then does not quote.
    #[error("field {field}: expected an opening quote at its beginning, found one after spaces")]
    SpaceBeforeQuote {
        /// The field.
        field: usize,
    },
    /// A line ends with a carriage return alone where the first one does not, or the other way round.
    #[error(
        "expected a line that ends as the first one does, found another end: text that contains one is quoted"
    )]
    LineEnd,
    /// A row has more or fewer fields than the header.
    #[error("expected {expected} fields, as the header has, found {found}")]
    Fields {
        /// Fields of the header.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },
    /// The file contains no line but blank ones.
    #[error("expected a header with the names of the columns, found the end of the file")]
    NoHeader,
    /// The name of the only column contains a usual separator of fields.
    #[error(
        "expected fields with commas between, found the one name {name:?}, which contains {separator:?}: choose the \
         delimiter"
    )]
    Delimiter {
        /// The name.
        name: String,
        /// The character in the name that may be the separator.
        separator: char,
    },
    /// The header contains zero bytes, as text in UTF-16 does.
    #[error("expected text in UTF-8, found zero bytes: UTF-16, or no text")]
    Zeros,
    /// The header contains bytes that are not UTF-8.
    #[error("expected text in UTF-8, found other bytes: convert the file")]
    Utf8,
}

/// Why there is no next record.
#[derive(Debug)]
pub(super) enum RecordError {
    Io(io::Error),
    TooLong,
    /// The line, counted from 1, where the record is malformed.
    Fault(u64, CsvFault),
}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> Self {
        RecordError::Io(error)
    }
}

/// The fields of one record, one after another.
#[derive(Default)]
pub(super) struct Record {
    bytes: Vec<u8>,
    /// Where each field ends.
    ends: Vec<usize>,
    quoted: bool,
    /// The line that it begins in, counted from 1.
    pub(super) line: u64,
}

impl Record {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the record is a line without a byte.
    pub(super) fn is_blank(&self) -> bool {
        self.bytes.is_empty() && self.ends.len() == 1 && !self.quoted
    }

    /// Returns a field. Panics: no such field.
    pub(super) fn field(&self, place: usize) -> &[u8] {
        let begin = match place {
            0 => 0,
            _ => self.ends[place - 1],
        };
        &self.bytes[begin..self.ends[place]]
    }
}

/// How lines end.
#[derive(Clone, Copy, PartialEq)]
enum LineEnds {
    /// A line feed, with or without a carriage return before it.
    LineFeed,
    CarriageReturn,
}

/// Reads one record after another.
pub(super) struct Records<R> {
    source: R,
    delimiter: u8,
    /// Most bytes of a record.
    limit: u64,
    buffer: Vec<u8>,
    /// The part of the buffer that is not consumed yet.
    at: usize,
    filled: usize,
    position: u64,
    line: u64,
    /// How the first line ended.
    line_ends: Option<LineEnds>,
}

impl<R: Read> Records<R> {
    /// Begins with the first record; a byte order mark before it is skipped.
    pub(super) fn new(source: R, delimiter: u8, limit: u64) -> io::Result<Self> {
        let mut records = Records {
            source,
            delimiter,
            limit,
            buffer: vec![0; BUFFER],
            at: 0,
            filled: 0,
            position: 0,
            line: 1,
            line_ends: None,
        };
        while records.filled < BYTE_ORDER_MARK.len() && records.fill()? {}
        if records.rest().starts_with(BYTE_ORDER_MARK) {
            records.consume(BYTE_ORDER_MARK.len());
        }
        Ok(records)
    }

    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Returns how many bytes have been consumed.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Reads the next record; `false`: there is none.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool, RecordError> {
        record.bytes.clear();
        record.ends.clear();
        record.quoted = false;
        record.line = self.line;
        if self.peek()?.is_none() {
            return Ok(false);
        }
        loop {
            match self.peek()? {
                Some(b'"') => self.quoted(record)?,
                _ => self.unquoted(record)?,
            }
            record.ends.push(record.bytes.len());
            if !self.delimited(record)? {
                return Ok(true);
            }
        }
    }

    /// Takes a field without quotes around it. A quote inside is text, as in `27" screen`.
    fn unquoted(&mut self, record: &mut Record) -> Result<(), RecordError> {
        let begin = record.bytes.len();
        let delimiter = self.delimiter;
        self.copy_until(record, |byte| {
            byte == delimiter || byte == b'\n' || byte == b'\r'
        })?;
        let field = &record.bytes[begin..];
        let text = field.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        match (field.first(), text) {
            (Some(b' ' | b'\t'), Some(b'"')) => {
                let field = record.ends.len() + 1;
                Err(self.fault(CsvFault::SpaceBeforeQuote { field }))
            }
            _ => Ok(()),
        }
    }

    /// Takes a field between quotes.
    fn quoted(&mut self, record: &mut Record) -> Result<(), RecordError> {
        record.quoted = true;
        let field = record.ends.len() + 1;
        let opened = self.line;
        self.consume(1);
        loop {
            let begin = record.bytes.len();
            self.copy_until(record, |byte| byte == b'"')?;
            let text = &record.bytes[begin..];
            self.line += text.iter().filter(|&&byte| byte == b'\n').count() as u64;
            if self.peek()?.is_none() {
                return Err(RecordError::Fault(opened, CsvFault::Unclosed { field }));
            }
            self.consume(1);
            let found = match self.peek()? {
                Some(b'"') => {
                    record.bytes.push(b'"');
                    self.consume(1);
                    continue;
                }
                None | Some(b'\n' | b'\r') => return Ok(()),
                Some(byte) if byte == self.delimiter => return Ok(()),
                Some(_) => self.rest(),
            };
            let found = String::from_utf8_lossy(&found[..found.len().min(4)])
                .chars()
                .next()
                .unwrap_or_default();
            return Err(self.fault(CsvFault::AfterQuote { field, found }));
        }
    }

    /// Takes a delimiter, or the end of a line or of the file; returns whether it was a delimiter.
    fn delimited(&mut self, record: &Record) -> Result<bool, RecordError> {
        self.check_length(record)?;
        let ends = match self.peek()? {
            None => return Ok(false),
            Some(byte) if byte == self.delimiter => {
                self.consume(1);
                return Ok(true);
            }
            Some(b'\r') => {
                self.consume(1);
                match self.peek()? {
                    Some(b'\n') => {
                        self.consume(1);
                        LineEnds::LineFeed
                    }
                    _ => LineEnds::CarriageReturn,
                }
            }
            Some(_) => {
                self.consume(1);
                LineEnds::LineFeed
            }
        };
        if self.line_ends.is_some_and(|first| first != ends) {
            return Err(self.fault(CsvFault::LineEnd));
        }
        self.line_ends = Some(ends);
        self.line += 1;
        Ok(false)
    }

    /// Copies bytes into the record until one that stops, which stays, or until the end of the file.
    fn copy_until(
        &mut self,
        record: &mut Record,
        stops: impl Fn(u8) -> bool,
    ) -> Result<(), RecordError> {
        while self.peek()?.is_some() {
            let rest = self.rest();
            let stop = rest.iter().position(|&byte| stops(byte));
            let copied = stop.unwrap_or(rest.len());
            record.bytes.extend_from_slice(&rest[..copied]);
            self.consume(copied);
            if stop.is_some() {
                break;
            }
            self.check_length(record)?;
        }
        Ok(())
    }

    fn check_length(&self, record: &Record) -> Result<(), RecordError> {
        if (record.bytes.len() + record.ends.len()) as u64 > self.limit {
            Err(RecordError::TooLong)
        } else {
            Ok(())
        }
    }

    fn fault(&self, fault: CsvFault) -> RecordError {
        RecordError::Fault(self.line, fault)
    }

    /// Returns the next byte without consuming it; `None` at the end of the file.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        if self.at == self.filled {
            (self.at, self.filled) = (0, 0);
            self.fill()?;
        }
        Ok(self.rest().first().copied())
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.filled]
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
        self.position += bytes as u64;
    }

    /// Reads once behind what the buffer holds; `false`: at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        loop {
            match self.source.read(&mut self.buffer[self.filled..]) {
                Ok(read) => {
                    self.filled += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    use super::*;

    /// 200 MB of numbers, moments, short texts and quoted ones.
    fn rows() -> Vec<u8> {
        let mut csv = String::from("id,begin,fare,zone,remark\n");
        let mut row = 0u64;
        while csv.len() < 200_000_000 {
            let (hour, minute, second) = (row / 3600 % 24, row / 60 % 60, row % 60);
            let (day, fare, zone) = (row % 28 + 1, row * 7919 % 10_000, row * 31 % 263);
            csv += &format!(
                "{row},2001-01-{day:02} {hour:02}:{minute:02}:{second:02},{}.{:02},Zone number {zone},",
                fare / 100,
                fare % 100,
            );
            csv += match row % 8 {
                0 => "\"a remark, with a comma and \"\"quotes\"\" in it\"\n",
                1..4 => "\n",
                _ => "paid in cash\n",
            };
            row += 1;
        }
        csv.into_bytes()
    }

    fn strict(csv: &[u8]) -> (u64, u64) {
        let mut records = Records::new(csv, b',', 1 << 20).expect("read");
        let mut record = Record::default();
        let (mut fields, mut bytes) = (0, 0);
        while records.next(&mut record).expect("well-formed") {
            fields += record.len() as u64;
            bytes += black_box(&record).bytes.len() as u64;
        }
        (fields, bytes)
    }

    /// The reader of the crate `csv`, which repairs what is malformed.
    fn lenient(csv: &[u8]) -> (u64, u64) {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).buffer_capacity(BUFFER);
        let mut reader = builder.from_reader(csv);
        let mut record = csv::ByteRecord::new();
        let (mut fields, mut bytes) = (0, 0);
        while reader.read_byte_record(&mut record).expect("well-formed") {
            fields += record.len() as u64;
            bytes += black_box(&record).as_slice().len() as u64;
        }
        (fields, bytes)
    }

    /// Run alone for its figures:
    /// `cargo test --profile tested -p omr-table --lib speed_of_records -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    fn speed_of_records() {
        let csv = rows();
        let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
        for _ in 0..5 {
            let begin = Instant::now();
            let found = strict(&csv);
            let strict_time = begin.elapsed();
            let begin = Instant::now();
            assert_eq!(lenient(&csv), found);
            let lenient_time = begin.elapsed();
            println!("strict {strict_time:?}, crate csv {lenient_time:?}");
            ours = ours.min(strict_time);
            theirs = theirs.min(lenient_time);
        }
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        println!("{} bytes; the fastest of each: {ratio:.2} times", csv.len());
    }
}
