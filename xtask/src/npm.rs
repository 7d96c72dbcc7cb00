//! Installs the tools from npm that checks need.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::succeed;
use crate::error::XtaskError;

/// Files that fix the tools and their versions, below the root.
const MANIFESTS: [&str; 2] = ["package.json", "package-lock.json"];

/// The folder of the tools from npm.
///
/// Nothing where there is no npm.
pub(crate) fn tools(root: &Path) -> Result<Option<PathBuf>, XtaskError> {
    installed(&root.join("tests/npm"), &root.join("target/npm"))
}

/// The second folder with the packages of the first one's lock file, installed where they are absent or others.
///
/// Nothing where there is no npm.
pub(crate) fn installed(from: &Path, to: &Path) -> Result<Option<PathBuf>, XtaskError> {
    // Last file to be copied: it stands for a whole installation.
    let stamp = to.join("installed.json");
    let lock = read(&from.join(MANIFESTS[1]))?;
    if fs::read(&stamp).is_ok_and(|found| found == lock) {
        return Ok(Some(to.to_owned()));
    }
    if !starts("npm") {
        return Ok(None);
    }
    fs::create_dir_all(to).map_err(XtaskError::io(to))?;
    for name in MANIFESTS {
        let bytes = read(&from.join(name))?;
        write(&to.join(name), &bytes)?;
    }
    let mut command = Command::new("npm");
    // None of the tools needs to run anything when it is installed. `npm ci` would want packages for every system in
    // the lock file, and not every registry has them.
    let args = [
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ];
    command.current_dir(to).args(args);
    succeed(&mut command)?;
    write(&stamp, &lock)?;
    Ok(Some(to.to_owned()))
}

/// Says that something is absent, which is an error where `OMR_REQUIRE` lists it.
pub(crate) fn skip(step: &str, absent: &'static str) -> Result<(), XtaskError> {
    if required(&std::env::var("OMR_REQUIRE").unwrap_or_default(), absent) {
        return Err(XtaskError::Required { absent });
    }
    println!("SKIP {step}: no {absent}");
    Ok(())
}

fn required(list: &str, name: &str) -> bool {
    list.split(',').any(|entry| entry.trim() == name)
}

/// Whether a command is there.
pub(crate) fn starts(command: impl AsRef<OsStr>) -> bool {
    Command::new(command)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn read(path: &Path) -> Result<Vec<u8>, XtaskError> {
    fs::read(path).map_err(XtaskError::io(path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), XtaskError> {
    fs::write(path, bytes).map_err(XtaskError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_tools_are_required() {
        assert!(required("avx512ifma, chromium", "chromium"));
        assert!(!required("avx512ifma,chromium", "npm"));
        assert!(!required("", "chromium"));
    }
}
