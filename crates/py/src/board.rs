//! Boards in folders, which are the boards of the command.

mod rows;

use crate::buffer::Bytes;
use crate::capsule::stream_of;
use crate::fault::Fault;
use crate::files::Given;
use crate::message::{Message, Messages};
use crate::open::opened;
use crate::pickle::refused;
use crate::post::{Post, Poster};
use crate::running::{Threads, run};
use crate::sets::set;
use omr_board::{BoardSource, clue_kind, new_config, place};
use omr_client::letter::Place;
use omr_protocol::params::DEFAULT;
use omr_protocol::{ClueKind, ParamSet, Sealing};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyCapsule, PySlice};
use rows::Rows;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// A board in a folder, as `omr board init` makes it. It is a context manager and a sequence of messages.
///
/// Any number of readers may have it open, or one writer.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Board {
    dir: PathBuf,
    open: RwLock<Option<Arc<omr_store::Board>>>,
    pub(crate) set: Arc<ParamSet>,
    kind: ClueKind,
    pub(crate) place: Place,
    writable: bool,
}

/// A letter to post: the address, the content and, if there is one, the name.
#[derive(FromPyObject)]
enum Letter {
    Named(Bytes, Bytes, Option<PyBackedStr>),
    Nameless(Bytes, Bytes),
}

impl Letter {
    fn post(&self) -> Post<'_> {
        match self {
            Self::Named(to, data, name) => Post {
                to,
                name: name.as_deref(),
                data,
            },
            Self::Nameless(to, data) => Post {
                to,
                name: None,
                data,
            },
        }
    }
}

#[pymethods]
impl Board {
    /// Creates an empty board in a folder and opens it for writing.
    #[staticmethod]
    #[pyo3(signature = (path, *, params=DEFAULT, payload_bytes=612, sealing="hpke-x25519", clues="bound"))]
    fn create(
        path: PathBuf,
        params: &str,
        payload_bytes: usize,
        sealing: &str,
        clues: &str,
    ) -> PyResult<Self> {
        let set = set(params)?;
        let sealing: Sealing = sealing.parse().map_err(Fault::from)?;
        let clues: ClueKind = clues.parse().map_err(Fault::from)?;
        let config = new_config(set.clue(), sealing, payload_bytes, clues).map_err(Fault::from)?;
        let board = omr_store::Board::create(&path, &config).map_err(Fault::from)?;
        Ok(Self::new(path, board, set, true)?)
    }

    /// Opens a board; waits up to `timeout` seconds while another process has it open.
    #[staticmethod]
    #[pyo3(signature = (path, *, writable=false, timeout=0.0))]
    fn open(py: Python<'_>, path: PathBuf, writable: bool, timeout: f64) -> PyResult<Self> {
        let patience = Duration::try_from_secs_f64(timeout.clamp(0.0, 1e9)).unwrap_or_default();
        let board = run(py, &None, None, |watch| {
            opened(&path, writable, patience, watch)
        })?;
        let set = set(&board.config().params_id)?;
        Ok(Self::new(path, board, set, writable)?)
    }

    /// The folder of the board.
    #[getter]
    fn path(&self) -> PathBuf {
        self.dir.clone()
    }

    /// The 16 random bytes that name the board.
    #[getter]
    fn board_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.place.board_id)
    }

    /// The name of the parameter set.
    #[getter]
    fn params(&self) -> &str {
        self.set.name()
    }

    /// The way in which payloads are sealed: `none`, `hpke-x25519` or `x-wing`.
    #[getter]
    fn sealing(&self) -> &'static str {
        self.place.sealing.name()
    }

    /// The kind of clues: `bound` or `plain`.
    #[getter]
    fn clues(&self) -> &'static str {
        self.kind.name()
    }

    /// The size of each payload in bytes.
    #[getter]
    fn payload_bytes(&self) -> usize {
        self.place.payload_bytes
    }

    /// Whether the board is open for writing.
    #[getter]
    fn writable(&self) -> bool {
        self.writable
    }

    /// Whether the board was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.inner().is_err()
    }

    /// The index of the first message that has not expired.
    #[getter]
    fn first(&self) -> PyResult<u64> {
        Ok(self.inner()?.first())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.inner()?.len() as usize)
    }

    fn __getitem__(slf: &Bound<'_, Self>, at: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let (this, len) = (slf.get(), slf.get().inner()?.len());
        if let Ok(slice) = at.cast::<PySlice>() {
            let span = slice.indices(len as isize)?;
            if span.step != 1 {
                return Err(Fault::Step(span.step).into());
            }
            let range = span.start as u64..(span.start.max(span.stop)) as u64;
            return Ok(this.messages(py, range)?.into_pyobject(py)?.unbind());
        }
        let found: i64 = at.extract()?;
        let expected = this.inner()?.first()..len;
        let index = if found < 0 { found + len as i64 } else { found };
        let index = u64::try_from(index)
            .ok()
            .filter(|index| expected.contains(index))
            .ok_or(Fault::Index { expected, found })?;
        let message = this.messages(py, index..index + 1)?.pop();
        Ok(message.into_pyobject(py)?.unbind())
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Messages> {
        let board = slf.get().inner()?;
        let range = board.first()..board.len();
        Ok(Messages::new(slf.clone().unbind(), range))
    }

    /// Returns the messages as a stream by Arrow's interface. It always has the columns `index`, `clue` and `payload`, as
    /// the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        stream_of(py, Rows::new(self.inner()?))
    }

    /// Seals a letter to an address and appends its messages. Returns their indices.
    #[pyo3(signature = (to, data, *, name=None))]
    fn post(
        &self,
        py: Python<'_>,
        to: Given,
        data: Bytes,
        name: Option<PyBackedStr>,
    ) -> PyResult<PyRange> {
        let to = to.small()?;
        let post = Post {
            to: &to,
            name: name.as_deref(),
            data: &data,
        };
        let mut placed = self.posted(py, &[post], None, &None)?;
        Ok(PyRange(placed.pop().unwrap_or(0..0)))
    }

    /// Posts letters, each an address, a content and perhaps a name. Returns the indices of each letter's messages.
    ///
    /// They are sealed on all threads and appended in batches of about a thousand. Letters that were appended before an
    /// error stay.
    #[pyo3(signature = (letters, *, progress=None, threads=None))]
    fn post_many(
        &self,
        py: Python<'_>,
        letters: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Vec<PyRange>> {
        let letters: Vec<Letter> = letters
            .try_iter()?
            .map(|one| one?.extract())
            .collect::<PyResult<_>>()?;
        let posts: Vec<Post> = letters.iter().map(Letter::post).collect();
        let threads = crate::running::threads(threads)?;
        let placed = self.posted(py, &posts, progress, &threads)?;
        Ok(placed.into_iter().map(PyRange).collect())
    }

    /// Appends messages that were made elsewhere, all or none. Returns their indices.
    fn append(&self, py: Python<'_>, messages: &Bound<'_, PyAny>) -> PyResult<PyRange> {
        let board = self.inner()?;
        let message = |one: PyResult<Bound<'_, PyAny>>| {
            let one = one?.cast_into::<Message>()?;
            Ok(omr_store::Message {
                clue: one.get().clue.to_vec(),
                payload: one.get().payload.to_vec(),
            })
        };
        let messages: Vec<_> = messages.try_iter()?.map(message).collect::<PyResult<_>>()?;
        let range = run(py, &None, None, |_| self.poster(&board).append(&messages))?;
        Ok(PyRange(range))
    }

    /// Removes the messages before an index for good. Returns the indices of the removed messages. Indices never
    /// change.
    fn expire(&self, py: Python<'_>, before: u64) -> PyResult<PyRange> {
        let board = self.inner()?;
        let range = run(py, &None, None, |_| Ok(board.expire(before)?))?;
        Ok(PyRange(range))
    }

    /// Closes the board; a digest that is being made of it is completed first.
    fn close(&self, py: Python<'_>) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let board = open.take();
        drop(open);
        py.detach(|| drop(board));
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().inner()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __reduce__(&self) -> Result<(), Fault> {
        refused("pass `board.path`, and open it with `Board.open`")
    }

    fn __repr__(&self) -> String {
        let state = match self.inner() {
            Ok(board) => format!("{} messages", board.len()),
            Err(_) => "closed".to_owned(),
        };
        let (dir, params) = (self.dir.display(), self.set.name());
        format!("<omr.Board {dir}: {params}, {state}>")
    }
}

impl Board {
    fn new(
        dir: PathBuf,
        board: omr_store::Board,
        set: Arc<ParamSet>,
        writable: bool,
    ) -> Result<Self, Fault> {
        let config = board.config();
        let place = place(config)?;
        let kind = clue_kind(set.clue(), config)?;
        Ok(Self {
            dir,
            open: RwLock::new(Some(Arc::new(board))),
            set,
            kind,
            place,
            writable,
        })
    }

    /// Returns the store of the board.
    ///
    /// Errors: `Closed`.
    pub(crate) fn inner(&self) -> Result<Arc<omr_store::Board>, Fault> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or(Fault::Closed)
    }

    /// Returns the board as the source of messages for a detector.
    ///
    /// Errors: `Closed`, `Local`.
    pub(crate) fn source(&self) -> Result<BoardSource<Arc<omr_store::Board>>, Fault> {
        let board = self.inner()?;
        Ok(BoardSource::new(board.clone(), &board, self.set.clue())?)
    }

    fn poster<'a>(&'a self, board: &'a omr_store::Board) -> Poster<'a> {
        Poster {
            board,
            set: &self.set,
            kind: self.kind,
            place: &self.place,
        }
    }

    fn posted(
        &self,
        py: Python<'_>,
        posts: &[Post],
        progress: Option<&Bound<'_, PyAny>>,
        threads: &Threads,
    ) -> PyResult<Vec<Range<u64>>> {
        let board = self.inner()?;
        run(py, threads, progress, |watch| {
            self.poster(&board).post(posts, watch)
        })
    }

    /// Reads messages.
    ///
    /// Errors: `Closed`, `Store`.
    pub(crate) fn messages(&self, py: Python<'_>, range: Range<u64>) -> PyResult<Vec<Message>> {
        let board = self.inner()?;
        let read = py.detach(|| {
            let mut out = Vec::new();
            let mut visit = |index, clue: &[u8], payload: &[u8]| {
                out.push((index, clue.to_vec(), payload.to_vec()));
                ControlFlow::Continue(())
            };
            board.read(range, &mut visit).map(|()| out)
        });
        let bytes = |bytes: Vec<u8>| PyBackedBytes::from(PyBytes::new(py, &bytes));
        let message = |(index, clue, payload)| Message {
            clue: bytes(clue),
            payload: bytes(payload),
            index: Some(index),
        };
        Ok(read
            .map_err(Fault::from)?
            .into_iter()
            .map(message)
            .collect())
    }
}

/// Indices as Python's `range`.
pub(crate) struct PyRange(pub(crate) Range<u64>);

impl<'py> IntoPyObject<'py> for PyRange {
    type Target = pyo3::types::PyRange;
    type Output = Bound<'py, Self::Target>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        pyo3::types::PyRange::new(py, self.0.start as isize, self.0.end as isize)
    }
}
