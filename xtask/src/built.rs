//! Binaries of the workspace, built for a check that starts them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::ci::{cargo_command, printed};
use crate::error::XtaskError;

/// What Cargo says of something that it built.
#[derive(Deserialize)]
struct Built {
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    target: Target,
}

#[derive(Default, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Builds the command and says where it is: as its tests have it, so that nothing is compiled again beside them.
pub(crate) fn command(root: &Path) -> Result<PathBuf, XtaskError> {
    let args = ["test", "--workspace", "--profile", "tested", "--no-run"];
    program(root, &[&args[..], &["--test", "readme"]].concat(), "omr")
}

/// Builds a package's program of the same name, as releases have it, and says where it is.
pub(crate) fn released(root: &Path, name: &'static str) -> Result<PathBuf, XtaskError> {
    program(root, &["build", "--release", "--package", name], name)
}

fn program(root: &Path, args: &[&str], name: &'static str) -> Result<PathBuf, XtaskError> {
    let mut command = cargo_command(root, args);
    command.args(["--message-format", "json-render-diagnostics"]);
    command.stderr(Stdio::inherit());
    executable(&printed(&mut command)?, name)?.ok_or(XtaskError::NotBuilt { expected: name })
}

/// The program of a name among what a build made.
fn executable(lines: &[u8], name: &str) -> Result<Option<PathBuf>, XtaskError> {
    for line in lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let built: Built = serde_json::from_slice(line)?;
        if built.target.name == name && built.target.kind == ["bin"] && built.executable.is_some() {
            return Ok(built.executable);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_libraries_and_tests() {
        let lines = br#"{"reason":"compiler-artifact","target":{"name":"omr","kind":["lib"]},"executable":null}
{"reason":"compiler-artifact","target":{"name":"omr","kind":["bin"]},"executable":"/t/omr"}
{"reason":"compiler-artifact","target":{"name":"readme","kind":["test"]},"executable":"/t/readme"}
{"reason":"build-finished","success":true}
"#;
        let found = |name| executable(lines, name).expect("lines of JSON");
        assert_eq!(found("omr"), Some(PathBuf::from("/t/omr")));
        assert_eq!(found("readme"), None);
        assert!(executable(b"no json", "omr").is_err());
    }
}
