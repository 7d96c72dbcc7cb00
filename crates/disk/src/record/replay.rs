//! Rebuilding of a recorded folder as a power failure could have left it.

use super::recording::{Content, Names, Node, Site, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size in bytes of a sector, which a disk writes as a whole or not at all.
const SECTOR: usize = 512;

/// The fate of writes and names that no sync made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of them are lost.
    All,
    /// Names are on the disk, contents are not.
    Contents,
    /// Contents are on the disk, names are not.
    Names,
    /// Nothing is lost: only the process ended.
    Nothing,
    /// Each sector, each length and each group of names that changed together is lost or kept at random, with this
    /// seed.
    Random(u64),
}

/// A state of the folder, and the sync at that moment.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) tree: Tree,
    pub(crate) synced: Option<(Node, Site)>,
}

impl Loss {
    /// All kinds of loss, with three seeds for the random one.
    pub const ALL: [Self; 7] = [
        Self::All,
        Self::Contents,
        Self::Names,
        Self::Nothing,
        Self::Random(1),
        Self::Random(2),
        Self::Random(3),
    ];
}

/// A finished recording: the states of the folder at all syncs.
#[derive(Debug)]
pub struct History {
    root: Node,
    /// The first moment is the beginning, the last is the end, and each moment in between is that of a sync.
    moments: Vec<Moment>,
}

/// A random generator with a seed.
struct Chance(u64);

impl Chance {
    /// Returns true or false with equal probability.
    fn toss(&mut self) -> bool {
        // The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators".
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)) & 1 == 1
    }
}

/// A change of one name: the folder, the name, the old and the new file.
type Renamed = (Node, OsString, Option<Node>, Option<Node>);

impl History {
    pub(crate) fn new(root: Node, moments: Vec<Moment>) -> Self {
        Self { root, moments }
    }

    /// Returns the number of moments at which a crash is of interest: before each sync, and at the end. At moment `m`
    /// the first `m` syncs have taken effect.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is always the end")]
    pub fn len(&self) -> usize {
        self.moments.len() - 1
    }

    /// Returns the places in the source code that called for syncs.
    #[must_use]
    pub fn sites(&self) -> BTreeSet<Site> {
        let synced = self.moments.iter().filter_map(|moment| moment.synced);
        synced.map(|(_, site)| site).collect()
    }

    /// Rebuilds, in an empty folder, a possible state of the folder after a crash at a moment. With `without`, the
    /// syncs of this place in the source code have no effect.
    ///
    /// Errors: those of the system.
    ///
    /// Panics: if `moment` is past the end.
    pub fn rebuild(
        &self,
        moment: usize,
        loss: Loss,
        without: Option<Site>,
        into: &Path,
    ) -> io::Result<()> {
        let durable = self.durable(moment, without);
        let now = &self.moments[moment + 1].tree;
        let mut chance = match loss {
            Loss::Random(seed) => Chance(seed ^ ((moment as u64) << 32)),
            _ => Chance(0),
        };
        let folders = names_after(&durable, now, loss, &mut chance);
        let mut files = BTreeMap::new();
        for (node, current) in &now.files {
            let synced = durable.files.get(node);
            files.insert(*node, content_after(synced, current, loss, &mut chance));
        }
        let mut builder = Builder {
            folders,
            files,
            placed: BTreeMap::new(),
        };
        builder.build(self.root, into)
    }

    /// Rebuilds the folder after a crash at every moment, with every kind of loss, and calls `check` for each; then
    /// does the same with the syncs of each place in the source code left out in turn, where `check` must find a fault
    /// at some moment. `check` receives the moment and the folder; an error or a panic is a fault. Syncs of source
    /// files whose names end in `elsewhere` are not left out, because the recording of another test needs them.
    ///
    /// Errors: those of the system.
    ///
    /// Panics: with the first fault that `check` finds, or if it finds none when a sync is left out.
    pub fn crash_everywhere(
        &self,
        elsewhere: Option<&str>,
        check: impl Fn(usize, &Path) -> Result<(), String>,
    ) -> io::Result<()> {
        let is_right = |moment, loss, without| -> io::Result<Result<(), String>> {
            let folder = tempfile::tempdir()?;
            self.rebuild(moment, loss, without, folder.path())?;
            let checked = catch_unwind(AssertUnwindSafe(|| check(moment, folder.path())));
            Ok(checked.unwrap_or_else(|_| Err("the check panicked".to_owned())))
        };
        for moment in 0..self.len() {
            for loss in Loss::ALL {
                if let Err(fault) = is_right(moment, loss, None)? {
                    panic!(
                        "crash at moment {moment} of {}, {loss:?}: {fault}",
                        self.len()
                    );
                }
            }
        }
        let mut unnoticed = Vec::new();
        for site in self.sites() {
            if elsewhere.is_some_and(|file| site.is_in(file)) {
                continue;
            }
            // Before the first sync of the place there is no difference.
            let is_of_site = |moment: &Moment| moment.synced.is_some_and(|(_, of)| of == site);
            let first = self.moments.iter().position(is_of_site).unwrap_or(0);
            let mut is_noticed = false;
            for moment in first..self.len() {
                for loss in Loss::ALL {
                    is_noticed = is_noticed || is_right(moment, loss, Some(site))?.is_err();
                }
            }
            if !is_noticed {
                unnoticed.push(site.to_string());
            }
        }
        assert!(
            unnoticed.is_empty(),
            "without the syncs at these places nothing is lost: {unnoticed:?}"
        );
        Ok(())
    }

    /// Returns the state that the first syncs made durable.
    fn durable(&self, moment: usize, without: Option<Site>) -> Tree {
        let mut durable = self.moments[0].tree.clone();
        for Moment { tree, synced } in &self.moments[1..=moment] {
            let Some((node, _)) = synced.filter(|(_, site)| Some(*site) != without) else {
                continue;
            };
            if let Some(content) = tree.files.get(&node) {
                durable.files.insert(node, content.clone());
            }
            if let Some(names) = tree.folders.get(&node) {
                durable.folders.insert(node, names.clone());
            }
        }
        durable
    }
}

/// Returns the names after a crash. Names that a rename connects are lost together or not at all.
fn names_after(
    durable: &Tree,
    now: &Tree,
    loss: Loss,
    chance: &mut Chance,
) -> BTreeMap<Node, BTreeMap<OsString, Node>> {
    let empty = Names::default();
    let mut after = BTreeMap::new();
    let mut changes: Vec<Renamed> = Vec::new();
    for (folder, names) in &now.folders {
        let synced = durable.folders.get(folder).unwrap_or(&empty);
        after.insert(*folder, BTreeMap::clone(synced));
        let all: BTreeSet<_> = synced.keys().chain(names.keys()).collect();
        for name in all {
            let (old, new) = (synced.get(name).copied(), names.get(name).copied());
            if old != new {
                changes.push((*folder, name.clone(), old, new));
            }
        }
    }
    while let Some(first) = changes.pop() {
        let mut group = vec![first];
        let mut at = 0;
        while at < group.len() {
            let of = |change: &Renamed| {
                [change.2, change.3]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
            };
            let nodes = of(&group[at]);
            let (connected, others) = changes
                .into_iter()
                .partition(|change| of(change).iter().any(|node| nodes.contains(node)));
            let _: &Vec<Renamed> = &connected;
            group.extend(connected);
            changes = others;
            at += 1;
        }
        let survives = match loss {
            Loss::All | Loss::Names => false,
            Loss::Contents | Loss::Nothing => true,
            Loss::Random(_) => chance.toss(),
        };
        if !survives {
            continue;
        }
        for (folder, name, _, new) in group {
            let names = after.entry(folder).or_default();
            match new {
                Some(node) => names.insert(name, node),
                None => names.remove(&name),
            };
        }
    }
    after
}

/// Returns the bytes of a file after a crash.
fn content_after(
    synced: Option<&Content>,
    current: &Content,
    loss: Loss,
    chance: &mut Chance,
) -> Vec<u8> {
    let nothing = Arc::new(Vec::new());
    let synced = synced.unwrap_or(&nothing);
    match loss {
        Loss::All | Loss::Contents => synced.concat(),
        Loss::Names | Loss::Nothing => current.concat(),
        Loss::Random(_) => {
            if Arc::ptr_eq(synced, current) {
                return current.concat();
            }
            let (old, new) = (synced.concat(), current.concat());
            let grown = old.len() != new.len() && chance.toss();
            let mut bytes = old.clone();
            bytes.resize(if grown { new.len() } else { old.len() }, 0);
            for (at, sector) in bytes.chunks_mut(SECTOR).enumerate() {
                let start = at * SECTOR;
                let Some(written) = new.get(start..new.len().min(start + sector.len())) else {
                    continue;
                };
                if sector[..written.len()] != *written && chance.toss() {
                    sector[..written.len()].copy_from_slice(written);
                }
            }
            bytes
        }
    }
}

struct Builder {
    folders: BTreeMap<Node, BTreeMap<OsString, Node>>,
    files: BTreeMap<Node, Vec<u8>>,
    /// Files that already have a name.
    placed: BTreeMap<Node, PathBuf>,
}

impl Builder {
    fn build(&mut self, folder: Node, into: &Path) -> io::Result<()> {
        let names = self.folders.get(&folder).cloned().unwrap_or_default();
        for (name, node) in names {
            let path = into.join(name);
            if let Some(other) = self.placed.get(&node) {
                fs::hard_link(other, &path)?;
            } else if let Some(bytes) = self.files.get(&node) {
                fs::write(&path, bytes)?;
                self.placed.insert(node, path);
            } else {
                fs::create_dir(&path)?;
                self.build(node, &path)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recording, create_folders, sync, sync_folder};
    use std::fs::File;
    use std::io::Write;
    use tempfile::TempDir;

    /// Returns the content of a file of this name after a crash; `None` if the name is lost.
    fn found(history: &History, moment: usize, loss: Loss, name: &str) -> Option<Vec<u8>> {
        let dir = TempDir::new().unwrap();
        history.rebuild(moment, loss, None, dir.path()).unwrap();
        fs::read(dir.path().join(name)).ok()
    }

    #[test]
    fn synced_files_survive_every_loss_and_others_do_not() {
        let dir = TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("old"), [1; 2000]).unwrap();
        let recording = Recording::start(dir.path()).unwrap();
        create_folders(&path("a/b")).unwrap();
        let made = recording.now();
        let mut file = File::create(path("a/b/draft")).unwrap();
        file.write_all(&[2; 2000]).unwrap();
        sync(&file).unwrap();
        fs::rename(path("a/b/draft"), path("a/b/whole")).unwrap();
        let unnamed = recording.now();
        sync_folder(&path("a/b")).unwrap();
        let named = recording.now();
        file.write_all(&[3; 2000]).unwrap();
        fs::write(path("old"), [4; 3000]).unwrap();
        let history = recording.finish().unwrap();
        assert_eq!((made, unnamed, named, history.len()), (2, 3, 4, 5));
        for loss in Loss::ALL {
            // The name was there before the content was synced, or both are there.
            let whole = found(&history, named, loss, "a/b/whole").unwrap();
            assert_eq!(whole[..2000], [2; 2000], "{loss:?}");
            let old = found(&history, named, loss, "old").unwrap();
            let is_whole = |sector: &[u8]| sector.iter().all(|byte| *byte == sector[0]);
            assert!(old[..1536].chunks(SECTOR).all(is_whole), "{loss:?}");
        }
        assert_eq!(
            found(&history, named, Loss::All, "old"),
            Some(vec![1; 2000])
        );
        assert_eq!(
            found(&history, named, Loss::Nothing, "old"),
            Some(vec![4; 3000])
        );
        let torn = found(&history, named, Loss::Random(1), "old").unwrap();
        assert!(torn.contains(&1) && torn.contains(&4), "{torn:?}");
        assert_eq!(found(&history, unnamed, Loss::All, "a/b/whole"), None);
        assert_eq!(found(&history, unnamed, Loss::All, "a/b/draft"), None);
        let kept = found(&history, unnamed, Loss::Contents, "a/b/whole");
        assert_eq!(kept, Some(vec![2; 2000]));
        // Moment 2 is before the file was synced: its name can be there without its bytes.
        assert_eq!(
            found(&history, made, Loss::Contents, "a/b/draft"),
            Some(vec![])
        );
        assert_eq!(found(&history, made, Loss::Names, "a/b/draft"), None);
        for moment in 0..history.len() {
            for loss in Loss::ALL {
                let draft = found(&history, moment, loss, "a/b/draft");
                let whole = found(&history, moment, loss, "a/b/whole");
                assert!(draft.is_none() || whole.is_none(), "{moment} {loss:?}");
            }
        }
    }

    #[test]
    fn a_folder_that_is_removed_comes_back_in_part() {
        let dir = TempDir::new().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let names = ["a", "b", "c", "d"];
        for name in names {
            fs::write(folder.join(name), b"content").unwrap();
        }
        let recording = Recording::start(dir.path()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        sync_folder(dir.path()).unwrap();
        let history = recording.finish().unwrap();
        let left = |moment: usize, loss: Loss| {
            let found = |name: &&str| found(&history, moment, loss, &format!("folder/{name}"));
            names.iter().filter_map(found).count()
        };
        assert_eq!((left(0, Loss::All), left(0, Loss::Nothing)), (4, 0));
        let mut torn = (1..20).map(|seed| left(0, Loss::Random(seed)));
        assert!(torn.any(|left| (1..4).contains(&left)));
        assert!(Loss::ALL.iter().all(|loss| left(1, *loss) == 0));
    }

    #[test]
    fn a_sync_that_is_left_out_saves_nothing() {
        let dir = TempDir::new().unwrap();
        let recording = Recording::start(dir.path()).unwrap();
        let mut file = File::create(dir.path().join("file")).unwrap();
        file.write_all(b"content").unwrap();
        sync(&file).unwrap();
        sync_folder(dir.path()).unwrap();
        let history = recording.finish().unwrap();
        let end = history.len() - 1;
        let sites: Vec<Site> = history.sites().into_iter().collect();
        assert_eq!(sites.len(), 2);
        let without = |site| {
            let dir = TempDir::new().unwrap();
            history
                .rebuild(end, Loss::All, Some(site), dir.path())
                .unwrap();
            fs::read(dir.path().join("file")).ok()
        };
        assert_eq!(without(sites[0]), Some(vec![]));
        assert_eq!(without(sites[1]), None);
        assert_eq!(
            found(&history, end, Loss::All, "file"),
            Some(b"content".to_vec())
        );
    }
}
