//! Work beside the caller's thread: without the interpreter's lock, with progress, ended by Ctrl-C.
//!
//! The caller's thread alone can hear signals and calls the function for progress. It looks every few hundredths of a
//! second, while another thread works; that one never waits for the interpreter.

use crate::fault::Fault;
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

/// How often the caller's thread looks.
const TICK: Duration = Duration::from_millis(30);

/// A stage of the work and how far it is.
#[derive(Clone)]
struct Stage {
    name: Cow<'static, str>,
    done: u64,
    total: u64,
}

/// What the working thread tells and asks.
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

    /// The work is at a stage, new or the last one.
    pub(crate) fn at(&self, name: impl Into<Cow<'static, str>>, done: u64, total: u64) {
        let (name, mut stages) = (name.into(), self.stages());
        stages.pop_if(|stage| stage.name == name && stage.done <= done && stage.total == total);
        stages.push(Stage { name, done, total });
    }

    /// The caller wants no more.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Errors: `Stopped` once the caller wants no more.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.is_stopped() {
            Err(Fault::Stopped)
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

/// Reads or writes, counts the bytes, and fails once the caller wants no more.
pub(crate) struct Counted<'a, T> {
    /// What is read or written.
    pub(crate) inner: T,
    /// Who is told.
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

/// Threads of a number, or those that all work shares where none is given.
pub(crate) type Threads = Option<Arc<ThreadPool>>;

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

/// Does `work` beside this thread and waits for it. `progress` is called with a stage's name, the steps done and all of
/// them: at least once for each stage.
///
/// Errors: those of `work`; what `progress` raised; `KeyboardInterrupt`. After these two the work was stopped.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: &Threads,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, Fault> + Send,
) -> PyResult<T> {
    let mut told = Told::default();
    hearing(py, threads, &mut |watch| told.tell(watch, progress), work)
}

/// The same where `hear` is called before the work, every few hundredths of a second, and after it.
///
/// Errors: those of `work`; those of `hear`; `KeyboardInterrupt`. After these two the work was stopped.
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
    Ok(done.unwrap_or(Err(Fault::Stopped))?)
}

/// The same for work of any kind: threads are the same code for all.
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

/// Says that the work is over, however it ended.
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

/// What the caller was told.
#[derive(Default)]
struct Told {
    /// The number of the last stage and how far it was.
    last: Option<(usize, u64)>,
}

impl Told {
    /// Errors: what `progress` raises.
    fn tell(&mut self, watch: &Watch, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
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
