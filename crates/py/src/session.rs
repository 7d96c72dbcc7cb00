//! Sessions of InstantOMR: messages are processed as they come, and a digest can be made at any time.

use crate::board::{Board, PyRange};
use crate::digest::Digest;
use crate::fault::{Fault, check_params};
use crate::files::Given;
use crate::pickle::refused;
use crate::running::{Threads, run};
use omr_detector::instantomr::InstantDetector;
use omr_detector::{DetectorError, Stages, engine::Answer, placement_seed};
use omr_protocol::instantomr::{InstantPlan, SessionFile};
use omr_protocol::{DigestHeader, Mismatch, ParamSet, Request, Response, hex};
use omr_store::StoreError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Inner = omr_detector::instantomr::Session;

/// The highest number of bytes of a session's file.
const MOST_BYTES: u64 = 1 << 33;

/// A recipient's sums, which grow as messages come. `bytes(session)` is the session's file.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Session {
    set: Arc<ParamSet>,
    threads: Threads,
    open: Mutex<Open>,
}

/// A session and the messages that its digests do not contain.
struct Open {
    inner: Inner,
    /// The messages passed over since the last cut.
    passed: Passed,
    /// The messages passed over in the last digest.
    last: Passed,
}

/// The messages of a digest that the detector passed over, as far as this process processed them.
#[derive(Clone, Default)]
struct Passed {
    /// The number of messages whose clues cannot be read, including the lost ones.
    unusable: usize,
    /// The messages that are lost by damage of the board.
    lost: Vec<u64>,
}

/// The choices for a new session.
pub(crate) struct Wanted {
    pub(crate) start: Option<u64>,
    pub(crate) bound: usize,
    pub(crate) room: Option<u64>,
    pub(crate) indices_only: bool,
}

#[pymethods]
impl Session {
    /// Processes the messages of the board up to `end`, or all messages. Returns the indices of the processed ones.
    ///
    /// Messages that were processed before an error or Ctrl-C stay processed. A board that was restored from an older
    /// copy causes an `OtherHistoryError`, and no message is processed.
    #[pyo3(signature = (board, *, end=None, progress=None))]
    fn extend(
        &self,
        py: Python<'_>,
        board: &Bound<'_, Board>,
        end: Option<u64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyRange> {
        let board = board.get();
        check_params(self.set.name(), board.set.name())?;
        let (open, mut source) = (board.inner()?, board.source()?);
        let taken = run(py, &self.threads, progress, |watch| {
            let Open {
                inner: session,
                passed,
                ..
            } = &mut *self.lock();
            let (expected, found) = (session.header().board_id, board.place.board_id);
            if expected != found {
                let ids = Mismatch::new(hex(&expected), hex(&found));
                return Err(Fault::OtherBoard(ids));
            }
            let hash_at = |length| open.hash_at(length).map_err(Fault::from);
            // Where damage removed a hash, only the lengths are compared.
            session.seen().check(open.len(), hash_at)?;
            let (start, len) = (session.next(), open.len());
            let end = end.unwrap_or(len.min(session.end())).max(start);
            if end > len {
                let expected = len;
                return Err(StoreError::OutOfRange {
                    start,
                    end,
                    expected,
                }
                .into());
            }
            let kept = |_: &Inner| Ok::<(), DetectorError>(());
            let before = session.unusable_clues;
            let taken = session.advance(&mut source, end, watch, kept);
            // Messages that were processed before an error stay processed.
            passed.unusable += session.unusable_clues - before;
            passed.lost.extend(source.lost(start..session.next()));
            let hash = hash_at(session.next())?;
            session.note_log_hash(hash);
            taken?;
            Ok(start..end)
        })?;
        Ok(PyRange(taken))
    }

    /// Returns a digest of all messages since the last cut, in milliseconds.
    fn digest(&self, py: Python<'_>) -> PyResult<Digest> {
        run(py, &self.threads, None, |_| {
            let Open { inner, passed, .. } = &*self.lock();
            let answer = Answer {
                response: Response::Instantomr(inner.digest()),
                stages: inner.stages.clone(),
                unusable_clues: passed.unusable,
            };
            Digest::new(&self.set, answer, passed.lost.clone())
        })
    }

    /// Ends the digest of this number, counted from 0, and returns it; the last one may be requested again.
    fn cut(&self, py: Python<'_>, number: u64) -> PyResult<Digest> {
        run(py, &self.threads, None, |_| {
            let mut open = self.lock();
            let cuts = open.inner.cuts();
            let bytes = open.inner.cut(number, placement_seed())?;
            if open.inner.cuts() > cuts {
                open.last = std::mem::take(&mut open.passed);
            }
            let answer = Answer {
                response: Response::from_bytes(&self.set, &bytes)?,
                stages: Stages::default(),
                unusable_clues: open.last.unusable,
            };
            Digest::new(&self.set, answer, open.last.lost.clone())
        })
    }

    /// The name of the parameter set.
    #[getter]
    fn params(&self) -> &str {
        self.set.name()
    }

    /// The index of the next message to process.
    #[getter]
    fn next(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock().inner.next())
    }

    /// The running hash of the board's log at `next`: boards with equal hashes have the same messages.
    #[getter]
    fn log_hash<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let hash = py.detach(|| self.lock().inner.seen().next.hash);
        hash.map(|hash| PyBytes::new(py, &hash))
    }

    /// The number of digests that were cut.
    #[getter]
    fn cuts(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock().inner.cuts())
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let write = || {
            let file = self.lock().inner.to_file();
            let params = self.set.instantomr()?;
            Ok::<_, Fault>(file.to_bytes(params)?)
        };
        let bytes = py.detach(write)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__(&self) -> Result<(), Fault> {
        refused("pass `bytes(session)` to `Detector.resume`")
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let next = self.next(py);
        format!("<omr.Session {}: next message {next}>", self.set.name())
    }
}

impl Session {
    fn of(inner: Inner, set: Arc<ParamSet>, threads: Threads) -> Self {
        Self {
            set,
            threads,
            open: Mutex::new(Open {
                inner,
                passed: Passed::default(),
                last: Passed::default(),
            }),
        }
    }

    /// Starts a session.
    ///
    /// Errors: `Closed`, `Detector`, `Plan`; `Store` where the start is not on the board.
    pub(crate) fn begin(
        detector: Arc<InstantDetector>,
        set: Arc<ParamSet>,
        threads: Threads,
        board: &Board,
        wanted: &Wanted,
    ) -> Result<Self, Fault> {
        let open = board.inner()?;
        detector.check_board(open.config().clue_bytes as usize)?;
        let (first, expected) = (open.first(), open.len());
        let start = wanted.start.unwrap_or(first);
        if start > expected {
            let end = start;
            return Err(StoreError::OutOfRange {
                start,
                end,
                expected,
            }
            .into());
        }
        if start < first {
            let end = first;
            return Err(StoreError::Expired { start, end, first }.into());
        }
        let payload = (!wanted.indices_only).then_some(board.place.payload_bytes);
        let request = Request::new(start..start, wanted.bound, payload);
        let header = DigestHeader {
            key_id: detector.key_id(),
            board_id: board.place.board_id,
            sealing: board.place.sealing,
            plan: InstantPlan::new(detector.params(), request)?,
            seed: placement_seed(),
        };
        let mut inner = match wanted.room {
            Some(room) => Inner::with_room(detector, header, room),
            None => Inner::new(detector, header),
        };
        inner.note_log_hash(open.hash_at(start)?);
        Ok(Self::of(inner, set, threads))
    }

    /// Reads a session's file.
    ///
    /// Errors: `Io`, `Session`.
    pub(crate) fn resume(
        detector: Arc<InstantDetector>,
        set: Arc<ParamSet>,
        threads: Threads,
        session: &Given,
    ) -> Result<Self, Fault> {
        let bytes = session.up_to(MOST_BYTES)?;
        let file = SessionFile::from_bytes(detector.params(), &bytes)?;
        Ok(Self::of(Inner::resume(detector, file)?, set, threads))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
