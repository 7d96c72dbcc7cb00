//! Temporary files, which are removed when they are dropped, when a signal ends a program that has requested this, and
//! after a crash by the next program that writes to their folder.

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

/// Number of attempts to remove a folder in which another thread is writing.
const TRIES: usize = 100;

/// The prefix of names of temporary files.
pub const PREFIX: &str = ".omr-";

/// The age from which on an unlocked file counts as left by a crash. A younger one may be about to be locked by its
/// creator, which takes microseconds.
const ABANDONED: Duration = Duration::from_secs(10);
/// The signal that ends a process after its processor time.
const OUT_OF_TIME: i32 = 24;
const FILE_TOO_LONG: i32 = 25;

/// Temporary files and folders of this process.
static OURS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Locked while files are created and renamed; a signal waits for it.
static GATE: Mutex<()> = Mutex::new(());
/// Whether this program has requested that signals remove temporary files.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Requests that, from the first temporary file on, signals that end the process (hangup, interrupt, quit, termination,
/// the end of its processor time) first remove its temporary files, and that a write beyond the limit of file sizes is
/// an error. A program calls it first of all; libraries leave signals to their program.
pub fn remove_on_signals() {
    ASKED.store(true, Ordering::Relaxed);
}

/// Keeps signals from ending the process while the guard lives.
pub fn hold() -> MutexGuard<'static, ()> {
    lock(&GATE)
}

fn lock<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file that is removed when it is dropped and when a signal ends the program; see [`remove_on_signals`].
pub struct Unfinished {
    path: PathBuf,
    /// The file, until it has its final name.
    file: Option<NamedTempFile>,
}

/// Installs the handling of signals at the first call, if the program has requested it.
fn watched() {
    static WATCHED: Once = Once::new();
    if ASKED.load(Ordering::Relaxed) {
        // If it fails, a signal leaves temporary files for the next program.
        WATCHED.call_once(|| drop(watch()));
    }
}

/// A temporary folder that is removed with its content when it is dropped and when a signal ends the program; see
/// [`remove_on_signals`].
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: Option<TempDir>,
    path: PathBuf,
}

impl TemporaryFolder {
    /// Creates a folder in the system's folder of temporary files.
    ///
    /// Errors: those of the system.
    pub fn new(prefix: &str) -> io::Result<Self> {
        watched();
        let _uninterrupted = hold();
        let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
        let path = folder.path().to_owned();
        lock(&OURS).insert(path.clone());
        Ok(Self {
            folder: Some(folder),
            path,
        })
    }

    /// Returns the path of the folder.
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
    /// Creates a temporary file by `make`, which calls [`crate::temporary`].
    ///
    /// Errors: those of `make`.
    pub fn new(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<Self> {
        watched();
        let _uninterrupted = hold();
        let file = make()?;
        let path = file.path().to_owned();
        lock(&OURS).insert(path.clone());
        // The lock shows that a process will remove the file; some file systems have no locks.
        let _ = crate::try_lock(file.as_file());
        Ok(Self {
            path,
            file: Some(file),
        })
    }

    /// Returns the path of the file until it has its final name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open file.
    pub fn file(&mut self) -> &mut File {
        match &mut self.file {
            Some(file) => file.as_file_mut(),
            None => unreachable!("only what takes the whole value takes the file"),
        }
    }

    /// Waits until the content is on the disk. It must be called before [`Unfinished::persist`].
    ///
    /// Errors: those of the system.
    #[track_caller]
    pub fn sync(&mut self) -> io::Result<()> {
        crate::sync(self.file())
    }

    /// Renames the file to its final name, and waits until the name is on the disk. Without `force` it does not replace
    /// another file.
    ///
    /// Errors: those of the system; `AlreadyExists`.
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
        // A file that was not renamed is removed with the error.
        named.map_err(|error| error.error)?;
        crate::sync_folder(folder_of(path))
    }
}

/// Returns the folder that contains a path.
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

/// Removes temporary files that crashed programs have left in a folder, once for each folder.
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
    // If the owner is another user, the file cannot be opened and must not be removed.
    Ok(found.is_file() && age > ABANDONED && crate::try_lock(&File::open(path)?).is_ok())
}

/// Installs the handling of signals, which removes temporary files before the process ends.
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
        // `nohup` and shells ignore this signal so that the program continues.
        if !is_ignored(kind) {
            let _inside = runtime.enter();
            signals.push((kind.as_raw_value(), signal(kind)?));
        }
    }
    {
        let _inside = runtime.enter();
        // Received and ignored: the write fails with an error.
        drop(signal(SignalKind::from_raw(FILE_TOO_LONG))?);
    }
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(move || wait(&runtime, signals)).map(drop)
}

/// Waits for a signal and ends the process with the exit code that shells report: 128 and the signal's number.
fn wait(runtime: &Runtime, signals: Vec<(i32, Signal)>) {
    let waiting = signals.into_iter().map(|(number, mut signal)| {
        Box::pin(async move {
            match signal.recv().await {
                Some(()) => number,
                None => std::future::pending().await,
            }
        })
    });
    let arrived: Vec<_> = waiting.collect();
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

/// Removes a file or folder. Other threads may continue to write to a folder, so removing may take several attempts.
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

/// Returns whether the process was started with a signal ignored; `false` if the system does not report it.
fn is_ignored(kind: SignalKind) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|bits| bits >> (kind.as_raw_value() - 1) & 1 == 1)
}
