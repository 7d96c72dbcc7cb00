//! Runs the Python client against a server.

use std::path::Path;
use std::process::Command;

use crate::built;
use crate::ci::succeed;
use crate::error::XtaskError;
use crate::{npm, venv};

/// File that fixes the packages and their versions, below the root.
const REQUIREMENTS: &str = "tests/python/requirements.txt";

/// Runs the client that was written from the documents against a server, in an environment of its own.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let Some(bin) = venv::programs(root, REQUIREMENTS, "python")? else {
        return npm::skip("python", "python");
    };
    let omr = built::command(root)?;
    let mut command = Command::new(bin.join("python"));
    command
        .current_dir(root)
        .arg("tests/python/run.py")
        .env("OMR_COMMAND", omr)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    succeed(&mut command)
}
