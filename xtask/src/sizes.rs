//! Checks the sizes of tracked files, since each clone downloads all of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::printed;
use crate::error::XtaskError;

/// Bytes above which a tracked file needs a place in [`LISTED`].
const LIMIT: u64 = 1_000_000;

/// Files that may be larger.
const LISTED: &[&str] = &[];

/// A file that is too large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Large {
    path: PathBuf,
    bytes: u64,
}

impl fmt::Display for Large {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(
            f,
            "{path}: expected at most {LIMIT} bytes in a tracked file that xtask/src/sizes.rs does not list, found {}",
            self.bytes
        )
    }
}

/// Checks the tracked files of the workspace at `root`.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z"]);
    let names = String::from_utf8_lossy(&printed(&mut git)?).into_owned();
    let mut files = Vec::new();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        // What is being deleted is tracked still.
        if let Ok(found) = root.join(name).symlink_metadata() {
            files.push((PathBuf::from(name), found.len()));
        }
    }
    match large(files, LISTED) {
        found if found.is_empty() => Ok(()),
        found => Err(XtaskError::Large(found)),
    }
}

fn large(files: Vec<(PathBuf, u64)>, listed: &[&str]) -> Vec<Large> {
    let is_listed = |path: &Path| listed.iter().any(|one| path == Path::new(one));
    files
        .into_iter()
        .filter(|(path, bytes)| *bytes > LIMIT && !is_listed(path))
        .map(|(path, bytes)| Large { path, bytes })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_must_be_listed() {
        let files = |bytes| vec![(PathBuf::from("a/data.bin"), bytes), ("b.rs".into(), 10)];
        assert_eq!(large(files(LIMIT), &[]), []);
        assert_eq!(large(files(LIMIT + 1), &["a/data.bin"]), []);
        let found = large(files(LIMIT + 1), &["data.bin"]);
        assert_eq!(
            found,
            [Large {
                path: "a/data.bin".into(),
                bytes: LIMIT + 1
            }]
        );
        assert!(found[0].to_string().contains("a/data.bin"));
    }
}
