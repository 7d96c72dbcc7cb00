//! Checks the hardware below `hw/` in simulation.

use std::path::Path;
use std::process::Command;

use crate::built;
use crate::ci::{start_error, success};
use crate::error::XtaskError;
use crate::npm;

/// Runs the testbenches, and every mutant, on vectors that the evaluator makes now.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    for tool in ["verilator", "make", "g++"] {
        if !npm::starts(tool) {
            return npm::skip("hardware", tool);
        }
    }
    let vectors = built::example(root, "vectors")?;
    let mut command = Command::new("make");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    command
        .current_dir(root)
        .args([
            "--no-print-directory",
            "--output-sync=target",
            "-C",
            "hw",
            "test",
        ])
        .arg(format!("--jobs={cores}"))
        .env("VECTORS", vectors);
    let status = command
        .status()
        .map_err(|source| start_error(&command, source))?;
    success(&command, status)
}
