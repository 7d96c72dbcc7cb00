//! Recording of a folder's state at every sync of a file or folder in it.

use super::replay::{History, Moment};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Size in bytes of the pages that states of a file share.
const PAGE: usize = 4096;

/// The recordings of this process that are in progress.
static UNDER_WAY: Mutex<Vec<Arc<Recorder>>> = Mutex::new(Vec::new());
/// Whether there was a recording. From then on the process does not wait for the disk.
static RECORDED: AtomicBool = AtomicBool::new(false);

/// A place in the source code that calls for a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    file: &'static str,
    line: u32,
}

impl Site {
    pub(crate) fn is_in(&self, file: &str) -> bool {
        self.file.ends_with(file)
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Identifies a file, independently of its names.
pub(crate) type Node = (u64, u64);
/// The bytes of a file, in pages that several states share.
pub(crate) type Content = Arc<Vec<Arc<[u8]>>>;
/// The names in a folder.
pub(crate) type Names = Arc<BTreeMap<OsString, Node>>;

/// All files and folders at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<Node, Content>,
    pub(crate) folders: BTreeMap<Node, Names>,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    root: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    moments: Vec<Moment>,
    tree: Tree,
    /// Open handles, so that the system does not assign the number of a deleted file to another.
    handles: BTreeMap<Node, File>,
}

/// A recording of a folder, until it is finished or dropped.
///
/// It notes the state of the whole folder whenever this process calls for a sync of a file or folder in it. After a
/// crash between two of these moments, everything synced before is there, and any part of everything else. The order of
/// writes is not needed for that.
#[derive(Debug)]
pub struct Recording(Arc<Recorder>);

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes a sync in the recordings that are in progress. Returns whether the system's sync can be skipped: from a
/// process's first recording on, all its syncs are recorded or unimportant.
#[track_caller]
pub(crate) fn synced(file: &File) -> io::Result<bool> {
    if !RECORDED.load(Ordering::Acquire) {
        return Ok(false);
    }
    let caller = Location::caller();
    let site = Site {
        file: caller.file(),
        line: caller.line(),
    };
    let node = node(&file.metadata()?);
    for recorder in lock(&UNDER_WAY).iter() {
        recorder.note(node, site)?;
    }
    Ok(true)
}

pub(crate) fn node(metadata: &fs::Metadata) -> Node {
    (metadata.dev(), metadata.ino())
}

impl Recording {
    /// Begins a recording. The present content of the folder counts as synced.
    ///
    /// Errors: those of the system.
    pub fn start(root: &Path) -> io::Result<Self> {
        let mut state = State {
            moments: Vec::new(),
            tree: Tree::default(),
            handles: BTreeMap::new(),
        };
        state.look(root)?;
        let first = Moment {
            tree: state.tree.clone(),
            synced: None,
        };
        state.moments.push(first);
        let recorder = Arc::new(Recorder {
            root: root.to_owned(),
            state: Mutex::new(state),
        });
        lock(&UNDER_WAY).push(recorder.clone());
        RECORDED.store(true, Ordering::Release);
        Ok(Self(recorder))
    }

    /// Returns the number of syncs so far. Everything acknowledged by now must survive a crash at this moment and
    /// later.
    #[must_use]
    pub fn now(&self) -> usize {
        lock(&self.0.state).moments.len() - 1
    }

    /// Ends the recording.
    ///
    /// Errors: those of the system.
    pub fn finish(self) -> io::Result<History> {
        let mut state = lock(&self.0.state);
        state.look(&self.0.root)?;
        let last = Moment {
            tree: state.tree.clone(),
            synced: None,
        };
        let root = node(&fs::metadata(&self.0.root)?);
        let mut moments = std::mem::take(&mut state.moments);
        moments.push(last);
        Ok(History::new(root, moments))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        lock(&UNDER_WAY).retain(|recorder| !Arc::ptr_eq(recorder, &self.0));
    }
}

impl Recorder {
    /// Notes a sync before it happens: the data that it makes durable has already been written.
    fn note(&self, node: Node, site: Site) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.look(&self.root)?;
        if state.handles.contains_key(&node) {
            let tree = state.tree.clone();
            let synced = Some((node, site));
            state.moments.push(Moment { tree, synced });
        }
        Ok(())
    }
}

impl State {
    /// Updates the tree.
    fn look(&mut self, root: &Path) -> io::Result<()> {
        let before = std::mem::take(&mut self.tree);
        let known = self.handles.keys().copied().collect::<Vec<_>>();
        self.visit(root, &before)?;
        // A file whose last name was removed may still be written and get another name.
        for node in known {
            if let Some(content) = before.files.get(&node) {
                let content = content.clone();
                self.tree.files.entry(node).or_insert(content);
            } else if before.folders.contains_key(&node) {
                // A folder is removed after everything in it.
                self.tree.folders.entry(node).or_default();
            }
        }
        Ok(())
    }

    fn visit(&mut self, path: &Path, before: &Tree) -> io::Result<Option<Node>> {
        // Files that disappear meanwhile are left out.
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let metadata = match fs::symlink_metadata(path) {
            Err(error) if gone(&error) => return Ok(None),
            other => other?,
        };
        if !metadata.is_file() && !metadata.is_dir() {
            return Ok(None);
        }
        let node = node(&metadata);
        if let std::collections::btree_map::Entry::Vacant(vacant) = self.handles.entry(node) {
            match File::open(path) {
                Err(error) if gone(&error) => return Ok(None),
                other => vacant.insert(other?),
            };
        }
        if metadata.is_file() {
            if !self.tree.files.contains_key(&node) {
                let content = read(&self.handles[&node], before.files.get(&node))?;
                self.tree.files.insert(node, content);
            }
            return Ok(Some(node));
        }
        let mut names = BTreeMap::new();
        let entries = match fs::read_dir(path) {
            Err(error) if gone(&error) => return Ok(None),
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            if let Some(found) = self.visit(&entry.path(), before)? {
                names.insert(entry.file_name(), found);
            }
        }
        self.tree.folders.insert(node, Arc::new(names));
        Ok(Some(node))
    }
}

/// Reads a file. Pages that did not change are shared with the state before.
fn read(file: &File, before: Option<&Content>) -> io::Result<Content> {
    let mut pages = Vec::new();
    let mut page = [0; PAGE];
    let mut same = true;
    loop {
        let mut filled = 0;
        while filled < PAGE {
            let at = (pages.len() * PAGE + filled) as u64;
            match file.read_at(&mut page[filled..], at)? {
                0 => break,
                count => filled += count,
            }
        }
        if filled == 0 {
            break;
        }
        let old = before.and_then(|before| before.get(pages.len()));
        match old.filter(|old| ***old == page[..filled]) {
            Some(old) => pages.push(old.clone()),
            None => {
                same = false;
                pages.push(Arc::from(&page[..filled]));
            }
        }
        if filled < PAGE {
            break;
        }
    }
    match before {
        Some(before) if same && before.len() == pages.len() => Ok(before.clone()),
        _ => Ok(Arc::new(pages)),
    }
}
