//! Messages on a board.

use crate::board::Board;
use crate::buffer::Bytes;
use crate::pickle::{Pickled, as_fields};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::collections::VecDeque;

/// The number of messages that are read at once.
const TOGETHER: u64 = 256;

/// A message on a board: a clue for the detector, and a payload for its recipient.
#[pyclass(frozen, eq, get_all, module = "omr")]
#[derive(PartialEq)]
pub(crate) struct Message {
    /// The clue, in which a detector looks for its recipient under encryption.
    pub(crate) clue: PyBackedBytes,
    /// The payload, which is sealed for its recipient.
    pub(crate) payload: PyBackedBytes,
    /// The index of the message on its board; None for a message that was made elsewhere.
    pub(crate) index: Option<u64>,
}

#[pymethods]
impl Message {
    #[new]
    #[pyo3(signature = (clue, payload, index=None))]
    fn new(clue: Bytes, payload: Bytes, index: Option<u64>) -> Self {
        Self {
            clue: clue.0,
            payload: payload.0,
            index,
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["clue", "payload", "index"])
    }

    fn __repr__(&self) -> String {
        let index = self.index.map_or("None".to_owned(), |i| i.to_string());
        let (clue, payload) = (self.clue.len(), self.payload.len());
        format!("<omr.Message index={index}: clue of {clue} bytes, payload of {payload} bytes>")
    }
}

/// An iterator over the messages of a board.
#[pyclass(module = "omr")]
pub(crate) struct Messages {
    board: Py<Board>,
    next: u64,
    end: u64,
    ahead: VecDeque<Message>,
}

impl Messages {
    pub(crate) fn new(board: Py<Board>, range: std::ops::Range<u64>) -> Self {
        Self {
            board,
            next: range.start,
            end: range.end,
            ahead: VecDeque::new(),
        }
    }
}

#[pymethods]
impl Messages {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Message>> {
        if self.ahead.is_empty() && self.next < self.end {
            let end = self.end.min(self.next + TOGETHER);
            let read = self.board.get().messages(py, self.next..end)?;
            self.ahead = read.into();
            self.next = end;
        }
        Ok(self.ahead.pop_front())
    }
}
