//! Binaries of the workspace, built for a check that starts them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::ci::{cargo_command, printed};
use crate::error::XtaskError;

/// The profile that all steps build with, so that dependencies are compiled once.
pub(crate) const PROFILE: &str = "tested";

/// A message of Cargo about an artifact that it built.
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

/// The library of phones, and what writes sources for it.
pub(crate) struct Mobile {
    pub(crate) library: PathBuf,
    pub(crate) bindgen: PathBuf,
}

/// Builds the command as its tests have it, so that nothing is compiled again, and returns its path.
pub(crate) fn command(root: &Path) -> Result<PathBuf, XtaskError> {
    let args = ["test", "--workspace", "--profile", PROFILE, "--no-run"];
    let args = [&args[..], &["--test", "cli"]].concat();
    program(root, &args, "omr", "bin")
}

/// Builds a binary of tests, as tests have it, and returns its path.
pub(crate) fn tests(root: &Path, name: &'static str) -> Result<PathBuf, XtaskError> {
    let args = ["test", "--workspace", "--profile", PROFILE, "--no-run"];
    let args = [&args[..], &["--test", name]].concat();
    program(root, &args, name, "test")
}

/// Builds an example, with the features that it has beside tests, and returns its path.
pub(crate) fn example(root: &Path, name: &'static str) -> Result<PathBuf, XtaskError> {
    let args = ["build", "--workspace", "--profile", PROFILE];
    let args = [&args[..], &["--example", name]].concat();
    program(root, &args, name, "example")
}

/// Builds the library of phones, and what writes sources for it.
pub(crate) fn mobile(root: &Path) -> Result<Mobile, XtaskError> {
    let args = ["build", "--workspace", "--profile", PROFILE];
    let bindgen = ["--features", "omr-mobile/bindgen", "--example", "bindgen"];
    let bindgen = program(root, &[args, bindgen].concat(), "bindgen", "example")?;
    let (start, end) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = format!("../deps/{start}omr_mobile{end}");
    Ok(Mobile {
        library: bindgen.with_file_name(library),
        bindgen,
    })
}

/// Builds a package's program of the same name as for a release, but with secrets marked, and returns its path.
pub(crate) fn marked(root: &Path, name: &'static str) -> Result<PathBuf, XtaskError> {
    let args = ["build", "--release", "--package", name];
    let args = [&args[..], &["--features", "memcheck"]].concat();
    program(root, &args, name, "bin")
}

/// Builds the program of measurements as its tests have it, beside the command, and returns its path.
pub(crate) fn lab(root: &Path) -> Result<PathBuf, XtaskError> {
    let args = ["test", "--workspace", "--profile", PROFILE, "--no-run"];
    let args = [&args[..], &["--test", "lab"]].concat();
    program(root, &args, "omr-lab", "bin")
}

/// Builds the program of measurements for everyday use, and returns its path.
pub(crate) fn measured(root: &Path) -> Result<PathBuf, XtaskError> {
    let args = ["build", "--release", "--package", "omr-lab"];
    program(root, &args, "omr-lab", "bin")
}

/// Flags that give the sources of this machine the same names as on every other.
pub(crate) fn remap(root: &Path) -> String {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let folders = [(Some(root.to_owned()), "/omr"), (home, "/cargo")];
    let flags = folders.iter().filter_map(|(folder, name)| {
        let folder = folder.as_ref()?.display();
        Some(format!("--remap-path-prefix={folder}={name}"))
    });
    flags.collect::<Vec<_>>().join("\x1f")
}

fn program(
    root: &Path,
    args: &[&str],
    name: &'static str,
    kind: &str,
) -> Result<PathBuf, XtaskError> {
    let mut command = cargo_command(root, args);
    command.args(["--message-format", "json-render-diagnostics"]);
    command.stderr(Stdio::inherit());
    executable(&printed(&mut command)?, name, kind)?.ok_or(XtaskError::NotBuilt { expected: name })
}

/// The program of a name and kind among what a build made.
fn executable(lines: &[u8], name: &str, kind: &str) -> Result<Option<PathBuf>, XtaskError> {
    for line in lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let built: Built = serde_json::from_slice(line)?;
        if built.target.name == name && built.target.kind == [kind] && built.executable.is_some() {
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
{"reason":"compiler-artifact","target":{"name":"cli","kind":["test"]},"executable":"/t/cli"}
{"reason":"compiler-artifact","target":{"name":"omr","kind":["example"]},"executable":"/t/examples/omr"}
{"reason":"build-finished","success":true}
"#;
        let found = |name, kind| executable(lines, name, kind).expect("lines of JSON");
        assert_eq!(found("omr", "bin"), Some(PathBuf::from("/t/omr")));
        let example = Some(PathBuf::from("/t/examples/omr"));
        assert_eq!(found("omr", "example"), example);
        assert_eq!(found("cli", "bin"), None);
        assert!(executable(b"no json", "omr", "bin").is_err());
    }
}
