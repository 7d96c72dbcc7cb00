//! Runs work on another thread than the caller's, without the interpreter's lock. It reports progress and ends at
//! Ctrl-C.
//!
//! Only the caller's thread can receive signals and call the function for progress. It does so every few hundredths of
//! a second, while another thread works, which never waits for the interpreter.

use crate::fault::Fault;
use omr_binding::BindingError;
use omr_detector::Progress;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// The interval at which the caller's thread checks.
const TICK: Duration = Duration::from_millis(30);

/// A stage of the work and its progress.
#[derive(Clone)]
struct Stage {
    name: Cow<'static, str>,
    done: u64,
    total: u64,
}

/// The state that the working thread and the caller's thread share.
#[derive(Default)]
pub(crate) struct Watch {
    stages: Mutex<Vec<Stage>>,
    stopped: AtomicBool,
    finished: AtomicBool,
}

impl Watch {
    fn stages(&self) -> MutexGuard<'_, Vec<Stage>> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports the progress of a stage, a new one or the last one.
    pub(crate) fn at(&self, name: impl Into<Cow<'static, str>>, done: u64, total: u64) {
        let (name, mut stages) = (name.into(), self.stages());
        stages.pop_if(|stage| stage.name == name && stage.done <= done && stage.total == total);
        stages.push(Stage { name, done, total });
    }

    /// Requests that the work stops.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Checks whether the work should go on.
    ///
    /// Errors: `Stopped` once the caller has stopped it.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.is_stopped() {
            Err(BindingError::Stopped.into())
        } else {
            Ok(())
        }
    }
}

impl Progress for Watch {
    fn stage(&self, name: &'static str, total: u64) {
        self.at(name, 0, total);
    }

    fn advance(&self, steps: u64) {
        if let Some(stage) = self.stages().last_mut() {
            stage.done += steps;
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl omr_binding::Watch for Watch {
    fn at(&self, stage: &str, done: u64, total: u64) {
        self.at(stage.to_owned(), done, total);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// A reader or writer that counts the bytes, and fails once the caller has stopped the work.
pub(crate) struct Counted<'a, T> {
    /// The underlying reader or writer.
    pub(crate) inner: T,
    /// The receiver of the progress.
    pub(crate) watch: &'a Watch,
}

impl<T> Counted<'_, T> {
    fn count(&self, bytes: usize) -> io::Result<usize> {
        self.watch.advance(bytes as u64);
        self.watch
            .check()
            .map(|()| bytes)
            .map_err(|fault| io::Error::other(fault.to_string()))
    }
}

impl<T: Read> Read for Counted<'_, T> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(out)?;
        self.count(bytes)
    }
}

impl<T: Write> Write for Counted<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.count(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A pool of its own, or `None` for the pool that all work shares.
pub(crate) type Threads = Option<Arc<ThreadPool>>;

/// Returns a pool of this number of threads.
///
/// Errors: `Threads` for 0, `Pool`.
pub(crate) fn threads(number: Option<usize>) -> Result<Threads, Fault> {
    let make = |number| match number {
        0 => Err(Fault::Threads),
        _ => Ok(Arc::new(
            ThreadPoolBuilder::new().num_threads(number).build()?,
        )),
    };
    number.map(make).transpose()
}

/// Runs `work` on another thread and waits for it. `progress` is called with a stage's name, the number of completed
/// steps and that of all steps, at least once for each stage.
///
/// Errors: those of `work`; those of `progress`; `KeyboardInterrupt`. After the last two the work was stopped.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: &Threads,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, Fault> + Send,
) -> PyResult<T> {
    let mut reported = Reported::default();
    hearing(
        py,
        threads,
        &mut |watch| reported.report(watch, progress),
        work,
    )
}

/// Runs `work` like [`run`], but calls `hear` before the work, every few hundredths of a second, and after it.
///
/// Errors: those of `work`; those of `hear`; `KeyboardInterrupt`. After the last two the work was stopped.
pub(crate) fn hearing<T: Send>(
    py: Python<'_>,
    threads: &Threads,
    hear: &mut dyn FnMut(&Watch) -> PyResult<()>,
    work: impl FnOnce(&Watch) -> Result<T, Fault> + Send,
) -> PyResult<T> {
    let (mut work, mut done) = (Some(work), None);
    beside(py, threads, hear, &mut |watch| {
        done = work.take().map(|work| work(watch));
    })?;
    Ok(done.unwrap_or(Err(BindingError::Stopped.into()))?)
}

/// Runs work of any type on another thread; it is compiled once for all types.
///
/// Errors: those of `hear`; `KeyboardInterrupt`.
fn beside(
    py: Python<'_>,
    threads: &Threads,
    hear: &mut dyn FnMut(&Watch) -> PyResult<()>,
    work: &mut (dyn FnMut(&Watch) + Send),
) -> PyResult<()> {
    let watch = &Watch::default();
    let caller = thread::current();
    hear(watch)?;
    thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let _last = Finish { watch, caller };
            match threads {
                Some(pool) => pool.install(|| work(watch)),
                None => work(watch),
            }
        });
        let mut heard = Ok(());
        while heard.is_ok() && !watch.finished.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(TICK));
            heard = py.check_signals().and_then(|()| hear(watch));
        }
        if heard.is_err() {
            watch.stop();
        }
        let done = py.detach(|| worker.join());
        done.unwrap_or_else(|panic| resume_unwind(panic));
        heard?;
        hear(watch)
    })
}

/// Marks the work as finished when dropped, also after a panic.
struct Finish<'a> {
    watch: &'a Watch,
    caller: Thread,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.watch.finished.store(true, Ordering::Release);
        self.caller.unpark();
    }
}

/// The progress that the caller has received.
#[derive(Default)]
struct Reported {
    /// The number of the last stage and its completed steps.
    last: Option<(usize, u64)>,
}

impl Reported {
    /// Calls `progress` for the stages that have advanced.
    ///
    /// Errors: those of `progress`.
    fn report(&mut self, watch: &Watch, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(progress) = progress else {
            return Ok(());
        };
        let first = self.last.map_or(0, |(number, _)| number);
        let news: Vec<Stage> = watch.stages().iter().skip(first).cloned().collect();
        for (number, stage) in (first..).zip(news) {
            let now = Some((number, stage.done));
            if self.last != now {
                progress.call1((&*stage.name, stage.done, stage.total))?;
                self.last = now;
            }
        }
        Ok(())
    }
}
