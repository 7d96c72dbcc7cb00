//! A file that returns an error to a reader that reads past its end.

use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// A Parquet file. The reader of page headers skips what it does not know, and takes bytes behind the end for skipped:
/// a few bytes that announce a list of billions of numbers would keep it at work for half an hour (2^31 reads). No page
/// of a right file reaches the end, where the footer stands.
pub(super) struct Ending(pub(super) File);

impl Length for Ending {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Ending {
    type T = Within;

    fn get_read(&self, start: u64) -> Result<Within> {
        self.0.get_read(start).map(Within)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let rest = self.len().saturating_sub(start);
        if length as u64 > rest {
            let text = format!("expected {length} bytes from {start} on, found {rest}");
            return Err(ParquetError::EOF(text));
        }
        self.0.get_bytes(start, length)
    }
}

/// The rest of a file.
pub(super) struct Within(BufReader<File>);

impl Read for Within {
    /// Errors: `UnexpectedEof` at the end, in place of no bytes.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 if !out.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_end_is_an_error() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[7; 20]).expect("written");
        let file = Ending(file);
        let mut out = [0; 16];
        let mut rest = file.get_read(4).expect("a reader");
        assert_eq!(rest.read(&mut out).expect("bytes"), 16);
        let end = rest.read(&mut out).expect_err("the end");
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(file.get_bytes(4, 16).expect("bytes").len(), 16);
        assert!(file.get_bytes(5, 16).is_err());
        assert!(file.get_bytes(40, 1).is_err());
    }
}
