//! Temporary files: gone when they are dropped, when a signal ends a program that asked for it, and after a crash when
//! the next one writes to their folder.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use tempfile::{NamedTempFile, TempDir};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often a folder is removed in which somebody writes.
const TRIES: usize = 100;

/// How names of temporary files begin.
pub const PREFIX: &str = ".omr-";

/// Age from which on a file that nobody holds was left by a crash: before, its maker may be about to lock it, which takes
/// microseconds.
const ABANDONED: Duration = Duration::from_secs(10);
/// Signals that end a process that used up its time, and that wrote a file longer than it may.
const OUT_OF_TIME: i32 = 24;
const FILE_TOO_LONG: i32 = 25;

/// Temporary files and folders of this process.
static OURS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Held while files are made and named; a signal waits for it.
static GATE: Mutex<()> = Mutex::new(());
/// Whether signals are ours to hear.
static ASKED: AtomicBool = AtomicBool::new(false);

/// From the first temporary file on, signals that end a process (hangup, interrupt, quit, termination, the end of its
/// time) remove all that are there first, and a file that grows longer than it may is an error of the write. For the program to call, first of all; a library leaves signals to the program that it is part of.
pub fn remove_on_signals() {
    ASKED.store(true, Ordering::Relaxed);
}

/// Keeps signals from ending the command.
pub fn hold() -> MutexGuard<'static, ()> {
    lock(&GATE)
}

fn lock<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file, removed when dropped and when a signal ends the program, see [`remove_on_signals`].
pub struct Unfinished {
    path: PathBuf,
    /// Present until it has its name.
    file: Option<NamedTempFile>,
}

/// From the first call on, signals remove what is ours, if the program asked for it.
fn watched() {
    static WATCHED: Once = Once::new();
    if ASKED.load(Ordering::Relaxed) {
        // Without it a signal leaves files to the next command.
        WATCHED.call_once(|| drop(watch()));
    }
}

/// A temporary folder with all that is in it, removed when dropped and when a signal ends the program, see
/// [`remove_on_signals`].
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: Option<TempDir>,
    path: PathBuf,
}

impl TemporaryFolder {
    /// Makes one where the system has such.
    ///
    /// Errors: the system's.
    pub fn new(prefix: &str) -> io::Result<Self> {
        watched();
        let _uninterrupted = hold();
        let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
        let path = folder.path().to_owned();
        lock(&OURS).insert(path.clone());
        let folder = Some(folder);
        Ok(Self { folder, path })
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        drop(self.folder.take());
        lock(&OURS).remove(&self.path);
    }
}

impl Unfinished {
    /// Makes one, of [`crate::temporary`].
    ///
    /// Errors: those of `make`.
    pub fn new(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<Self> {
        watched();
        let _uninterrupted = hold();
        let file = make()?;
        let path = file.path().to_owned();
        lock(&OURS).insert(path.clone());
        // Says that somebody lives who will remove it; some file systems have no locks.
        let _ = file.as_file().try_lock();
        Ok(Self {
            path,
            file: Some(file),
        })
    }

    /// The path of the file until it has its final name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub fn file(&mut self) -> &mut File {
        match &mut self.file {
            Some(file) => file.as_file_mut(),
            None => unreachable!("only what takes the whole value takes the file"),
        }
    }

    /// Waits until what was written is on the disk: to be called before [`Unfinished::persist`].
    ///
    /// Errors: the system's.
    #[track_caller]
    pub fn sync(&mut self) -> io::Result<()> {
        crate::sync(self.file())
    }

    /// Gives the file its name, and waits until the name is on the disk; without `force` never over another file.
    ///
    /// Errors: the system's; `AlreadyExists`.
    #[track_caller]
    pub fn persist(mut self, path: &Path, force: bool) -> io::Result<()> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let named = if force {
            file.persist(path)
        } else {
            file.persist_noclobber(path)
        };
        // A file that got no name is removed with the error.
        named.map_err(|error| error.error)?;
        crate::sync_folder(folder_of(path))
    }
}

/// The folder in which a path names something.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        drop(self.file.take());
        lock(&OURS).remove(&self.path);
    }
}

/// Removes temporary files that crashed commands left in a folder, once for each folder.
pub fn sweep(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !lock(&SWEPT).insert(folder.to_owned()) {
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if ours && is_abandoned(&entry.path()).unwrap_or(false) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_abandoned(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    let age = found.modified()?.elapsed().unwrap_or_default();
    // Reading is not allowed where the owner is another one: then it is not ours to remove.
    Ok(found.is_file() && age > ABANDONED && File::open(path)?.try_lock().is_ok())
}

/// From now on signals that end a command remove its temporary files first.
fn watch() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let kinds = [
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::quit(),
        SignalKind::terminate(),
        SignalKind::from_raw(OUT_OF_TIME),
    ];
    let mut signals = Vec::new();
    for kind in kinds {
        // `nohup` and shells say by this that the command is to go on.
        if !is_ignored(kind) {
            let _inside = runtime.enter();
            signals.push((kind.as_raw_value(), signal(kind)?));
        }
    }
    {
        let _inside = runtime.enter();
        // Heard and not acted on: the write fails, and says why.
        drop(signal(SignalKind::from_raw(FILE_TOO_LONG))?);
    }
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(move || wait(&runtime, signals)).map(drop)
}

/// Ends the process as a shell reports it: 128 and the signal's number.
fn wait(runtime: &Runtime, signals: Vec<(i32, Signal)>) {
    let arrived = signals.into_iter().map(|(number, mut signal)| {
        Box::pin(async move {
            match signal.recv().await {
                Some(()) => number,
                None => std::future::pending().await,
            }
        })
    });
    let arrived: Vec<_> = arrived.collect();
    if arrived.is_empty() {
        return;
    }
    let (number, _, _) = runtime.block_on(futures::future::select_all(arrived));
    let _for_good = hold();
    for path in lock(&OURS).iter() {
        remove(path);
    }
    process::exit(128 + number);
}

/// Other threads go on writing to a folder meanwhile: they may need more than one go.
fn remove(path: &Path) {
    if !path.is_dir() {
        let _ = fs::remove_file(path);
        return;
    }
    for _ in 0..TRIES {
        if fs::remove_dir_all(path).is_ok() {
            return;
        }
    }
}

/// Whether the process was started with a signal ignored; where the system does not say, it was not.
fn is_ignored(kind: SignalKind) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (kind.as_raw_value() - 1) & 1 == 1)
}
