//! The content of an inbox as Python objects.
#![expect(
    clippy::too_many_arguments,
    reason = "pickle makes letters and ranges of all their fields"
)]

use crate::pickle::{Pickled, as_fields};
use omr_binding::{Decoded, Received, genuine_sender, is_forged};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};

/// A letter of an inbox; `retired` is the name of the address to which it was written, if that was replaced since.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct InboxLetter {
    /// The number of the letter in the inbox, as in `omr inbox read`.
    pub(super) number: u64,
    /// The index of the letter's first message on the board.
    index: u64,
    /// The name that the sender gave the letter, if there is one.
    name: Option<String>,
    /// The content, which `bytes(letter)` returns, too.
    data: Py<PyBytes>,
    /// The time when it was taken in, in seconds since 1970.
    fetched: u64,
    /// Whether the letter was marked as read when it was listed.
    read: bool,
    /// The name of the address to which the letter was written, if that address was replaced since.
    retired: Option<String>,
    /// The short address of the sender, if the letter names one and the signature matches.
    sender: Option<String>,
    /// Whether the letter names a sender whose signature does not match.
    forged: bool,
    /// The conversation, 32 hexadecimal digits that its letters have in common.
    thread: Option<String>,
    /// The subject, if the letter has one.
    subject: Option<String>,
    /// The media type of the content, such as `text/plain`, if the letter names one.
    media_type: Option<String>,
    /// The time in seconds since 1970, by the sender's clock.
    time: Option<u64>,
}

#[pymethods]
impl InboxLetter {
    fn __bytes__(&self, py: Python<'_>) -> Py<PyBytes> {
        self.data.clone_ref(py)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(
            slf,
            &[
                "number",
                "index",
                "name",
                "data",
                "fetched",
                "read",
                "retired",
                "sender",
                "forged",
                "thread",
                "subject",
                "media_type",
                "time",
            ],
        )
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

/// A range of the board with missing messages: its digest overflowed or was damaged.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct Kept {
    /// The first message of the range.
    start: u64,
    /// The message after the last one.
    end: u64,
    /// The bound of the digest.
    bound: u32,
    /// The number of the recipient's messages in it, where that is known; a lower bound unless `exact` is true.
    count: Option<u64>,
    /// Whether `count` is the exact number.
    exact: bool,
    /// The reason why messages are missing.
    reason: String,
    /// Whether the next fetch requests it again.
    asked_again: bool,
    /// The number of its messages that later digests contained.
    read: u64,
    /// The number of further fetches that cover it by themselves.
    fetches_left: u64,
    /// The number of these fetches after which it is expected to be complete, unless many other letters arrive
    /// meanwhile.
    fetches_expected: u64,
    /// Whether the board's messages of the range have expired, so that nothing can bring them.
    expired: bool,
}

#[pymethods]
impl Kept {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(
            slf,
            &[
                "start",
                "end",
                "bound",
                "count",
                "exact",
                "reason",
                "asked_again",
                "read",
                "fetches_left",
                "fetches_expected",
                "expired",
            ],
        )
    }

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

/// Messages that were found and whose payloads later fetches bring.
#[pyclass(frozen, get_all, new = "from_fields", module = "omr")]
pub(crate) struct Waiting {
    /// The number of these messages.
    messages: u64,
    /// The number of fetches that bring them, unless others are found before them.
    syncs: u64,
}

#[pymethods]
impl Waiting {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["messages", "syncs"])
    }

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

/// The result of a fetch: a sequence of new letters, with the ranges and messages that brought none.
#[pyclass(frozen, get_all, new = "from_fields", sequence, module = "omr")]
pub(crate) struct Taken {
    /// The new letters, as the object itself has them.
    letters: Py<PyList>,
    /// The ranges with missing messages.
    kept: Py<PyList>,
    /// The number of messages that could not be opened.
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

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        as_fields(slf, &["letters", "kept", "unopened"])
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
