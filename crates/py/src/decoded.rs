//! What digests turn out to hold.

use omr_client::fragment::{MessageId, Reassembler};
use omr_client::letter::{Piece, Place, Reader};
use omr_client::{Retrieved, SecretKey};
use omr_protocol::{ParamSet, Response};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};
use std::collections::{BTreeMap, BTreeSet};

/// A letter: what somebody wrote to the recipient.
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
        let name = self.name.as_ref();
        let name = name.map_or(String::new(), |name| format!(" {name:?}"));
        format!(
            "<omr.Letter{name} of message {}, {bytes} bytes>",
            self.index
        )
    }
}

/// A letter of which parts are missing.
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

/// A message that gave no letter, and why.
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

/// All that digests hold for a recipient: a sequence of letters.
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

/// Letters as they are put together, before they are Python's.
#[derive(Default)]
pub(crate) struct Opened {
    indices: BTreeSet<u64>,
    letters: BTreeMap<u64, (Option<String>, Vec<u8>)>,
    parts: BTreeMap<MessageId, BTreeMap<u64, Vec<u8>>>,
    incomplete: Vec<Incomplete>,
    left_out: BTreeMap<u64, String>,
}

impl Opened {
    /// Opens the payloads of a digest; of one of indices, notes them.
    pub(crate) fn add(
        &mut self,
        set: &ParamSet,
        secret: &SecretKey,
        digest: &Response,
        found: &[Retrieved],
    ) {
        let Some(payload_bytes) = digest.request().payload_bytes else {
            self.indices.extend(found.iter().map(|one| one.index));
            return;
        };
        let place = Place {
            board_id: digest.board_id(),
            params: set.name().to_owned(),
            sealing: digest.sealing(),
            payload_bytes,
        };
        let reader = Reader::new(set.clue(), secret, &place);
        for (index, piece) in reader.open(found, digest.places()) {
            self.indices.insert(index);
            match piece {
                Ok(Piece::Whole(whole)) => {
                    self.letters.insert(index, (whole.name, whole.bytes));
                }
                Ok(Piece::PartOf(id, part)) => {
                    let parts = self.parts.entry(id).or_default();
                    parts.insert(index, part.to_vec());
                }
                Err(error) => {
                    self.left_out.insert(index, error.to_string());
                }
            }
        }
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Puts letters of several messages together.
    pub(crate) fn join(mut self) -> Self {
        for parts in std::mem::take(&mut self.parts).into_values() {
            let mut file = Reassembler::new();
            for (&index, part) in &parts {
                if let Err(error) = file.push(part) {
                    self.left_out.insert(index, error.to_string());
                }
            }
            let (whole, incomplete) = file.finish();
            let first = parts.keys().next().copied().unwrap_or_default();
            let whole = whole.into_iter().map(|one| (first, (one.name, one.bytes)));
            self.letters.extend(whole);
            self.incomplete.extend(incomplete.into_iter().map(|one| {
                let indices = parts.keys().copied().collect();
                let (have, total) = (one.have, one.total);
                Incomplete {
                    indices,
                    have,
                    total,
                }
            }));
        }
        self
    }

    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Decoded> {
        let letter = |(index, (name, data)): (u64, (Option<String>, Vec<u8>))| {
            let data = PyBytes::new(py, &data).unbind();
            Py::new(py, Letter { index, name, data })
        };
        let letters: PyResult<Vec<_>> = self.letters.into_iter().map(letter).collect();
        let left_out = |(index, reason)| Py::new(py, LeftOut { index, reason });
        let left_out: PyResult<Vec<_>> = self.left_out.into_iter().map(left_out).collect();
        let incomplete = self.incomplete.into_iter().map(|one| Py::new(py, one));
        let incomplete: PyResult<Vec<_>> = incomplete.collect();
        Ok(Decoded {
            letters: PyList::new(py, letters?)?.unbind(),
            incomplete: PyList::new(py, incomplete?)?.unbind(),
            left_out: PyList::new(py, left_out?)?.unbind(),
            indices: self.indices.into_iter().collect(),
        })
    }
}
