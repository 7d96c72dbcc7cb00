//! The content of an inbox as Python objects.

use omr_binding::{Decoded, Received, genuine_sender, is_forged};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};

/// A letter of an inbox.
#[pyclass(frozen, get_all, module = "omr")]
pub(crate) struct InboxLetter {
    pub(super) number: u64,
    index: u64,
    name: Option<String>,
    data: Py<PyBytes>,
    fetched: u64,
    read: bool,
    retired: Option<String>,
    sender: Option<String>,
    forged: bool,
    thread: Option<String>,
    subject: Option<String>,
    media_type: Option<String>,
    time: Option<u64>,
}

#[pymethods]
impl InboxLetter {
    fn __bytes__(&self, py: Python<'_>) -> Py<PyBytes> {
        self.data.clone_ref(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let bytes = self.data.bind(py).as_bytes().len();
        let name = match &self.name {
            Some(name) => format!(" {name:?}"),
            None => String::new(),
        };
        format!("<omr.InboxLetter {}{name}: {bytes} bytes>", self.number)
    }
}

/// Returns letters as Python objects.
pub(super) fn objects(py: Python<'_>, letters: Vec<Received>) -> PyResult<Vec<Py<InboxLetter>>> {
    let object = |Received { listed, data }| {
        let header = listed.header.unwrap_or_default();
        let letter = InboxLetter {
            number: listed.number,
            index: listed.index,
            name: listed.name,
            data: PyBytes::new(py, &data).unbind(),
            fetched: listed.fetched,
            read: listed.read,
            retired: listed.retired,
            sender: genuine_sender(&header),
            forged: is_forged(&header),
            thread: header.thread,
            subject: header.subject,
            media_type: header.media_type,
            time: header.time,
        };
        Py::new(py, letter)
    };
    letters.into_iter().map(object).collect()
}

fn thread(letter: &Received) -> Option<&str> {
    letter.listed.header.as_ref()?.thread.as_deref()
}

/// Returns letters by conversation, in the order of their first letters. A letter of no conversation is one by itself.
pub(super) fn conversations(letters: Vec<Received>) -> Vec<Vec<Received>> {
    let mut groups: Vec<Vec<Received>> = Vec::new();
    for letter in letters {
        let mut known = groups.iter_mut();
        let own = thread(&letter);
        match known.find(|group| own.is_some() && thread(&group[0]) == own) {
            Some(group) => group.push(letter),
            None => groups.push(vec![letter]),
        }
    }
    groups
}

/// A range with missing messages.
#[pyclass(frozen, get_all, module = "omr")]
pub(crate) struct Kept {
    start: u64,
    end: u64,
    bound: u32,
    count: Option<u64>,
    exact: bool,
    reason: String,
    asked_again: bool,
    read: u64,
    fetches_left: u64,
    fetches_expected: u64,
    expired: bool,
}

#[pymethods]
impl Kept {
    fn __repr__(&self) -> String {
        format!("<omr.Kept {}..{}: {}>", self.start, self.end, self.reason)
    }
}

impl From<omr_mail::Kept> for Kept {
    fn from(kept: omr_mail::Kept) -> Self {
        Self {
            start: kept.start,
            end: kept.end,
            bound: kept.bound,
            count: kept.overflowed,
            exact: kept.exact,
            asked_again: kept.asked_again,
            read: kept.read,
            fetches_left: kept.fetches_left,
            fetches_expected: kept.fetches_expected,
            expired: kept.expired,
            reason: kept.reason,
        }
    }
}

/// Messages that were found and that later fetches bring.
#[pyclass(frozen, get_all, module = "omr")]
pub(crate) struct Waiting {
    messages: u64,
    syncs: u64,
}

#[pymethods]
impl Waiting {
    fn __repr__(&self) -> String {
        let (messages, syncs) = (self.messages, self.syncs);
        format!("<omr.Waiting: {messages} messages, {syncs} fetches>")
    }
}

impl From<omr_mail::Waiting> for Waiting {
    fn from(waiting: omr_mail::Waiting) -> Self {
        Self {
            messages: waiting.messages,
            syncs: waiting.syncs,
        }
    }
}

/// The result of a fetch: a sequence of letters, with the ranges and payloads that brought none.
#[pyclass(frozen, get_all, sequence, module = "omr")]
pub(crate) struct Taken {
    letters: Py<PyList>,
    kept: Py<PyList>,
    unopened: usize,
}

#[pymethods]
impl Taken {
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
        let (letters, kept) = (self.letters.bind(py).len(), self.kept.bind(py).len());
        format!("<omr.Taken: {letters} letters, {kept} ranges kept>")
    }
}

impl Taken {
    pub(super) fn new(py: Python<'_>, decoded: Decoded) -> PyResult<Self> {
        let kept = decoded
            .kept
            .into_iter()
            .map(|kept| Py::new(py, Kept::from(kept)));
        let kept: Vec<_> = kept.collect::<PyResult<_>>()?;
        Ok(Self {
            letters: PyList::new(py, objects(py, decoded.letters)?)?.unbind(),
            kept: PyList::new(py, kept)?.unbind(),
            unopened: decoded.unopened,
        })
    }
}
