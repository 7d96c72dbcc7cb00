//! Programs from crates.io at fixed versions, built below `target/tools`.

use std::path::Path;
use std::process::Command;

use crate::ci::{cargo_command, succeed};
use crate::error::XtaskError;

/// A program.
pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
    features: &'static str,
}

/// Writes books of Markdown pages.
pub(crate) const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    features: "search",
};

/// Lists what a crate is made of.
pub(crate) const CYCLONEDX: Tool = Tool {
    name: "cargo-cyclonedx",
    version: "0.5.9",
    features: "",
};

/// Builds programs that contain the list of their crates.
pub(crate) const AUDITABLE: Tool = Tool {
    name: "cargo-auditable",
    version: "0.7.7",
    features: "",
};

/// Starts a program, which is built where it is absent or of another version: that takes minutes.
pub(crate) fn command(root: &Path, tool: &Tool) -> Result<Command, XtaskError> {
    let folder = root.join("target/tools");
    let mut install = cargo_command(root, &["install", "--quiet", "--locked", "--root"]);
    install
        .arg(&folder)
        .args([tool.name, "--version", tool.version])
        .args(["--no-default-features", "--features", tool.features]);
    succeed(&mut install)?;
    Ok(Command::new(folder.join("bin").join(tool.name)))
}
