//! The sources of a key's bytes: a file, or a function that makes them while they are sent.

use crate::RemoteError;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Writes a key, the same bytes whenever it is asked.
pub type KeyMaker = Arc<dyn Fn(&mut dyn Write) -> io::Result<()> + Send + Sync>;

/// Takes the next bytes of a key; false: no more are wanted.
pub(super) type Sink<'a> = &'a mut dyn FnMut(Vec<u8>) -> bool;

#[derive(Clone)]
pub(super) enum Source {
    File(PathBuf),
    Made(KeyMaker),
}

impl Source {
    /// Hash and length of the key.
    pub(super) fn hashed(&self) -> io::Result<([u8; 32], u64)> {
        let mut hashed = Hashed::default();
        match self {
            Self::File(path) => drop(io::copy(&mut File::open(path)?, &mut hashed)?),
            Self::Made(make) => make(&mut hashed)?,
        }
        Ok((*hashed.hasher.finalize().as_bytes(), hashed.bytes))
    }

    /// The bytes from an offset on, in pieces of `piece` bytes.
    pub(super) fn read(&self, offset: u64, piece: usize, sink: Sink<'_>) -> io::Result<()> {
        let mut pieces = Pieces {
            skip: 0,
            piece,
            data: Vec::with_capacity(piece),
            sink,
            ended: false,
        };
        let read = match self {
            Self::File(path) => File::open(path).and_then(|mut file| {
                file.seek(SeekFrom::Start(offset))?;
                io::copy(&mut file, &mut pieces).map(drop)
            }),
            Self::Made(make) => {
                pieces.skip = offset;
                make(&mut pieces)
            }
        };
        match read {
            Err(_) if pieces.ended => return Ok(()),
            read => read?,
        }
        if !pieces.data.is_empty() {
            (pieces.sink)(pieces.data);
        }
        Ok(())
    }

    pub(super) fn error(&self, source: io::Error) -> RemoteError {
        match self {
            Self::File(path) => RemoteError::File(path.clone(), source),
            Self::Made(_) => RemoteError::Made(source),
        }
    }
}

#[derive(Default)]
struct Hashed {
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Cuts what is written into pieces.
struct Pieces<'a> {
    /// Bytes that are left out at first.
    skip: u64,
    piece: usize,
    data: Vec<u8>,
    sink: Sink<'a>,
    /// No more are wanted.
    ended: bool,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = self.skip.min(bytes.len() as u64);
        self.skip -= skipped;
        let mut rest = &bytes[skipped as usize..];
        while !rest.is_empty() {
            let (fits, after) = rest.split_at(rest.len().min(self.piece - self.data.len()));
            self.data.extend_from_slice(fits);
            rest = after;
            if self.data.len() == self.piece {
                let next = Vec::with_capacity(self.piece);
                if !(self.sink)(std::mem::replace(&mut self.data, next)) {
                    self.ended = true;
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Vec<u8> {
        (0..1000u32).flat_map(u32::to_le_bytes).collect()
    }

    /// Returns a file, and a source that writes its bytes in uneven parts.
    fn sources() -> (tempfile::NamedTempFile, [Source; 2]) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), key()).unwrap();
        let make = |out: &mut dyn Write| key().chunks(333).try_for_each(|part| out.write_all(part));
        let sources = [
            Source::File(file.path().to_owned()),
            Source::Made(Arc::new(make)),
        ];
        (file, sources)
    }

    #[test]
    fn files_and_makers_give_the_same_pieces_from_any_offset() {
        let (_file, sources) = sources();
        for source in sources {
            assert_eq!(
                source.hashed().unwrap(),
                (*blake3::hash(&key()).as_bytes(), 4000)
            );
            for (offset, piece) in [
                (0, 4000),
                (0, 1),
                (1, 700),
                (3999, 64),
                (4000, 64),
                (640, 320),
            ] {
                let mut pieces = Vec::new();
                let mut sink = |data| {
                    pieces.push(data);
                    true
                };
                source.read(offset as u64, piece, &mut sink).unwrap();
                let expected: Vec<_> = key()[offset..].chunks(piece).map(<[u8]>::to_vec).collect();
                assert_eq!(pieces, expected, "{offset} {piece}");
            }
        }
    }

    #[test]
    fn who_wants_no_more_gets_no_more() {
        let (_file, sources) = sources();
        for source in sources {
            let mut left = 3;
            let mut sink = |_| {
                left -= 1;
                left > 0
            };
            source.read(0, 100, &mut sink).unwrap();
            assert_eq!(left, 0);
        }
    }

    #[test]
    fn an_error_of_the_maker_is_told() {
        let failing = |out: &mut dyn Write| {
            out.write_all(&[1; 10])?;
            Err(io::Error::other("no randomness"))
        };
        let source = Source::Made(Arc::new(failing));
        let error = source.read(0, 4, &mut |_| true).unwrap_err();
        assert!(source.error(error).to_string().contains("made"));
        source.hashed().unwrap_err();
    }
}
