//! Tests the sender in TypeScript, the package in `ts/`.

use std::path::Path;
use std::process::Command;

use crate::ci::succeed;
use crate::error::XtaskError;
use crate::{built, files, npm, proto};

/// Compiles the package below `target/`, and runs its tests against the known answers and a server.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let from = root.join("ts");
    let tools = npm::tools(root)?;
    let package = npm::installed(&from, &root.join("target/ts"))?;
    let (Some(tools), Some(package)) = (tools, package) else {
        return npm::skip("typescript", "npm");
    };
    for name in ["src", "test"] {
        files::renew(&from.join(name), &package.join(name))?;
    }
    for name in ["tsconfig.json", "buf.gen.yaml"] {
        files::copy(&from.join(name), &package.join(name))?;
    }
    files::clear(&package.join("dist"))?;
    succeed(&mut proto::buf(&tools, &package, &["generate"]))?;
    let mut compiler = Command::new(package.join("node_modules/.bin/tsc"));
    succeed(compiler.current_dir(&package).args(["--project", "."]))?;
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
