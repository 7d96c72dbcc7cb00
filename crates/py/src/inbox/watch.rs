//! Fetches at fixed times. They run on a thread of their own, whatever Python does with the letters: what the server
//! sees, and when, does not depend on what was found. Letters are decoded on the thread that requests them.

use super::letter::{InboxLetter, objects};
use super::warn;
use crate::fault::Fault;
use crate::raise::with_advice;
use crate::running::run;
use omr_binding::{BindingError, Decoded, OpenInbox};
use omr_client::os_rng;
use omr_mail::{Grid, close_session, next_canary};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// The interval at which a waiting caller checks whether to stop.
const TICK: Duration = Duration::from_millis(50);
/// The highest time for ending a session.
const FAREWELL: Duration = Duration::from_millis(500);

/// The highest number of canaries a day.
const MOST_CANARIES: f64 = 10_000_000.0;

/// The schedule of a watch.
pub(super) struct Plan {
    grid: Grid,
    count: Option<u64>,
    session: bool,
    canaries: Option<f64>,
}

impl Plan {
    /// Returns a schedule.
    ///
    /// Errors: `Period`, `Canaries`.
    pub(super) fn new(
        every: f64,
        count: Option<u64>,
        session: bool,
        canaries: Option<f64>,
    ) -> Result<Self, Fault> {
        let period = Duration::try_from_secs_f64(every)
            .ok()
            .filter(|period| *period >= Duration::from_millis(1));
        let grid = Grid::new(period.ok_or(Fault::Period(every))?);
        match canaries {
            Some(rate) if !(rate > 0.0 && rate <= MOST_CANARIES) => Err(Fault::Canaries(rate)),
            canaries => Ok(Self {
                grid,
                count,
                session,
                canaries,
            }),
        }
    }
}

/// A tick of the schedule: warnings for the program's log, or the error after which there is no further tick.
type Ticked = Result<Vec<String>, Fault>;

/// Letters as they arrive: an iterator and a context manager. It waits for the next letter; Ctrl-C ends it.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Watch {
    /// The inbox can be closed while a watch is open.
    opened: Weak<OpenInbox>,
    stop: Arc<AtomicBool>,
    ticks: Mutex<Receiver<Ticked>>,
    ahead: Mutex<VecDeque<Py<InboxLetter>>>,
    schedule: Mutex<Option<JoinHandle<()>>>,
}

#[pymethods]
impl Watch {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Returns the next letter; `None` once the watch is over.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<InboxLetter>>> {
        loop {
            if let Some(letter) = lock(&self.ahead).pop_front() {
                return Ok(Some(letter));
            }
            match self.more(py) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    self.close(py);
                    return Err(error);
                }
            }
        }
    }

    /// Ends the schedule; letters that arrived and were not returned are in the inbox.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

impl Watch {
    /// Starts the thread of a watch.
    ///
    /// Errors: `Fetching`, `Io`.
    pub(super) fn start(opened: Arc<OpenInbox>, plan: Plan) -> Result<Self, Fault> {
        // The right is taken before the thread starts, so that a second watch is refused here.
        std::mem::forget(opened.turn()?);
        let (to, ticks) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let schedule = Schedule {
            opened: opened.clone(),
            plan,
            stop: stop.clone(),
        };
        // Digests that were collected earlier may be decoded at once.
        let _ = to.send(Ok(Vec::new()));
        let thread = std::thread::Builder::new()
            .name("omr watch".into())
            .spawn(move || schedule.keep(&to))?;
        Ok(Self {
            opened: Arc::downgrade(&opened),
            stop,
            ticks: Mutex::new(ticks),
            ahead: Mutex::default(),
            schedule: Mutex::new(Some(thread)),
        })
    }

    /// Waits for a tick and decodes its digests. Returns false if there is no further tick.
    fn more(&self, py: Python<'_>) -> PyResult<bool> {
        let Some(opened) = self.opened.upgrade() else {
            return Ok(false);
        };
        let found = run(py, &None, None, |watch| {
            let ticks = lock(&self.ticks);
            loop {
                watch.check()?;
                match ticks.recv_timeout(TICK) {
                    Ok(ticked) => return Ok(Some((opened.take_in()?, ticked))),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(None),
                }
            }
        });
        let Some((decoded, ticked)) = found? else {
            return Ok(false);
        };
        self.keep(py, decoded)?;
        for text in ticked? {
            warn(py, &text)?;
        }
        Ok(true)
    }

    /// Keeps letters until they are returned, and logs a warning for ranges and answers that brought none.
    fn keep(&self, py: Python<'_>, decoded: Decoded) -> PyResult<()> {
        lock(&self.ahead).extend(objects(py, decoded.letters)?);
        for text in &decoded.warnings {
            warn(py, text)?;
        }
        for kept in decoded.kept {
            let (start, end) = (kept.start, kept.end);
            warn(
                py,
                &format!("messages {start}..{end} are kept: {}", kept.reason),
            )?;
        }
        Ok(())
    }

    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = lock(&self.schedule).take();
        // The message of a panic was printed when it occurred.
        let _ = thread.map(JoinHandle::join);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The thread never waits for the interpreter.
        self.end();
    }
}

/// The state of the thread that fetches.
struct Schedule {
    opened: Arc<OpenInbox>,
    plan: Plan,
    stop: Arc<AtomicBool>,
}

impl Schedule {
    fn keep(self, to: &Sender<Ticked>) {
        let network = &self.opened.network;
        let is_over = || self.stop.load(Ordering::Relaxed) || self.opened.is_over();
        if let Some(Err(error)) = network.until(is_over, self.work(to)) {
            let _ = to.send(Err(error));
        }
        if self.plan.session {
            let start = SystemTime::now();
            let is_late = || start.elapsed().unwrap_or_default() > FAREWELL;
            // The server itself ends a session that is not used.
            let _ = network.until(is_late, self.farewell());
        }
        self.opened.free();
    }

    /// Fetches, and posts canaries between.
    async fn work(&self, to: &Sender<Ticked>) -> Result<(), Fault> {
        tokio::select! {
            ended = self.ticks(to) => ended,
            ended = self.canaries(to) => ended,
        }
    }

    /// Posts canaries at random times, without an end.
    async fn canaries(&self, to: &Sender<Ticked>) -> Result<(), Fault> {
        let Some(rate) = self.plan.canaries else {
            return std::future::pending().await;
        };
        let mut before = None;
        loop {
            tokio::time::sleep(next_canary(rate, &mut os_rng())).await;
            let warning = match self.opened.post_canary().await {
                Err(BindingError::Mail(error)) if error.is_passing() => {
                    Some(format!("canary: {}", with_advice(&error)))
                }
                // A warning that holds for every canary is logged once.
                posted => posted?
                    .filter(|text| before.replace(*text) != Some(*text))
                    .map(str::to_owned),
            };
            if let Some(text) = warning {
                let _ = to.send(Ok(vec![text]));
            }
        }
    }

    async fn ticks(&self, to: &Sender<Ticked>) -> Result<(), Fault> {
        let mut left = self.plan.count;
        // A warning about the server is logged once.
        let mut before = Vec::new();
        while left != Some(0) {
            tokio::time::sleep(self.plan.grid.wait(SystemTime::now())).await;
            let warnings = match self.fetched().await {
                Ok(warnings) if warnings == before => Vec::new(),
                Ok(warnings) => {
                    before.clone_from(&warnings);
                    warnings
                }
                Err(BindingError::Mail(error)) if error.is_passing() => {
                    vec![format!(
                        "{}; trying again at the next tick",
                        with_advice(&error)
                    )]
                }
                Err(error) => return Err(error.into()),
            };
            let _ = to.send(Ok(warnings));
            left = left.map(|left| left - 1);
        }
        Ok(())
    }

    async fn fetched(&self) -> Result<Vec<String>, BindingError> {
        let nobody = crate::running::Watch::default();
        let session = self.plan.session;
        self.opened.fetch(session, with_advice, &nobody).await
    }

    async fn farewell(&self) -> Result<(), Fault> {
        let requests = self.opened.mailbox.inbox.requests();
        Ok(close_session(&self.opened.client()?, requests).await?)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
