//! Writing of frames: the length comes first, so that readers can refuse it early.

use std::io::{self, BufWriter, Write};

use super::{BUFFER_BYTES, FrameError, FrameHeader, file_hasher};
use omr_errors::Mismatch;

/// A frame that is being written. `Write` appends to its body.
///
/// The body must have exactly the announced length. Without `finish` the file has no checksum and
/// every reader refuses it.
#[derive(Debug)]
pub struct FrameWriter<W: Write> {
    out: BufWriter<Hashing<W>>,
    body_len: u64,
    written: u64,
}

#[derive(Debug)]
struct Hashing<W> {
    inner: W,
    hasher: blake3::Hasher,
}

impl<W: Write> FrameWriter<W> {
    /// Writes the header of a frame with a body of `body_len` bytes.
    ///
    /// Errors: `ParamsName`, `Io`.
    pub fn new(inner: W, header: &FrameHeader, body_len: u64) -> Result<Self, FrameError> {
        let encoded = header.encode(body_len)?;
        let hashing = Hashing {
            inner,
            hasher: file_hasher(),
        };
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, hashing);
        out.write_all(&encoded)?;
        Ok(Self {
            out,
            body_len,
            written: 0,
        })
    }

    /// Writes the checksum, flushes, and returns the inner writer.
    ///
    /// Errors: `BodyLength` if the body is shorter than announced, `Io`.
    pub fn finish(self) -> Result<W, FrameError> {
        if self.written != self.body_len {
            return Err(FrameError::BodyLength(Mismatch::new(
                self.body_len,
                self.written,
            )));
        }
        let Hashing { mut inner, hasher } = self
            .out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        inner.write_all(hasher.finalize().as_bytes())?;
        inner.flush()?;
        Ok(inner)
    }
}

impl<W: Write> Write for FrameWriter<W> {
    /// Errors: `BodyLength` in an `io::Error` if the body would grow past its announced length.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let found = self.written.saturating_add(bytes.len() as u64);
        if found > self.body_len {
            return Err(FrameError::BodyLength(Mismatch::new(self.body_len, found)).into());
        }
        let done = self.out.write(bytes)?;
        self.written += done as u64;
        Ok(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..done]);
        Ok(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Writes a whole frame. The function `body` must write exactly `body_len` bytes.
///
/// Errors: those of [`FrameWriter`] and of `body`.
pub fn write_frame<W: Write, E: From<FrameError>>(
    w: &mut W,
    header: &FrameHeader,
    body_len: u64,
    body: impl FnOnce(&mut FrameWriter<&mut W>) -> Result<(), E>,
) -> Result<(), E> {
    let mut writer = FrameWriter::new(w, header, body_len)?;
    body(&mut writer)?;
    writer.finish()?;
    Ok(())
}

/// Returns the bytes of a whole frame. `body` is copied to the returned bytes only.
///
/// Errors: `ParamsName`.
pub fn write_frame_vec(header: &FrameHeader, body: &[u8]) -> Result<Vec<u8>, FrameError> {
    let body_len = body.len() as u64;
    let head = header.encode(body_len)?;
    let mut out = Vec::with_capacity(header.file_len(body_len) as usize);
    out.extend_from_slice(&head);
    out.extend_from_slice(body);
    let sum = file_hasher().update(&out).finalize();
    out.extend_from_slice(sum.as_bytes());
    Ok(out)
}
