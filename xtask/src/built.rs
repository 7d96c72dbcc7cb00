//! Binaries of the workspace, built for a check that starts them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::ci::{cargo_command, start_error, success};
use crate::error::XtaskError;

/// What Cargo says of something that it built.
#[derive(Deserialize)]
struct Built {
    #[serde(default)]
    executable: Option<PathBuf>,
}

/// Builds a binary in a profile and says where it is.
pub(crate) fn binary(
    root: &Path,
    profile: &str,
    package: &str,
    name: &'static str,
) -> Result<PathBuf, XtaskError> {
    let args = [
        "build",
        "--profile",
        profile,
        "--package",
        package,
        "--bin",
        name,
        "--message-format",
        "json-render-diagnostics",
    ];
    let mut command = cargo_command(root, &args);
    command.stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|source| start_error(&command, source))?;
    success(&command, output.status)?;
    executable(&output.stdout)?.ok_or(XtaskError::NotBuilt { expected: name })
}

/// The last executable of a build.
fn executable(lines: &[u8]) -> Result<Option<PathBuf>, XtaskError> {
    let mut found = None;
    for line in lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let built: Built = serde_json::from_slice(line)?;
        found = built.executable.or(found);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_libraries() {
        let lines = b"{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"/t/omr\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        let found = executable(lines).expect("lines of JSON");
        assert_eq!(found, Some(PathBuf::from("/t/omr")));
        assert_eq!(executable(b"").expect("nothing"), None);
        assert!(executable(b"no json").is_err());
    }
}
