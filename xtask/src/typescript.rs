//! Tests the sender in TypeScript, the package in `ts/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::succeed;
use crate::error::XtaskError;
use crate::{browser, built, files, npm, proto};

/// The files of the package beside its scripts.
const TEXTS: [&str; 6] = [
    "package.json",
    "tsconfig.json",
    "buf.gen.yaml",
    "README.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// Tests that need no browser, one that does, and the script of the latter's page.
const TESTS: [&str; 2] = ["test/vectors.mjs", "test/server.mjs"];
const BROWSER_TEST: &str = "test/browser.mjs";
const PAGE: &str = "test/page.mjs";

/// Compiles the package below `target/`, and runs its tests against the known answers and a server, in Node and in a page.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let Some(package) = built(root)? else {
        return npm::skip("typescript", "npm");
    };
    let mut tests = Command::new("node");
    tests
        .current_dir(&package)
        .arg("--test")
        .args(TESTS)
        .env("OMR_ROOT", files::absolute(root)?)
        .env("OMR_COMMAND", built::command(root)?);
    let (Some(tools), Some(chromium)) = (npm::tools(root)?, browser::chromium()) else {
        succeed(&mut tests)?;
        return npm::skip("typescript", "chromium");
    };
    let mut bundle = Command::new(package.join("node_modules/.bin/esbuild"));
    bundle
        .current_dir(&package)
        .args([PAGE, "--bundle", "--format=esm", "--log-level=warning"])
        .arg("--outdir=tested");
    succeed(&mut bundle)?;
    let tools = files::absolute(&tools)?;
    tests
        .arg(BROWSER_TEST)
        .env("OMR_NPM", tools)
        .env("OMR_CHROMIUM", chromium);
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
