//! Tests the sender in Go, the module in `go/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::{printed, succeed};
use crate::error::XtaskError;
use crate::{built, files, npm, proto};

/// The folder of the module, below the root.
const MODULE: &str = "go";
/// The folder of the calls of a server, which are generated, in the module.
const CALLS: &str = "omrv1";
/// The generators of these calls, with their versions.
const GENERATORS: [&str; 2] = [
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
];

/// Checks that the generated calls are those of `proto/`, and runs the tests against the known answers and a server.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    if Command::new("go").arg("version").output().is_err() {
        return npm::skip("go", "go");
    }
    let Some(tools) = npm::tools(root)? else {
        return npm::skip("go", "npm");
    };
    let made = generate(root, &tools)?;
    compare(&made, &root.join(MODULE).join(CALLS))?;
    let unformatted = printed(Command::new("gofmt").current_dir(root).args(["-l", MODULE]))?;
    if !unformatted.is_empty() {
        let found = String::from_utf8_lossy(&unformatted).trim().to_owned();
        return Err(XtaskError::Unformatted { found });
    }
    succeed(go(root).args(["vet", "./..."]))?;
    let omr = built::command(root)?;
    succeed(
        go(root)
            .args(["test", "-count=1", "./..."])
            .env("OMR_COMMAND", omr),
    )
}

/// Generates the calls of a server and writes them to the module.
pub(crate) fn renew(root: &Path) -> Result<(), XtaskError> {
    let Some(tools) = npm::tools(root)? else {
        return npm::skip("go", "npm");
    };
    let made = generate(root, &tools)?;
    files::renew(&made, &root.join(MODULE).join(CALLS))
}

fn go(root: &Path) -> Command {
    let mut command = Command::new("go");
    command.current_dir(root.join(MODULE));
    // The module is no release, so it has no version of its own.
    command.env("GOFLAGS", "-mod=readonly -buildvcs=false");
    command
}

/// Generates the calls of a server; returns their folder.
fn generate(root: &Path, tools: &Path) -> Result<PathBuf, XtaskError> {
    let out = root.join("target/go");
    files::clear(&out)?;
    let bin = out.join("bin");
    for generator in GENERATORS {
        succeed(go(root).args(["install", generator]).env("GOBIN", &bin))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = vec![bin];
    folders.extend(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).unwrap_or(path);
    let mut buf = proto::buf(tools, &root.join(MODULE), &["generate"]);
    succeed(buf.env("PATH", path))?;
    Ok(out.join(CALLS))
}

/// Compares the generated files with those of the module.
fn compare(made: &Path, kept: &Path) -> Result<(), XtaskError> {
    let mut diff = Command::new("diff");
    let same = succeed(diff.args(["--recursive", "--brief"]).args([kept, made]));
    same.map_err(|_| XtaskError::Stale {
        path: kept.to_owned(),
    })
}
