//! The decoded content of digests, scans and answers.

use crate::pickle::{Pickled, as_fields};
use omr_client::fragment::Whole;
use omr_client::letters::{self, Opened};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};
use std::collections::{BTreeMap, BTreeSet};

/// A letter: the index of its first message, its name if it has one, and its content.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct Letter {
    /// The index of the letter's first message.
    index: u64,
    /// The name that the sender gave the letter, if there is one.
    name: Option<String>,
    /// The content, which `bytes(letter)` returns, too.
    data: Py<PyBytes>,
}

#[pymethods]
impl Letter {
    fn __bytes__(&self, py: Python<'_>) -> Py<PyBytes> {
        self.data.clone_ref(py)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["index", "name", "data"])
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let bytes = self.data.bind(py).as_bytes().len();
        let name = match &self.name {
            Some(name) => format!(" {name:?}"),
            None => String::new(),
        };
        format!(
            "<omr.Letter{name} of message {}, {bytes} bytes>",
            self.index
        )
    }
}

/// A letter with missing parts.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct Incomplete {
    /// The indices of the messages that are there.
    indices: Vec<u64>,
    /// The number of parts that are there.
    have: u32,
    /// The number of parts of the whole letter.
    total: u32,
}

#[pymethods]
impl Incomplete {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["indices", "have", "total"])
    }

    fn __repr__(&self) -> String {
        format!("<omr.Incomplete {} of {} parts>", self.have, self.total)
    }
}

/// A message without a letter, and the reason.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct LeftOut {
    /// The index of the message.
    index: u64,
    /// The reason why there is no letter.
    reason: String,
}

#[pymethods]
impl LeftOut {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["index", "reason"])
    }

    fn __repr__(&self) -> String {
        format!("<omr.LeftOut {}: {}>", self.index, self.reason)
    }
}

/// The letters of files in the order of the board, and the messages without a letter.
#[pyclass(frozen, get_all, new = "from_fields", sequence, module = "omr")]
pub(crate) struct Decoded {
    /// The letters in the order of the board, as the object itself has them.
    letters: Py<PyList>,
    /// The letters with missing parts.
    incomplete: Py<PyList>,
    /// The messages without a letter.
    left_out: Py<PyList>,
    /// The indices of all messages of the recipient; a digest of indices, or a scan without an answer, has nothing
    /// else.
    indices: Vec<u64>,
}

#[pymethods]
impl Decoded {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.letters.bind(py).len()
    }

    fn __getitem__<'py>(&self, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.letters.bind(at.py()).as_any().get_item(at)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.letters.bind(py).try_iter()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["letters", "incomplete", "left_out", "indices"])
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let letters = self.letters.bind(py).len();
        format!(
            "<omr.Decoded: {letters} letters of {} messages>",
            self.indices.len()
        )
    }
}

impl Decoded {
    /// Returns the content of files. The payloads of `unreadable` messages do not match their checksums.
    pub(crate) fn new(
        py: Python<'_>,
        opened: Opened,
        unreadable: &BTreeSet<u64>,
    ) -> PyResult<Self> {
        let letter = |(index, whole): (u64, Whole)| {
            let (name, data) = (whole.name, PyBytes::new(py, &whole.bytes).unbind());
            Py::new(py, Letter { index, name, data })
        };
        let mut reasons: BTreeMap<u64, String> = BTreeMap::new();
        for (index, error) in opened.left_out {
            reasons.insert(index, error.to_string());
        }
        for &index in unreadable {
            let reason = "the payload does not match its checksum: another query brings it";
            reasons.insert(index, reason.to_owned());
        }
        let left_out = |(index, reason)| Py::new(py, LeftOut { index, reason });
        let incomplete = |one: letters::Incomplete| {
            let indices = one.parts.keys().copied().collect();
            let (have, total) = (one.have, one.total);
            let one = Incomplete {
                indices,
                have,
                total,
            };
            Py::new(py, one)
        };
        Ok(Self {
            letters: list(py, opened.whole.into_iter().map(letter))?,
            incomplete: list(py, opened.incomplete.into_iter().map(incomplete))?,
            left_out: list(py, reasons.into_iter().map(left_out))?,
            indices: opened.pertinent.into_iter().collect(),
        })
    }
}

fn list<T: PyTypeInfo>(
    py: Python<'_>,
    of: impl Iterator<Item = PyResult<Py<T>>>,
) -> PyResult<Py<PyList>> {
    let items: Vec<Py<T>> = of.collect::<PyResult<_>>()?;
    Ok(PyList::new(py, items)?.unbind())
}
