//! Commands of `omr` in separate processes.

use crate::trials::TrialError;
use std::process::{Command, Output, Stdio};

/// Runs a command and returns its standard output.
///
/// Errors: `Io`, `Command`.
pub(crate) fn checked(what: &'static str, command: &mut Command) -> Result<Vec<u8>, TrialError> {
    let out = command
        .stdin(Stdio::null())
        .output()
        .map_err(TrialError::io("starting a command"))?;
    succeeded(what, out)
}

/// Returns the standard output of a command that succeeded.
///
/// Errors: `Command`.
pub(crate) fn succeeded(what: &'static str, out: Output) -> Result<Vec<u8>, TrialError> {
    if out.status.success() {
        Ok(out.stdout)
    } else {
        let text = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        let stderr_end = text.lines().last().unwrap_or_default().to_owned();
        Err(TrialError::Command {
            what,
            status: out.status,
            stderr_end,
        })
    }
}
