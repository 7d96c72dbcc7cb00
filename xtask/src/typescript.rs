//! Tests the sender in TypeScript, the package in `ts/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::succeed;
use crate::error::XtaskError;
use crate::{built, files, npm, proto};

/// The files of the package beside its scripts.
const TEXTS: [&str; 6] = [
    "package.json",
    "tsconfig.json",
    "buf.gen.yaml",
    "README.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// Compiles the package below `target/`, and runs its tests against the known answers and a server.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let Some(package) = built(root)? else {
        return npm::skip("typescript", "npm");
    };
    let mut tests = Command::new("node");
    tests
        .current_dir(&package)
        .args(["--test", "test/"])
        .env(
            "OMR_ROOT",
            std::path::absolute(root).map_err(XtaskError::io(root))?,
        )
        .env("OMR_COMMAND", built::command(root)?);
    succeed(&mut tests)
}

/// Compiles the package below `target/` and returns its folder; nothing where there is no npm.
pub(crate) fn built(root: &Path) -> Result<Option<PathBuf>, XtaskError> {
    let from = root.join("ts");
    let tools = npm::tools(root)?;
    let package = npm::installed(&from, &root.join("target/ts"))?;
    let (Some(tools), Some(package)) = (tools, package) else {
        return Ok(None);
    };
    for name in ["src", "test"] {
        files::renew(&from.join(name), &package.join(name))?;
    }
    for name in TEXTS {
        files::copy(&from.join(name), &package.join(name))?;
    }
    files::clear(&package.join("dist"))?;
    succeed(&mut proto::buf(&tools, &package, &["generate"]))?;
    let mut compiler = Command::new(package.join("node_modules/.bin/tsc"));
    succeed(compiler.current_dir(&package).args(["--project", "."]))?;
    Ok(Some(package))
}
