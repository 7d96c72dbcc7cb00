//! Names the build: `OMR_COMMIT` where it is set, else the commit that is checked out, else the version.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=OMR_COMMIT");
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let commit = std::env::var("OMR_COMMIT").ok();
    let commit = commit.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let version = || std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!(
        "cargo:rustc-env=OMR_BUILD={}",
        commit.unwrap_or_else(version)
    );
}

/// What git answers; `None` without git, or outside a repository.
fn git(args: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let text = text.trim().to_owned();
    (answer.status.success() && !text.is_empty()).then_some(text)
}
