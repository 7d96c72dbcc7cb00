//! Short trials with real processes: a server that is killed while clients post, one without memory for digests, and mail
//! while servers and fetches are killed. They show what the end of a process loses; power failures are replayed by tests (`power`).

use std::path::Path;
use std::process::Command;

use crate::built;
use crate::ci::{start_error, success};
use crate::error::XtaskError;

const SET: [&str; 2] = ["--params", "insecure-tiny-hybrid-v4"];
const KILLS: [&str; 5] = ["chaos", "--only", "kills", "--kills", "20"];
const MEMORY: [&str; 3] = ["chaos", "--only", "memory"];
const MAIL: [&str; 7] = [
    "mail",
    "--messages",
    "1500",
    "--letters",
    "12",
    "--recipients",
    "2",
];

/// Runs the trials; each prints its figures, and fails where a promise of the service did not hold.
pub(crate) fn run(root: &Path) -> Result<(), XtaskError> {
    // Trials start the command, which lies beside this program.
    built::command(root)?;
    let lab = built::lab(root)?;
    for trial in [&KILLS[..], &MEMORY, &MAIL] {
        let mut command = Command::new(&lab);
        command.arg("bench").args(trial).args(SET).arg("--json");
        let status = command
            .status()
            .map_err(|source| start_error(&command, source))?;
        success(&command, status)?;
    }
    Ok(())
}
