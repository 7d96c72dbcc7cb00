use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::built;
use crate::ci::{start_error, success};
use crate::error::XtaskError;
use crate::npm;

/// What fixes the packages and their versions, below the root.
const REQUIREMENTS: &str = "tests/python/requirements.txt";

/// Runs the client that was written from the documents against a server, in an environment of its own.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let Some(python) = environment(root)? else {
        return npm::skip("python", "python");
    };
    let omr = built::binary(root, "tested", "omr-cli", "omr")?;
    let mut command = Command::new(python);
    command
        .current_dir(root)
        .arg("tests/python/run.py")
        .env("OMR_COMMAND", omr)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let status = command
        .status()
        .map_err(|source| start_error(&command, source))?;
    success(&command, status)
}

/// The interpreter of an environment with the packages, installed where they are absent or others than those asked
/// for. Nothing where there is no Python with `venv`, or the packages cannot be had.
fn environment(root: &Path) -> Result<Option<PathBuf>, XtaskError> {
    let from = root.join(REQUIREMENTS);
    let to = root.join("target/python");
    let python = to.join("bin/python");
    // Last file to be copied: it stands for a whole installation.
    let stamp = to.join("installed.txt");
    let wanted = fs::read(&from).map_err(XtaskError::io(&from))?;
    if fs::read(&stamp).is_ok_and(|found| found == wanted) && npm::starts(&python) {
        return Ok(Some(python));
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
    Ok(Some(python))
}
