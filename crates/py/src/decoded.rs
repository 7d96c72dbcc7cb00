//! The decoded content of digests, scans and answers.

use omr_client::fragment::Whole;
use omr_client::letters::{self, Opened};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};
use std::collections::{BTreeMap, BTreeSet};

/// A letter to the recipient.
#[pyclass(frozen, get_all, module = "omr")]
pub(crate) struct Letter {
    index: u64,
    name: Option<String>,
    data: Py<PyBytes>,
}

#[pymethods]
impl Letter {
    fn __bytes__(&self, py: Python<'_>) -> Py<PyBytes> {
        self.data.clone_ref(py)
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
#[pyclass(frozen, get_all, module = "omr")]
pub(crate) struct Incomplete {
    indices: Vec<u64>,
    have: u32,
    total: u32,
}

#[pymethods]
impl Incomplete {
    fn __repr__(&self) -> String {
        format!("<omr.Incomplete {} of {} parts>", self.have, self.total)
    }
}

/// A message without a letter, and the reason.
#[pyclass(frozen, get_all, module = "omr")]
pub(crate) struct LeftOut {
    index: u64,
    reason: String,
}

#[pymethods]
impl LeftOut {
    fn __repr__(&self) -> String {
        format!("<omr.LeftOut {}: {}>", self.index, self.reason)
    }
}

/// Everything in files for a recipient: a sequence of letters.
#[pyclass(frozen, get_all, sequence, module = "omr")]
pub(crate) struct Decoded {
    letters: Py<PyList>,
    incomplete: Py<PyList>,
    left_out: Py<PyList>,
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
