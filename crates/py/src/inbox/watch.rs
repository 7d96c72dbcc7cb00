//! Fetches at fixed times. A thread of its own keeps them, whatever Python does with the letters: what the server sees,
//! and when, does not depend on what was found. Letters are decoded by the thread that asks for them.

use super::fetch::{Decoded, Office};
use super::letter::{InboxLetter, objects};
use super::warn;
use crate::fault::Fault;
use crate::running::run;
use omr_client::os_rng;
use omr_errors::chain;
use omr_mail::{Grid, close_session, next_canary};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// How often whoever waits for a letter asks whether to go on.
const TICK: Duration = Duration::from_millis(50);
/// How long a server may take to end a session.
const FAREWELL: Duration = Duration::from_millis(500);

/// Most canaries of a day.
const MOST_CANARIES: f64 = 10_000_000.0;

/// What a watch does, and when.
pub(super) struct Plan {
    grid: Grid,
    count: Option<u64>,
    session: bool,
    canaries: Option<f64>,
}

impl Plan {
    /// Errors: `Period`, `Canaries`.
    pub(super) fn new(
        every: f64,
        count: Option<u64>,
        session: bool,
        canaries: Option<f64>,
    ) -> Result<Self, Fault> {
        let period = Duration::try_from_secs_f64(every).ok();
        let period = period.filter(|period| *period >= Duration::from_millis(1));
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

/// A tick of the schedule: what a program may want to know of it, or why there is no further one.
type Ticked = Result<Vec<String>, Fault>;

/// Letters as they come.
#[pyclass(frozen, module = "omr")]
pub(crate) struct Watch {
    /// It can be closed all the same.
    office: Weak<Office>,
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

    /// The next letter; none once the watch is over.
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

    /// Ends the schedule.
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
    /// Errors: `Fetching`, `Io`.
    pub(super) fn start(office: Arc<Office>, plan: Plan) -> Result<Self, Fault> {
        // Before the thread starts, so that whoever comes second is told.
        std::mem::forget(office.turn()?);
        let (to, ticks) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let schedule = Schedule {
            office: office.clone(),
            plan,
            stop: stop.clone(),
        };
        // What is here from before may be decoded at once.
        let _ = to.send(Ok(Vec::new()));
        let thread = std::thread::Builder::new().name("omr watch".into());
        let thread = thread.spawn(move || schedule.keep(&to))?;
        Ok(Self {
            office: Arc::downgrade(&office),
            stop,
            ticks: Mutex::new(ticks),
            ahead: Mutex::default(),
            schedule: Mutex::new(Some(thread)),
        })
    }

    /// Waits for a tick and decodes what it brought. False: there is no further one.
    fn more(&self, py: Python<'_>) -> PyResult<bool> {
        let Some(office) = self.office.upgrade() else {
            return Ok(false);
        };
        let found = run(py, &None, None, |watch| {
            let ticks = lock(&self.ticks);
            loop {
                watch.check()?;
                match ticks.recv_timeout(TICK) {
                    Ok(ticked) => return Ok(Some((office.take_in()?, ticked))),
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

    /// Letters to be given out, and a word on what is not one.
    fn keep(&self, py: Python<'_>, decoded: Decoded) -> PyResult<()> {
        lock(&self.ahead).extend(objects(py, decoded.letters)?);
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
        // A panic was printed where it happened.
        let _ = thread.map(JoinHandle::join);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The thread never waits for the interpreter.
        self.end();
    }
}

/// Who keeps the times.
struct Schedule {
    office: Arc<Office>,
    plan: Plan,
    stop: Arc<AtomicBool>,
}

impl Schedule {
    fn keep(self, to: &Sender<Ticked>) {
        let network = &self.office.network;
        let is_over = || self.stop.load(Ordering::Relaxed) || self.office.is_over();
        if let Some(Err(error)) = network.until(is_over, self.work(to)) {
            let _ = to.send(Err(error));
        }
        if self.plan.session {
            let start = SystemTime::now();
            let is_late = || start.elapsed().unwrap_or_default() > FAREWELL;
            // The server ends a session that nobody cuts by itself.
            let _ = network.until(is_late, self.farewell());
        }
        self.office.free();
    }

    /// Fetches, and posts canaries between.
    async fn work(&self, to: &Sender<Ticked>) -> Result<(), Fault> {
        tokio::select! {
            ended = self.ticks(to) => ended,
            ended = self.canaries(to) => ended,
        }
    }

    /// Posts canaries at random times; never ends by itself.
    async fn canaries(&self, to: &Sender<Ticked>) -> Result<(), Fault> {
        let Some(rate) = self.plan.canaries else {
            return std::future::pending().await;
        };
        let mut before = None;
        loop {
            tokio::time::sleep(next_canary(rate, &mut os_rng())).await;
            let told = match self.office.post_canary().await {
                Err(Fault::Mail(error)) if error.is_passing() => {
                    Some(format!("canary: {}", chain(&error)))
                }
                // What holds of every canary is told once.
                posted => posted?
                    .filter(|text| before.replace(*text) != Some(*text))
                    .map(str::to_owned),
            };
            if let Some(text) = told {
                let _ = to.send(Ok(vec![text]));
            }
        }
    }

    async fn ticks(&self, to: &Sender<Ticked>) -> Result<(), Fault> {
        let mut left = self.plan.count;
        // What a server does not serve is told once.
        let mut before = Vec::new();
        while left != Some(0) {
            tokio::time::sleep(self.plan.grid.wait(SystemTime::now())).await;
            let nobody = crate::running::Watch::default();
            let told = match self.office.fetch(self.plan.session, &nobody).await {
                Ok(told) if told == before => Vec::new(),
                Ok(told) => {
                    before.clone_from(&told);
                    told
                }
                Err(Fault::Mail(error)) if error.is_passing() => {
                    vec![format!("{}; trying again at the next tick", chain(&error))]
                }
                Err(error) => return Err(error),
            };
            let _ = to.send(Ok(told));
            left = left.map(|left| left - 1);
        }
        Ok(())
    }

    async fn farewell(&self) -> Result<(), Fault> {
        let requests = self.office.mailbox.inbox.requests();
        Ok(close_session(&self.office.client()?, requests).await?)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
