//! Bytes of Python's objects with the buffer interface, such as `bytes`, `memoryview`, `mmap` and arrays of numpy.

use omr_detector::Held;
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;

/// The bytes of an object, which are read without copying. The object stays alive as long as this value.
#[derive(Clone)]
pub(crate) struct Buffer(Arc<PyBuffer<u8>>);

impl<'py> FromPyObject<'_, 'py> for Buffer {
    type Error = PyErr;

    fn extract(of: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let found = of.get_type().name()?;
        let array = PyUntypedBuffer::get(&of).map_err(|_| {
            PyTypeError::new_err(format!(
                "expected bytes, another buffer of bytes or, for a file, its path, found {found}"
            ))
        })?;
        let (format, gaps) = (
            array.format().to_string_lossy().into_owned(),
            !array.is_c_contiguous(),
        );
        match array.into_typed() {
            Ok(bytes) if !gaps => Ok(Self(Arc::new(bytes))),
            Ok(_) => Err(PyBufferError::new_err(format!(
                "expected bytes without gaps, found one of the type {found} with gaps"
            ))),
            Err(_) => Err(PyBufferError::new_err(format!(
                "expected bytes, which have the format B, found the type {found} with the format {format}: view it as bytes"
            ))),
        }
    }
}

/// The bytes of an object: those of `bytes` as they are, and a copy of others.
pub(crate) struct Bytes(pub(crate) PyBackedBytes);

impl<'py> FromPyObject<'_, 'py> for Bytes {
    type Error = PyErr;

    fn extract(of: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = of.cast::<PyBytes>() {
            return Ok(Self(bytes.to_owned().into()));
        }
        let buffer: Buffer = of.extract()?;
        let copy = PyBytes::new_with(of.py(), buffer.bytes(), |out| {
            buffer.copy(0, out);
            Ok(())
        })?;
        Ok(Self(copy.into()))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Buffer {
    /// Returns a reader of the array.
    pub(crate) fn file(&self) -> impl Read + Send + use<> {
        File {
            array: self.clone(),
            at: 0,
        }
    }

    /// Copies the bytes from a position on.
    ///
    /// Panics: beyond the end.
    #[expect(unsafe_code, reason = "pyo3 has no safe call for a part of an array")]
    fn copy(&self, from: usize, out: &mut [u8]) {
        let all = self.0.as_slice_ptr().expect("checked by `extract`");
        let end = from.checked_add(out.len());
        assert!(end.is_some_and(|end| end <= all.len()), "within the array");
        // SAFETY: the array stays where it is while `self` lives, and has these bytes. There is no reference to them: somebody
        // else who writes there meanwhile changes what is copied, which may be any bytes.
        unsafe {
            let from = all.cast::<u8>().add(from);
            from.copy_to_nonoverlapping(NonNull::from_mut(out).cast(), out.len());
        }
    }
}

impl Held for Buffer {
    fn bytes(&self) -> usize {
        self.0.item_count()
    }

    fn part(&self, range: Range<usize>) -> Vec<u8> {
        let mut part = vec![0; range.len()];
        self.copy(range.start, &mut part);
        part
    }
}

/// A reader of an array, with its position.
struct File {
    array: Buffer,
    at: usize,
}

impl Read for File {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let some = out.len().min(self.array.bytes() - self.at);
        self.array.copy(self.at, &mut out[..some]);
        self.at += some;
        Ok(some)
    }
}
