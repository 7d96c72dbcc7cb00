//! Fuzz target: a server's segments and keys, or its backup, with one file damaged or made by a stranger.

use crate::Target;
use crate::boards::{self, message};
use crate::input::{ANY, CUT, choose, chosen, damaged};
use omr_store::{Change, META_FILE, Post, Store, StoreConfig};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// The fuzz target. The database's own panics become errors.
pub const TARGET: Target = Target::new("stores", run, seeds).catching();

/// Contents of files by their path in a folder.
type Files = BTreeMap<PathBuf, Vec<u8>>;

struct World {
    store: Files,
    backup: Files,
}

impl World {
    /// Returns the damaged folder, whether it is the backup's, and the file with this number.
    ///
    /// The file is never the database: a store opens it for writing, and redb then relies on the file's list of free
    /// pages. If that is damaged, redb panics during an unwinding, which cannot be caught.
    fn file(&self, number: usize) -> (&Files, bool, &Path) {
        let backup = number % 2 == 1;
        let files = if backup { &self.backup } else { &self.store };
        let damaged = files
            .keys()
            .filter(|path| path.as_path() != Path::new(META_FILE));
        let path = damaged.cycle().nth(number / 2).expect("a file");
        (files, backup, path)
    }
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder.path().join("store"));
    Store::create(&config, &boards::config()).expect("a store");
    let store = Store::open(&config).expect("a store");
    fill(&store);
    let backup = taken(&store);
    drop(store);
    World {
        store: contents(&config.dir, &config.dir),
        backup,
    }
});

fn config(dir: &Path) -> StoreConfig {
    StoreConfig {
        segment_messages: 8,
        ..StoreConfig::new(dir)
    }
}

/// Adds messages in two segments and after them, a key and a record.
fn fill(store: &Store) {
    for (id, range) in [(1, 0..9), (2, 9..20)] {
        let post = Post::new([id; 16], "alice".into(), range.map(message).collect());
        store.append(&[post]).expect("appended");
    }
    store.seal().expect("sealed");
    let key = vec![5; 99];
    let hash = *blake3::hash(&key).as_bytes();
    store.upload(hash, 99).expect("begun");
    store.upload_chunk(hash, 0, &key).expect("uploaded");
    let record = Change::Put {
        table: "jobs".into(),
        key: vec![1],
        value: vec![2; 30],
    };
    store.write(&[record]).expect("written");
}

fn taken(store: &Store) -> Files {
    let mut files = Files::new();
    let taken = store.backup(&HashSet::new(), &mut |piece| {
        let file = files.entry(piece.name.into()).or_default();
        file.extend_from_slice(piece.data);
        Ok(())
    });
    taken.expect("a backup");
    files
}

/// Returns all files in a folder.
fn contents(root: &Path, folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(contents(root, &path));
        } else {
            let name = path.strip_prefix(root).expect("within").to_owned();
            files.insert(name, fs::read(&path).expect("read"));
        }
    }
    files
}

fn run(choice: usize, rest: &[u8]) {
    let Some((number, rest)) = chosen(rest) else {
        return;
    };
    let (files, backup, path) = WORLD.file(number);
    let damaged = damaged(&files[path], choice, rest);
    let folder = tempfile::tempdir().expect("a folder");
    let of = folder.path().join("files");
    for (name, content) in files {
        let content = if name == path { &damaged } else { content };
        let to = of.join(name);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::write(to, content).expect("written");
    }
    if backup {
        restore(&folder, &of)
    } else {
        look(&of)
    }
}

fn restore(folder: &TempDir, from: &Path) {
    let to = folder.path().join("store");
    if Store::restore(&config(&to), from, &mut |_, _| {}).is_ok() {
        look(&to);
    }
}

/// Checks that the messages that are read are those that were posted.
fn look(dir: &Path) {
    let Ok(store) = Store::open(&config(dir)) else {
        return;
    };
    let mut wrong = None;
    let _ = store.read(store.first()..store.len(), &mut |index, clue, payload| {
        let posted = message(index as u8);
        if clue.is_empty() {
            // The store reports the message as lost.
            return ControlFlow::Continue(());
        }
        if clue != posted.clue || payload != posted.payload {
            wrong = Some(index);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(wrong, None, "a message that nobody posted");
    let _ = store.verify(&mut |_, _| {});
    let _ = store.scan("jobs");
}

fn seeds() -> Vec<Vec<u8>> {
    let files = WORLD.store.len().max(WORLD.backup.len());
    let mut seeds = Vec::new();
    for number in 0..2 * files {
        for (choice, rest) in [(0, &[][..]), (0, &[9, 0, 0, 1]), (CUT + 9, &[])] {
            seeds.push(choose(choice, &choose(number, rest)));
        }
        let (files, _, path) = WORLD.file(number);
        let head = &files[path][..files[path].len().min(320)];
        seeds.push(choose(ANY, &choose(number, head)));
    }
    seeds
}
