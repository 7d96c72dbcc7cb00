//! What the command is made of, as CycloneDX.

use std::path::Path;

use super::{Release, copy_into};
use crate::ci::succeed;
use crate::error::XtaskError;
use crate::tools;

/// Lists the crates of the command as the guide builds it, from a copy of the source, where the list lies beside every
/// manifest.
pub(super) fn list(release: &Release<'_>, source: &Path) -> Result<(), XtaskError> {
    let mut command = tools::command(release.root, &tools::CYCLONEDX)?;
    let name = format!("omr-{}.cdx", release.version);
    command
        .current_dir(source)
        .args(["cyclonedx", "--quiet", "--format", "json"])
        .args(["--features", "full", "--spec-version", "1.5"])
        .args(["--override-filename", &name, "--manifest-path"])
        .arg(source.join("crates/cli/Cargo.toml"))
        .env("SOURCE_DATE_EPOCH", &release.epoch);
    succeed(&mut command)?;
    let list = source.join("crates/cli").join(format!("{name}.json"));
    copy_into(&list, &release.out)
}
