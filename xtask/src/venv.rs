//! Packages of PyPI at fixed versions, in an environment of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::start_error;
use crate::error::XtaskError;
use crate::npm;

/// The folder of programs of an environment with the packages that a file fixes, installed below `target/NAME` where
/// they are absent or others than those asked for. Nothing where there is no Python with `venv`, or the packages
/// cannot be had.
pub(crate) fn programs(
    root: &Path,
    requirements: &str,
    name: &str,
) -> Result<Option<PathBuf>, XtaskError> {
    let from = root.join(requirements);
    let to = root.join("target").join(name);
    let bin = to.join("bin");
    let python = bin.join("python");
    // Last file to be copied: it stands for a whole installation.
    let stamp = to.join("installed.txt");
    let wanted = fs::read(&from).map_err(XtaskError::io(&from))?;
    if fs::read(&stamp).is_ok_and(|found| found == wanted) && npm::starts(&python) {
        return Ok(Some(bin));
    }
    if !npm::starts("python3") {
        return Ok(None);
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&to);
    let mut install = Command::new(&python);
    install
        .args(["-m", "pip", "install", "--quiet", "--no-deps"])
        .args(["--disable-pip-version-check", "--only-binary=:all:", "-r"])
        .arg(&from);
    for mut command in [make, install] {
        let status = command
            .status()
            .map_err(|source| start_error(&command, source))?;
        if !status.success() {
            return Ok(None);
        }
    }
    fs::write(&stamp, &wanted).map_err(XtaskError::io(&stamp))?;
    Ok(Some(bin))
}
