use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::ci::{cargo_command, start_error, success};
use crate::error::XtaskError;
use crate::npm;

/// Where Debian's package puts it; `OMR_CHROMIUM` names another.
const CHROMIUM: &str = "/usr/bin/chromium";

/// Looks at a running server with a browser.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let chromium = std::env::var("OMR_CHROMIUM").unwrap_or_else(|_| CHROMIUM.to_owned());
    if !npm::starts(&chromium) {
        return npm::skip("browser", "chromium");
    }
    let Some(npm) = npm::tools(root)? else {
        return npm::skip("browser", "npm");
    };
    let omr = build_omr(root)?;
    let mut command = Command::new("node");
    command
        .current_dir(root)
        .arg("tests/browser/main.mjs")
        .env("OMR_NPM", npm)
        .env("OMR_COMMAND", omr)
        .env("OMR_CHROMIUM", chromium);
    let status = command
        .status()
        .map_err(|source| start_error(&command, source))?;
    success(&command, status)
}

/// What Cargo says of something that it built.
#[derive(Deserialize)]
struct Built {
    #[serde(default)]
    executable: Option<PathBuf>,
}

/// Builds the command `omr` as the tests are built and says where it is.
pub(crate) fn build_omr(root: &Path) -> Result<PathBuf, XtaskError> {
    let args = [
        "build",
        "--profile",
        "tested",
        "--package",
        "omr-cli",
        "--bin",
        "omr",
        "--message-format",
        "json-render-diagnostics",
    ];
    let mut command = cargo_command(root, &args);
    command.stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|source| start_error(&command, source))?;
    success(&command, output.status)?;
    executable(&output.stdout)?.ok_or(XtaskError::NotBuilt { expected: "omr" })
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
