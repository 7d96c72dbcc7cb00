//! Arrays of Python that are read without copying.

use super::given::Array;
use omr_detector::Held;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use std::io::{self, Read};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// An array that stays alive as long as this value.
#[derive(Clone)]
pub(super) struct Shared(Arc<Array>);

impl Shared {
    /// Wraps an array.
    ///
    /// Errors: `BufferError` for an array with gaps.
    pub(super) fn new(array: Array) -> PyResult<Self> {
        if array.is_c_contiguous() {
            Ok(Self(Arc::new(array)))
        } else {
            Err(PyBufferError::new_err("expected an array without gaps"))
        }
    }

    /// Returns a reader of the array.
    pub(super) fn file(&self) -> impl Read + Send + use<> {
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
        let all = self.0.as_slice_ptr().expect("checked by `new`");
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

impl Held for Shared {
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
    array: Shared,
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
