//! Sets the name of the build: `OMR_COMMIT` if it is set, else the commit that is checked out, else the version.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=OMR_COMMIT");
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let build = std::env::var("OMR_COMMIT")
        .ok()
        .or_else(|| git(&["rev-parse", "--short=12", "HEAD"]))
        .unwrap_or_else(|| std::env::var("CARGO_PKG_VERSION").unwrap_or_default());
    println!("cargo:rustc-env=OMR_BUILD={build}");
}

/// Returns the output of git; `None` without git, or outside a repository.
fn git(args: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let line = text.trim();
    (answer.status.success() && !line.is_empty()).then(|| line.to_owned())
}
