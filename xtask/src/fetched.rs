//! Files of registries at fixed hashes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::succeed;
use crate::error::XtaskError;
use crate::files;

/// The paths of files of a registry, which are fetched to a folder unless they are there; nothing where the registry
/// cannot be reached. The list has lines of `sha256sum`, with paths below the registry's address.
///
/// Errors: `Failed` for another hash.
pub(crate) fn files(
    list: &Path,
    registry: &str,
    to: &Path,
) -> Result<Option<Vec<PathBuf>>, XtaskError> {
    let text = fs::read_to_string(list).map_err(XtaskError::io(list))?;
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(line.split_once("  ")?.1))
        .collect();
    fs::create_dir_all(to).map_err(XtaskError::io(to))?;
    let mut fetch = Command::new("curl");
    fetch
        .current_dir(to)
        .args(["--no-progress-meter", "--fail", "--location"])
        .args(["--parallel", "--create-dirs", "--remove-on-error"]);
    let absent: Vec<&&str> = names
        .iter()
        .filter(|name| !to.join(name).exists())
        .collect();
    for name in &absent {
        fetch.args(["--output", name]);
        fetch.arg(format!("{registry}/{name}"));
    }
    if !absent.is_empty() && succeed(&mut fetch).is_err() {
        return Ok(None);
    }
    let list = files::absolute(list)?;
    let mut compare = Command::new("sha256sum");
    compare.args(["--check", "--quiet"]).arg(list);
    succeed(compare.current_dir(to))?;
    Ok(Some(names.iter().map(|name| to.join(name)).collect()))
}
