//! Detectors: a recipient's detection keys, ready to make digests of boards.

use crate::board::Board;
use crate::digest::Digest;
use crate::fault::{Fault, check_params};
use crate::files::Given;
use crate::pickle::refused;
use crate::rounds::{FetchAnswer, FetchQuery, Rounds, Scan};
use crate::running::{Counted, Threads, Watch, run};
use crate::session::{Session, Wanted};
use crate::sets::set;
use omr_detector::engine::on_cpu;
use omr_detector::engines::{Costs, Engines, Job};
use omr_detector::instantomr::InstantDetector;
use omr_detector::rounds::RoundsDetector;
use omr_detector::{Progress, placement_seed};
use omr_protocol::frame::{FrameError, Opened};
use omr_protocol::instantomr::InstantKey;
use omr_protocol::{EngineKind, Mismatch, ParamSet, Request, SEED_BYTES, Scheme};
use omr_store::StoreError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::ops::Range;
use std::sync::Arc;

/// Returns the name of an engine.
pub(crate) fn name(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Sophomr => "sophomr",
        EngineKind::Instantomr => "instantomr",
        EngineKind::Rounds => "two-rounds",
    }
}

/// Parses the name of an engine.
///
/// Errors: `Engine`.
pub(crate) fn engine(word: &str) -> Result<EngineKind, Fault> {
    let found = EngineKind::ALL.into_iter().find(|kind| name(*kind) == word);
    found.ok_or_else(|| Fault::Engine(word.to_owned()))
}

/// Detection keys of one recipient in memory. A detector learns neither which messages are the recipient's nor their
/// number.
///
/// A key is given as bytes or by its path; several, one for each engine, are given as a list and must be of the same
/// recipient. `threads` is the number of its own threads, in place of all cores.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Detector {
    keys: Keys,
    threads: Threads,
}

/// Keys of one set.
struct Keys {
    set: Arc<ParamSet>,
    kinds: Vec<EngineKind>,
    /// The keys that make digests.
    engines: Engines,
    instant: Option<Arc<InstantDetector>>,
    rounds: Option<Rounds>,
}

#[pymethods]
impl Detector {
    #[new]
    #[pyo3(signature = (keys, *, threads=None, progress=None))]
    fn new(
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let keys: Vec<Given> =
            if keys.is_instance_of::<PyList>() || keys.is_instance_of::<PyTuple>() {
                keys.extract()?
            } else {
                vec![keys.extract()?]
            };
        let threads = crate::running::threads(threads)?;
        let keys = run(py, &threads, progress, |watch| Keys::read(&keys, watch))?;
        Ok(Self { keys, threads })
    }

    /// The name of the parameter set of the keys.
    #[getter]
    fn params(&self) -> &str {
        self.keys.set.name()
    }

    /// The engines of the keys.
    #[getter]
    fn engines(&self) -> Vec<&'static str> {
        self.keys.kinds.iter().copied().map(name).collect()
    }

    /// Scans a board, or a range of it, for up to `bound` messages of the recipient.
    ///
    /// A digest with the same `seed`, 32 bytes, is the same one. The seed must be random and drawn after the messages
    /// were posted, which is the default. `progress` is called with a stage's name, the number of completed steps, and
    /// that of all steps.
    #[pyo3(signature = (board, *, bound=50, range=None, indices_only=false, scheme=None, seed=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn digest(
        &self,
        py: Python<'_>,
        board: &Bound<'_, Board>,
        bound: usize,
        range: Option<&Bound<'_, pyo3::types::PyRange>>,
        indices_only: bool,
        scheme: Option<&str>,
        seed: Option<&[u8]>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Digest> {
        let board = board.get();
        check_params(self.keys.set.name(), board.set.name())?;
        let range = of_board(board, range)?;
        let scheme: Option<Scheme> = scheme.map(str::parse).transpose().map_err(Fault::from)?;
        let indices = indices_only || scheme.is_some_and(Scheme::is_for_indices);
        let payload = (!indices).then_some(board.place.payload_bytes);
        let request = Request::new(range, bound, payload);
        let scheme = match scheme {
            Some(Scheme::TwoRounds) => return Err(Fault::OnlyScans.into()),
            Some(scheme) => scheme,
            None => self.keys.scheme(&request)?,
        };
        let seed = seed.map(seed_of).transpose()?;
        let mut source = board.source()?;
        let made = run(py, &self.threads, progress, |watch| {
            let job = Job {
                source: &mut source,
                request,
                board_id: board.place.board_id,
                sealing: board.place.sealing,
                seed: &|_| seed.unwrap_or_else(placement_seed),
                costs: Costs::default(),
            };
            let answer = self.keys.engines.respond(scheme, job, watch)?;
            let lost = source.lost(answer.response.request().range);
            Digest::new(&self.keys.set, answer, lost)
        })?;
        Ok(made)
    }

    /// Scans a board, or a range of it, with a key for two rounds: the recipient finds all messages.
    #[pyo3(signature = (board, *, range=None, progress=None))]
    fn scan(
        &self,
        py: Python<'_>,
        board: &Bound<'_, Board>,
        range: Option<&Bound<'_, pyo3::types::PyRange>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Scan> {
        let (rounds, board) = (self.rounds()?, board.get());
        check_params(self.keys.set.name(), board.set.name())?;
        let range = of_board(board, range)?;
        run(py, &self.threads, progress, |watch| {
            rounds.scan(board, range, watch)
        })
    }

    /// Answers a recipient's query with payloads from the board.
    #[pyo3(signature = (board, query, *, progress=None))]
    fn fetch(
        &self,
        py: Python<'_>,
        board: &Bound<'_, Board>,
        query: &Bound<'_, FetchQuery>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<FetchAnswer> {
        let (rounds, board, query) = (self.rounds()?, board.get(), query.get());
        check_params(self.keys.set.name(), board.set.name())?;
        check_params(self.keys.set.name(), query.set.name())?;
        check_kept(board, &query.header.range)?;
        run(py, &self.threads, progress, |watch| {
            rounds.fetch(board, query, watch)
        })
    }

    /// Starts a session of InstantOMR. It is faster with `room` for few messages until a digest is cut.
    #[pyo3(signature = (board, *, start=None, bound=50, room=None, indices_only=false))]
    fn session(
        &self,
        board: &Bound<'_, Board>,
        start: Option<u64>,
        bound: usize,
        room: Option<u64>,
        indices_only: bool,
    ) -> PyResult<Session> {
        let wanted = Wanted {
            start,
            bound,
            room,
            indices_only,
        };
        check_params(self.keys.set.name(), board.get().set.name())?;
        Ok(Session::begin(
            self.instant()?,
            self.keys.set.clone(),
            self.threads.clone(),
            board.get(),
            &wanted,
        )?)
    }

    /// Returns the session in a file.
    fn resume(&self, py: Python<'_>, session: Given) -> PyResult<Session> {
        let instant = self.instant()?;
        let (set, threads) = (self.keys.set.clone(), self.threads.clone());
        Ok(py.detach(|| Session::resume(instant, set, threads, &session))?)
    }

    fn __reduce__(&self) -> Result<(), Fault> {
        refused("pass the paths of the detection keys, and make a detector of them")
    }

    fn __repr__(&self) -> String {
        let engines = self.engines().join(", ");
        format!("<omr.Detector {}: {engines}>", self.keys.set.name())
    }
}

impl Detector {
    /// Returns the detector for sessions.
    ///
    /// Errors: `NoInstant`.
    fn instant(&self) -> Result<Arc<InstantDetector>, Fault> {
        self.keys.instant.clone().ok_or(Fault::NoInstant)
    }

    /// Returns the key for two rounds.
    ///
    /// Errors: `NoRounds`.
    fn rounds(&self) -> Result<&Rounds, Fault> {
        self.keys.rounds.as_ref().ok_or(Fault::NoRounds)
    }
}

impl Keys {
    /// Reads detection keys.
    ///
    /// Errors: `NoKey`, `TwoKeys`, `OtherParams`; those of reading the files.
    fn read(given: &[Given], watch: &Watch) -> Result<Self, Fault> {
        let mut keys: Option<Self> = None;
        for one in given {
            let kinds = EngineKind::ALL.map(EngineKind::key_file);
            let opened = Opened::new::<FrameError>(one.reader()?, &kinds)?;
            let name = &opened.header.params_id;
            let keys = match &mut keys {
                Some(keys) => keys,
                None => keys.insert(Self {
                    set: set(name)?,
                    kinds: Vec::new(),
                    engines: Engines::default(),
                    instant: None,
                    rounds: None,
                }),
            };
            check_params(keys.set.name(), name)?;
            watch.stage("reading key", opened.file_len);
            if let Some(kind) = EngineKind::of_key_file(opened.header.kind) {
                let inner = opened.reader;
                keys.add(kind, Counted { inner, watch })?;
            }
        }
        keys.ok_or(Fault::NoKey)
    }

    /// Reads a detection key.
    ///
    /// Errors: `TwoKeys`; those of reading the file.
    fn add(&mut self, kind: EngineKind, mut file: impl std::io::Read) -> Result<(), Fault> {
        if self.kinds.contains(&kind) {
            return Err(Fault::TwoKeys(kind));
        }
        match kind {
            EngineKind::Sophomr => {
                let engine = on_cpu(&self.set, kind)?;
                self.engines.add(engine.load(&mut file)?);
            }
            EngineKind::Rounds => {
                let detector = RoundsDetector::load(self.set.rounds()?, file)?;
                self.rounds = Some(Rounds {
                    set: self.set.clone(),
                    detector: Arc::new(detector),
                });
            }
            // Sessions need the key in this form.
            EngineKind::Instantomr => {
                let params = self.set.instantomr()?;
                let key = InstantKey::read(params, file)?;
                let detector = Arc::new(InstantDetector::new(params.clone(), key));
                self.instant = Some(detector.clone());
                self.engines.add(detector);
            }
        }
        self.kinds.push(kind);
        Ok(())
    }

    /// Returns the scheme that answers a request with all keys.
    ///
    /// Errors: `OnlyScans`.
    fn scheme(&self, request: &Request) -> Result<Scheme, Fault> {
        let payloads = request.payload_bytes.is_some();
        let scheme = self.engines.scheme(payloads).ok_or(Fault::OnlyScans)?;
        Ok(match &self.set.spec().sophomr {
            Some(spec) => {
                Costs::default().narrowed(scheme, &request.range, spec.n as u64, payloads)
            }
            None => scheme,
        })
    }
}

/// Parses a seed.
///
/// Errors: `Seed`.
fn seed_of(bytes: &[u8]) -> Result<[u8; SEED_BYTES], Fault> {
    let found = bytes.len();
    let seed = bytes.try_into();
    seed.map_err(|_| Fault::Seed(Mismatch::new(SEED_BYTES, found)))
}

/// Returns the messages of a range, or all messages of the board where no range is given.
///
/// Errors: `Closed`, `Step`; `Store` where the range is not on the board.
fn of_board(
    board: &Board,
    range: Option<&Bound<'_, pyo3::types::PyRange>>,
) -> PyResult<Range<u64>> {
    let Some(range) = range else {
        let messages = board.inner()?;
        return Ok(messages.first()..messages.len());
    };
    let range = bounds(range)?;
    check_kept(board, &range)?;
    Ok(range.start..range.end.max(range.start))
}

/// Checks that a board has the messages of a range.
///
/// Errors: `Closed`, `Store`.
fn check_kept(board: &Board, range: &Range<u64>) -> Result<(), Fault> {
    let (board, &Range { start, end }) = (board.inner()?, range);
    let (first, expected) = (board.first(), board.len());
    if end > expected {
        let outside = StoreError::OutOfRange {
            start,
            end,
            expected,
        };
        return Err(outside.into());
    }
    if start < first && start < end {
        let expired = StoreError::Expired {
            start,
            end: end.min(first),
            first,
        };
        return Err(expired.into());
    }
    Ok(())
}

/// Converts a `range` of Python.
///
/// Errors: `Step`.
pub(crate) fn bounds(range: &Bound<'_, pyo3::types::PyRange>) -> PyResult<Range<u64>> {
    let field = |name| range.getattr(name)?.extract::<u64>();
    let step: isize = range.getattr("step")?.extract()?;
    match step {
        1 => Ok(field("start")?..field("stop")?),
        _ => Err(Fault::Step(step).into()),
    }
}
