//! Makers of digests and of their parts, which keep keys and messages in memory from one task to the next.

use super::given::{Given, Messages, Piece, lock, messages};
use super::unit::Unit;
use crate::buffer::Buffer;
use crate::fault::{Fault, check_params};
use crate::running::{Watch, hearing, run};
use crate::sets::set;
use omr_cuda::Cards;
use omr_detector::Held;
use omr_protocol::ParamSet;
use omr_runner::{Failure, Keys, Pages, Worker};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyRange};
use rayon::ThreadPool;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Makes digests of units and their parts, one task at a time; keeps keys and messages from one to the next.
#[pyclass(frozen, module = "omr.ray")]
pub(crate) struct Maker {
    set: Arc<ParamSet>,
    pool: Arc<ThreadPool>,
    cards: Cards,
    /// The number of keys and of pieces of boards that stay in memory.
    keep: (usize, usize),
    /// The payloads that stay prepared for fetches.
    prepared: Pages,
    hot: Mutex<Hot>,
}

/// The keys and pieces in memory.
#[derive(Default)]
struct Hot {
    keys: Keys,
    /// Pieces of boards, each with the id of the board's history; the latest last.
    pieces: VecDeque<([u8; 16], Messages)>,
}

/// The result of a task: for each job the bytes, or the reason why there are none; and the seconds that it took.
type Outcome<'py> = (Vec<(Option<Bound<'py, PyBytes>>, Option<String>)>, f64);

#[pymethods]
impl Maker {
    #[new]
    #[pyo3(signature = (params, *, threads=None, keys=8, pieces=2, prepared_bytes=1 << 30))]
    fn new(
        params: &str,
        threads: Option<usize>,
        keys: usize,
        pieces: usize,
        prepared_bytes: u64,
    ) -> Result<Self, Fault> {
        let pool = match crate::running::threads(threads)? {
            Some(pool) => pool,
            None => Arc::new(rayon::ThreadPoolBuilder::new().build()?),
        };
        Ok(Self {
            set: set(params)?,
            pool,
            cards: Cards::none(),
            keep: (keys, pieces),
            prepared: Pages::new(prepared_bytes, true),
            hot: Mutex::default(),
        })
    }

    /// Returns the digests of all jobs of a unit, or the sums of some of its batches, and the seconds that it took.
    ///
    /// Each job has bytes, or the reason why there are none; a stopped job has neither. `board` are pieces of the board
    /// with the messages: first, end, clues, payloads, hashes. `jobs` are the wanted jobs, by default all; `stopped` is
    /// called every few hundredths of a second and returns true once none is wanted any more.
    #[pyo3(signature = (unit, keys, board, *, batches=None, jobs=None, stopped=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn make<'py>(
        &self,
        py: Python<'py>,
        unit: &Bound<'py, Unit>,
        keys: HashMap<[u8; 32], Buffer>,
        board: Vec<Piece>,
        batches: Option<&Bound<'py, PyRange>>,
        jobs: Option<Vec<usize>>,
        stopped: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Outcome<'py>> {
        let unit = unit.get();
        check_params(self.set.name(), unit.set.name())?;
        let batches = batches.map(crate::detector::bounds).transpose()?;
        let batches = batches.map(|range| range.start as usize..range.end as usize);
        let all = omr_runner::batches(&unit.unit, &self.set).len();
        if let Some(found) = batches
            .clone()
            .filter(|some| some.is_empty() || some.end > all)
        {
            return Err(Fault::Batches { all, found }.into());
        }
        let mut hot = self.hot(py);
        let hot = &mut *hot;
        let board = hot.board(&self.set, &unit.unit, board)?;
        let mut hear = |watch: &Watch| {
            if let Some(stopped) = stopped
                && stopped.call0()?.is_truthy()?
            {
                watch.stop();
            }
            Ok(())
        };
        let made = hearing(py, &None, &mut hear, |watch| {
            let given = Given {
                jobs: jobs.as_deref(),
                ..given(keys, board, watch, unit.unit.jobs.len())
            };
            let worker = self.worker(&given);
            match &batches {
                Some(batches) => {
                    let made = worker.part(&self.pool, &unit.unit, batches, &mut hot.keys);
                    *lock(&given.outcomes) = made;
                }
                None => worker.serve(&self.pool, &unit.unit, &mut hot.keys),
            }
            Ok((
                given.outcomes.into_inner(),
                given.seconds.into_inner(),
                given.board.into_inner(),
            ))
        })?;
        let (outcomes, seconds, board) = made;
        let outcomes = outcomes.unwrap_or_else(PoisonError::into_inner);
        let seconds = seconds.unwrap_or_else(PoisonError::into_inner);
        hot.keep(
            self.keep.1,
            unit.unit.history_id,
            board.unwrap_or_else(PoisonError::into_inner),
        );
        hot.keys.keep(self.keep.0);
        let results = outcomes
            .into_iter()
            .map(|outcome| to_python(py, outcome))
            .collect();
        Ok((results, seconds))
    }

    /// Returns the digests of all jobs from their sums, in any order.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        unit: &Bound<'py, Unit>,
        keys: HashMap<[u8; 32], Buffer>,
        parts: Vec<Vec<Buffer>>,
    ) -> PyResult<Outcome<'py>> {
        let unit = unit.get();
        check_params(self.set.name(), unit.set.name())?;
        let start = std::time::Instant::now();
        let bytes = |job: &Vec<Buffer>| job.iter().map(|part| part.part(0..part.bytes())).collect();
        let parts: Vec<Vec<Vec<u8>>> = parts.iter().map(bytes).collect();
        let mut hot = self.hot(py);
        let hot = &mut *hot;
        let made = run(py, &None, None, |watch| {
            let given = given(keys, Vec::new(), watch, unit.unit.jobs.len());
            let worker = self.worker(&given);
            let mut made = Vec::with_capacity(parts.len());
            for (job, parts) in parts.iter().enumerate() {
                made.push(if parts.is_empty() {
                    Err(Failure::Stopped)
                } else {
                    worker.finish(&self.pool, &unit.unit, job, parts, &mut hot.keys)
                });
            }
            watch.check()?;
            Ok(made)
        })?;
        hot.keys.keep(self.keep.0);
        let results = made
            .into_iter()
            .map(|outcome| to_python(py, outcome))
            .collect();
        Ok((results, start.elapsed().as_secs_f64()))
    }

    /// The seconds that reading keys took so far.
    #[getter]
    fn loading(&self, py: Python<'_>) -> f64 {
        self.hot(py).keys.loading().as_secs_f64()
    }

    fn __repr__(&self) -> String {
        format!("<omr.ray.Maker {}>", self.set.name())
    }
}

fn given(
    keys: HashMap<[u8; 32], Buffer>,
    board: Vec<Messages>,
    watch: &Watch,
    jobs: usize,
) -> Given<'_> {
    Given {
        keys,
        board: Mutex::new(board),
        watch,
        jobs: None,
        outcomes: Mutex::new(vec![Err(Failure::Stopped); jobs]),
        seconds: Mutex::default(),
    }
}

/// Converts an outcome for Python.
fn to_python(
    py: Python<'_>,
    outcome: Result<Vec<u8>, Failure>,
) -> (Option<Bound<'_, PyBytes>>, Option<String>) {
    match outcome {
        Ok(bytes) => (Some(PyBytes::new(py, &bytes)), None),
        Err(Failure::Stopped) => (None, None),
        Err(Failure::Refused(error) | Failure::Unread(error) | Failure::Card(error)) => {
            (None, Some(error))
        }
        Err(Failure::Panicked) => (None, Some("internal error of the detector".to_owned())),
    }
}

impl Maker {
    /// Waits for the earlier task, without the interpreter's lock.
    fn hot(&self, py: Python<'_>) -> MutexGuard<'_, Hot> {
        let hot = self.hot.lock_py_attached(py);
        hot.unwrap_or_else(PoisonError::into_inner)
    }

    fn worker<'a>(&'a self, given: &'a Given<'a>) -> Worker<'a> {
        Worker {
            leases: given,
            supplies: given,
            set: &self.set,
            cards: &self.cards,
            keys: self.keep.0,
            pages: &self.prepared,
        }
    }
}

impl Hot {
    /// Returns the pieces of a board: those in memory, and the others from their arrays.
    ///
    /// Errors: `Detector`.
    fn board(
        &mut self,
        set: &ParamSet,
        unit: &omr_runner::Unit,
        pieces: Vec<Piece>,
    ) -> PyResult<Vec<Messages>> {
        let mut board = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let kept_at = self.pieces.iter().position(|(of, kept)| {
                *of == unit.history_id && kept.range() == (piece.0..piece.1)
            });
            board.push(match kept_at.and_then(|at| self.pieces.remove(at)) {
                Some((_, kept)) => kept,
                None => messages(set, &unit.board_id, piece)?,
            });
        }
        Ok(board)
    }

    /// Keeps pieces for the next task, at most `most` of all boards.
    fn keep(&mut self, most: usize, history_id: [u8; 16], board: Vec<Messages>) {
        self.pieces
            .extend(board.into_iter().map(|piece| (history_id, piece)));
        while self.pieces.len() > most {
            self.pieces.pop_front();
        }
    }
}
