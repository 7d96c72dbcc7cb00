//! Reading of frames: first the header, then a body that ends at its announced length.

use std::io::{self, BufReader, Chain, Cursor, Read};

use super::header::{MAGIC, is_prefix_of_magic, parse_header, parse_prefix};
use super::{
    BUFFER_BYTES, FILE_SUM_BYTES, FrameError, FrameHeader, FramePart, Kind, MAX_PARAMS_ID_BYTES,
    PREFIX_BYTES, SUFFIX_BYTES, file_hasher,
};
use omr_errors::Mismatch;

/// Largest memory that is reserved for a body before its bytes arrive.
const MAX_RESERVE_BYTES: u64 = 1 << 20;

/// A frame whose header has been read and checked. `Read` returns the bytes of its body.
///
/// The body ends with `Ok(0)`. If the file is cut short, reading fails with an `io::Error` that `FrameError::from`
/// turns into `Truncated`. The body is verified only once `finish` has returned.
#[derive(Debug)]
pub struct FrameReader<R: Read> {
    header: FrameHeader,
    body_len: u64,
    body: BufReader<Body<R>>,
}

/// The body's bytes, which are hashed as they arrive and end at the announced length.
#[derive(Debug)]
struct Body<R> {
    inner: R,
    hasher: blake3::Hasher,
    /// Body bytes not yet taken from `inner`.
    left: u64,
    file_len: u64,
}

impl<R: Read> FrameReader<R> {
    /// Reads and checks the header: at most 105 bytes, through a buffer of its own.
    ///
    /// Errors: `NotOmr`, `Version`, `Kind`, `UnknownKind`, `ParamsName`, `TooLarge` if the body is
    /// longer than `max_body`, `Truncated`, `Checksum`, `Io`.
    pub fn read_header(inner: R, expected: Kind, max_body: u64) -> Result<Self, FrameError> {
        Self::read_any(inner, &[expected], max_body)
    }

    /// Reads the header of a file of any of `kinds`, which has at least one; errors name the first.
    fn read_any(mut inner: R, kinds: &[Kind], max_body: u64) -> Result<Self, FrameError> {
        let mut bytes = vec![0; PREFIX_BYTES];
        let found = read_full(&mut inner, &mut bytes)?;
        let Some(prefix) = bytes[..found].first_chunk() else {
            return Err(short_prefix(&bytes[..found]));
        };
        let rest = parse_prefix(prefix)?;
        bytes.resize(PREFIX_BYTES + rest, 0);
        let found = PREFIX_BYTES + read_full(&mut inner, &mut bytes[PREFIX_BYTES..])?;
        if found < bytes.len() {
            return Err(truncated(bytes.len() as u64, found as u64));
        }

        let (header, body_len) = parse_header(&bytes, kinds)?;
        if body_len > max_body {
            return Err(FrameError::TooLarge(Mismatch::new(max_body, body_len)));
        }
        let file_len = header.file_len(body_len);
        let mut hasher = file_hasher();
        hasher.update(&bytes);
        let body = Body {
            inner,
            hasher,
            left: body_len,
            file_len,
        };
        Ok(Self {
            header,
            body_len,
            body: BufReader::with_capacity(BUFFER_BYTES, body),
        })
    }

    /// Returns the header.
    pub fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// Returns the announced length of the body, which is not yet verified and at most `max_body`.
    pub fn body_len(&self) -> u64 {
        self.body_len
    }

    /// Verifies that the whole body was read, that the checksum matches and that the file ends.
    ///
    /// Errors: `Unread`, `Truncated`, `Checksum`, `Trailing`, `Io`.
    pub fn finish(self) -> Result<FrameHeader, FrameError> {
        let left = self.body.buffer().len() as u64 + self.body.get_ref().left;
        if left > 0 {
            return Err(FrameError::Unread(left));
        }
        let Body {
            mut inner,
            hasher,
            file_len,
            ..
        } = self.body.into_inner();
        let mut sum = [0; FILE_SUM_BYTES];
        let found = read_full(&mut inner, &mut sum)?;
        if found < FILE_SUM_BYTES {
            let missing = (FILE_SUM_BYTES - found) as u64;
            return Err(truncated(file_len, file_len - missing));
        }
        if hasher.finalize() != sum {
            return Err(FrameError::Checksum(FramePart::Body));
        }
        match read_full(&mut inner, &mut [0])? {
            0 => Ok(self.header),
            _ => Err(FrameError::Trailing),
        }
    }
}

/// A file whose header was read and checked, and which can be read from its beginning.
#[derive(Debug)]
pub struct Opened<R> {
    /// The header.
    pub header: FrameHeader,
    /// Announced length in bytes of the whole file, not yet verified.
    pub file_len: u64,
    /// A reader of the whole file, including the header.
    pub reader: Chain<Cursor<Vec<u8>>, R>,
}

impl<R: Read> Opened<R> {
    /// Reads the header of a file of any of these kinds, at least one.
    ///
    /// Errors: those of [`FrameReader::read_header`]; for a file of another kind they name the first of `kinds`.
    pub fn new<E: From<FrameError> + From<io::Error>>(
        mut inner: R,
        kinds: &[Kind],
    ) -> Result<Self, E> {
        let mut start = Vec::new();
        let most = PREFIX_BYTES + MAX_PARAMS_ID_BYTES + SUFFIX_BYTES;
        inner.by_ref().take(most as u64).read_to_end(&mut start)?;
        let frame = FrameReader::read_any(&start[..], kinds, u64::MAX)?;
        Ok(Self {
            file_len: frame.header.file_len(frame.body_len),
            header: frame.header,
            reader: Cursor::new(start).chain(inner),
        })
    }
}

impl<R: Read> Read for FrameReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.body.read(out)
    }

    fn read_to_end(&mut self, out: &mut Vec<u8>) -> io::Result<usize> {
        self.body.read_to_end(out)
    }
}

impl<R: Read> Read for Body<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let take = usize::try_from(self.left).map_or(out.len(), |left| left.min(out.len()));
        if take == 0 {
            return Ok(0);
        }
        let got = self.inner.read(&mut out[..take])?;
        if got == 0 {
            let missing = self.left.saturating_add(FILE_SUM_BYTES as u64);
            return Err(truncated(self.file_len, self.file_len.saturating_sub(missing)).into());
        }
        self.hasher.update(&out[..got]);
        self.left -= got as u64;
        Ok(got)
    }
}

/// Reads a whole frame of at most `max_body` body bytes and verifies it.
///
/// Memory grows with the bytes that arrive, not with the length announced. A body of up to 1 MiB is
/// read in place and leaves no copies behind, so that the caller can wipe a secret one.
///
/// Errors: those of [`FrameReader::read_header`] and [`FrameReader::finish`].
pub fn read_frame(
    inner: impl Read,
    expected: Kind,
    max_body: u64,
) -> Result<(FrameHeader, Vec<u8>), FrameError> {
    let mut reader = FrameReader::read_header(inner, expected, max_body)?;
    let mut body = Vec::with_capacity(reader.body_len().min(MAX_RESERVE_BYTES) as usize);
    reader.read_to_end(&mut body)?;
    Ok((reader.finish()?, body))
}

/// Fills `out` unless the input ends; returns the bytes read.
fn read_full(inner: &mut impl Read, out: &mut [u8]) -> Result<usize, FrameError> {
    let mut done = 0;
    while done < out.len() {
        match inner.read(&mut out[done..]) {
            Ok(0) => break,
            Ok(got) => done += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

fn short_prefix(bytes: &[u8]) -> FrameError {
    let found = &bytes[..bytes.len().min(MAGIC.len())];
    if is_prefix_of_magic(found) {
        truncated(PREFIX_BYTES as u64, bytes.len() as u64)
    } else {
        FrameError::NotOmr(found.to_vec())
    }
}

fn truncated(expected: u64, found: u64) -> FrameError {
    FrameError::Truncated(Mismatch::new(expected, found))
}
